package langgraph

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAPrefixIsNoPattern(t *testing.T) {
	t.Parallel()
	require.Equal(t, `a\_b\%\\.%`, escapeLike(`a_b%\`)+".%")
}

func TestEveryArgumentOfASearchHasItsPlaceholder(t *testing.T) {
	t.Parallel()
	vector := []float32{1, 2}
	for _, c := range []struct {
		search Search
		args   []any
	}{
		{Search{Prefix: "a", Limit: 3}, []any{"a", "a.%", 3, 0}},
		{Search{Prefix: "a", Field: "f", Equals: "1", Limit: 3}, []any{"a", "a.%", "f", "1", 3, 0}},
		{Search{Prefix: "a", Vector: vector, Limit: 3}, []any{vector, "a", "a.%", vector, 7, 3, 0}},
		{
			Search{Prefix: "a", Vector: vector, Field: "f", Equals: "1", Limit: 3},
			[]any{vector, "a", "a.%", "f", "1", vector, 7, 3, 0},
		},
	} {
		sql, args := c.search.Statement()
		require.Equal(t, c.args, args)
		last := -1
		for i := range args {
			placeholder := fmt.Sprintf("$%d", i+1)
			require.Equal(t, 1, strings.Count(sql+" ", placeholder), sql)
			require.Greater(t, strings.Index(sql, placeholder), last, sql)
			last = strings.Index(sql, placeholder)
		}
		require.NotContains(t, sql, "%!")
	}
}
