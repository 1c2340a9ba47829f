package store_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/store"
)

// Values and paths come from users. Whatever they are, the whole value as text says what the value says, tokens are pieces
// of the path, and what a value encodes to decodes to the same.
func FuzzTextAtPath(f *testing.F) {
	for _, path := range []string{"", "$", "a.b[0].{c,d}.*", "[[", "{{}", "a[-1", "]}", "a[99999999999999999999]"} {
		f.Add(`{"a": {"b": [{"c": 1.50, "d": "\u2028"}]}, "n": [1e16, -0.0, 18446744073709551616, null, true]}`, path)
	}
	f.Fuzz(func(t *testing.T, text, path string) {
		rest := path
		for _, token := range store.TokenizePath(path) {
			_, after, found := strings.Cut(rest, token)
			require.True(t, found, "token %q of %q", token, path)
			rest = after
		}
		value, err := store.DecodeValue([]byte(text))
		if err != nil {
			return
		}
		if _, err := store.TextAtPath(value, path); err != nil {
			require.ErrorIs(t, err, store.ErrInvalidArgument)
			return
		}
		whole, err := store.TextAtPath(value, "$")
		require.NoError(t, err)
		require.Len(t, whole, 1)
		again, err := store.DecodeValue([]byte(whole[0]))
		require.NoError(t, err)
		require.Equal(t, value, again)
		encoded, err := store.EncodeValue(value)
		require.NoError(t, err)
		again, err = store.DecodeValue(encoded)
		require.NoError(t, err)
		require.Equal(t, value, again)
	})
}
