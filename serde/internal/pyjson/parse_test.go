package pyjson_test

import (
	"bytes"
	"encoding/json"
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/serde/internal/pyjson"
	"github.com/pgweft/pgweft/serde/ordered"
)

func parse(t *testing.T, text string) any {
	t.Helper()
	value, err := pyjson.Parse([]byte(text), nil)
	require.NoError(t, err)
	return value
}

func TestNumbersAreAsPythonReadsThem(t *testing.T) {
	t.Parallel()
	huge, _ := new(big.Int).SetString("18446744073709551616", 10)
	require.Equal(t, []any{
		int64(0), int64(0), int64(math.MaxInt64), uint64(1 << 63), huge, int64(math.MinInt64), -0.5, 1e5, math.Inf(1), math.Inf(-1),
	}, parse(t, `[0, -0, 9223372036854775807, 9223372036854775808, 18446744073709551616, -9223372036854775808,
		-0.5, 1E+5, 1e999, -Infinity]`))
	require.True(t, math.Signbit(parse(t, "-0.0").(float64)))
	require.True(t, math.IsNaN(parse(t, "NaN").(float64)))
}

func TestStringsAreUnescaped(t *testing.T) {
	t.Parallel()
	require.Equal(t, "\"\\/\b\f\n\r\té🧵\x00织", parse(t, `"\"\\\/\b\f\n\r\t\u00e9\ud83e\uddf5\u0000织"`))
	require.Equal(t, []any{"?", "a?b", "?🧵", "?x"}, parse(t, `["\ud800", "a\udc00b", "\ud83e\ud83e\uddf5", "\ud83ex"]`))
}

func TestTheHookSeesInnerObjectsFirst(t *testing.T) {
	t.Parallel()
	var seen []any
	value, err := pyjson.Parse([]byte(`{"a": [{"b": 1}], "c": {"d": {}}}`), func(m *ordered.Map) any {
		seen = append(seen, m.Keys())
		return len(seen)
	})
	require.NoError(t, err)
	require.Equal(t, 4, value)
	require.Equal(t, []any{[]any{"b"}, []any{}, []any{"d"}, []any{"a", "c"}}, seen)
}

func TestSyntaxErrorsSayWhere(t *testing.T) {
	t.Parallel()
	for text, offset := range map[string]int{
		``: 0, ` `: 1, `nul`: 0, `tru`: 0, `+1`: 0, `-`: 1, `.5`: 0, `1.`: 2, `1e`: 2, `1e+`: 3, `01`: 1, `1 2`: 2, `-a`: 1,
		`[`: 1, `[1`: 2, `[1,`: 3, `[1,]`: 3, `]`: 0, `{`: 1, `{a`: 1, `{"a"`: 4, `{"a":`: 5, `{"a":1`: 6, `{"a":1,}`: 7,
		`{"a":1 "b"`: 7, `"`: 1, `"a`: 2, `"\`: 1, `"\u12`: 1, `"\u12x4"`: 1, `"\n\`: 3, "\"\x01\"": 1, "\"\\n\x01\"": 3, "[\"\xff\"]": 2,
		"[\"\\n\xff\"]": 2, `"\"`: 3,
	} {
		_, err := pyjson.Parse([]byte(text), nil)
		var syntax *pyjson.SyntaxError
		require.ErrorAs(t, err, &syntax, "%q", text)
		require.Equal(t, offset, syntax.Offset, "%q: %v", text, err)
	}
}

func TestNestingIsBounded(t *testing.T) {
	t.Parallel()
	nested := func(n int) []byte { return []byte(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	_, err := pyjson.Parse(nested(pyjson.MaxDepth), nil)
	require.NoError(t, err)
	_, err = pyjson.Parse(nested(pyjson.MaxDepth+1), nil)
	require.ErrorContains(t, err, "1000 levels deep")
}

// FuzzParse compares with encoding/json, which takes the same documents but for
// what Python adds.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		`{"a": [1, -2.5e3, "x\u00e9\n", null, true, false]}`, `"\ud83e\uddf5"`, `[[], {}]`, `{"a": 1, "a": 2}`, ` 1 `, `"a\/b"`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		value, err := pyjson.Parse(data, nil)
		if text := string(data); strings.Contains(text, "NaN") || strings.Contains(text, "Infinity") ||
			strings.HasPrefix(text, "\ufeff") || len(data) > 4000 {
			return
		}
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.UseNumber()
		var want any
		valid := json.Valid(data) && decoder.Decode(&want) == nil
		if valid && bytes.ContainsFunc(data, func(r rune) bool { return r == '\ufffd' }) {
			return // encoding/json replaces what is not UTF-8, here it is an error
		}
		require.Equal(t, valid, err == nil, "%v", err)
		if valid && !strings.Contains(string(data), `\u`) {
			requireSame(t, want, value)
		}
	})
}

func requireSame(t *testing.T, want, got any) {
	t.Helper()
	switch w := want.(type) {
	case map[string]any:
		m, ok := got.(*ordered.Map)
		require.True(t, ok)
		require.Equal(t, len(w), m.Len())
		for key, value := range w {
			own, ok := m.Get(key)
			require.True(t, ok)
			requireSame(t, value, own)
		}
	case []any:
		items, ok := got.([]any)
		require.True(t, ok)
		require.Len(t, items, len(w))
		for i := range w {
			requireSame(t, w[i], items[i])
		}
	case json.Number:
		requireSameNumber(t, w, got)
	default:
		require.True(t, reflect.DeepEqual(want, got), "%#v and %#v", want, got)
	}
}

func requireSameNumber(t *testing.T, want json.Number, got any) {
	t.Helper()
	if f, ok := got.(float64); ok {
		expected, _ := want.Float64()
		require.Equal(t, math.Float64bits(expected), math.Float64bits(f))
		return
	}
	expected, ok := new(big.Int).SetString(want.String(), 10)
	require.True(t, ok)
	switch n := got.(type) {
	case int64:
		require.Zero(t, expected.Cmp(big.NewInt(n)))
	case uint64:
		require.Zero(t, expected.Cmp(new(big.Int).SetUint64(n)))
	default:
		require.Zero(t, expected.Cmp(got.(*big.Int)))
	}
}
