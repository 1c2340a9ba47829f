package store_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/store"
)

// pathVector is what LangGraph takes from a value by a path; see testdata/generate.py.
type pathVector struct {
	Value  string
	Path   string
	Tokens []string
	Texts  []string
}

func pathVectors(t *testing.T) []pathVector {
	t.Helper()
	data, err := os.ReadFile("testdata/paths.json")
	require.NoError(t, err)
	var vectors []pathVector
	require.NoError(t, json.Unmarshal(data, &vectors))
	require.Greater(t, len(vectors), 900)
	return vectors
}

// readAs decodes JSON as a program that keeps numbers exactly would.
func readAs(t *testing.T, text string) any {
	t.Helper()
	wrapped, err := store.DecodeValue([]byte(`{"value": ` + text + `}`))
	require.NoError(t, err)
	return wrapped["value"]
}

func TestTextsAreThoseLangGraphTakes(t *testing.T) {
	t.Parallel()
	for _, v := range pathVectors(t) {
		texts, err := store.TextAtPath(readAs(t, v.Value), v.Path)
		require.NoError(t, err)
		require.Equal(t, v.Texts, append([]string{}, texts...), "path %q of %s", v.Path, v.Value)
	}
}

func TestTokensAreThoseOfLangGraph(t *testing.T) {
	t.Parallel()
	for _, v := range pathVectors(t) {
		require.Equal(t, v.Tokens, store.TokenizePath(v.Path), "path %q", v.Path)
	}
}
