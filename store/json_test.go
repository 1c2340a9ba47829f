package store_test

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/store"
)

type label string

type textual struct{ name string }

func (t textual) MarshalText() ([]byte, error) { return []byte("named " + t.name), nil }

func TestValuesAreEncodedAsJSONThatKeepsFloats(t *testing.T) {
	t.Parallel()
	beyond, _ := new(big.Int).SetString("123456789012345678901234567890", 10)
	for _, c := range []struct {
		value any
		want  string
	}{
		{nil, `null`},
		{true, `true`},
		{"a <b> & \"c\" \u2028 線", `"a <b> & \"c\" \u2028 線"`},
		{1, `1`},
		{int8(-1), `-1`},
		{uint64(math.MaxUint64), `18446744073709551615`},
		{beyond, `123456789012345678901234567890`},
		{1.0, `1.0`},
		{0.1, `0.1`},
		{1e16, `10000000000000000.0`},
		{1e-7, `0.0000001`},
		{float32(0.1), `0.1`},
		{float32(2), `2.0`},
		{json.Number("1.50"), `1.50`},
		{json.Number("1e400"), `1e400`},
		{[]any{1, 2.0, nil}, `[1,2.0,null]`},
		{[]float64{1}, `[1.0]`},
		{[2]int{1, 2}, `[1,2]`},
		{[]string(nil), `null`},
		{map[string]any(nil), `null`},
		{map[string]float64{"b": 1, "a": 2}, `{"a":2.0,"b":1.0}`},
		{map[label]int{"k": 1}, `{"k":1}`},
		{map[int]string{1: "a"}, `{"1":"a"}`},
		{label("text"), `"text"`},
		{[]byte("bytes"), `"Ynl0ZXM="`},
		{time.Date(2026, 4, 7, 10, 0, 0, 0, time.UTC), `"2026-04-07T10:00:00Z"`},
		{textual{"x"}, `"named x"`},
		{struct {
			A int `json:"a"`
			B string
		}{1, "b"}, `{"B":"b","a":1}`},
		{new(5), `5`},
		{(*int)(nil), `null`},
		{json.RawMessage(`{"raw": [1.0]}`), `{"raw":[1.0]}`},
	} {
		encoded, err := store.EncodeValue(map[string]any{"v": c.value})
		require.NoError(t, err, "%#v", c.value)
		require.Equal(t, `{"v":`+c.want+`}`, string(encoded), "%#v", c.value)
	}
}

func TestDecodedNumbersAreExact(t *testing.T) {
	t.Parallel()
	beyond, _ := new(big.Int).SetString("-123456789012345678901234567890", 10)
	for text, want := range map[string]any{
		"1": int64(1), "-9223372036854775808": int64(math.MinInt64), "18446744073709551615": uint64(math.MaxUint64),
		"-123456789012345678901234567890": beyond, "1.0": 1.0, "1e3": 1000.0, "1e400": json.Number("1e400"),
	} {
		got, err := store.DecodeValue([]byte(`{"n": ` + text + `, "in": [{"n": ` + text + `}]}`))
		require.NoError(t, err)
		require.Equal(t, map[string]any{"n": want, "in": []any{map[string]any{"n": want}}}, got)
	}
}

func TestWhatIsEncodedDecodesToTheSame(t *testing.T) {
	t.Parallel()
	value := map[string]any{
		"n": int64(1), "f": 2.0, "s": "線", "b": true, "z": nil, "l": []any{int64(1), 1.5, []any{}}, "m": map[string]any{"": "x"},
		"max": math.MaxFloat64, "min": math.SmallestNonzeroFloat64,
	}
	encoded, err := store.EncodeValue(value)
	require.NoError(t, err)
	decoded, err := store.DecodeValue(encoded)
	require.NoError(t, err)
	require.Equal(t, value, decoded)
	empty, err := store.EncodeValue(nil)
	require.NoError(t, err)
	require.Equal(t, `{}`, string(empty))
}

func TestValuesThatNoDatabaseKeepsAreRefused(t *testing.T) {
	t.Parallel()
	cycle := map[string]any{}
	cycle["self"] = cycle
	deep := any("core")
	for range 1001 {
		deep = []any{deep}
	}
	for name, c := range map[string]struct {
		value any
		says  string
	}{
		"a channel":             {make(chan int), "value: v: invalid argument: json: unsupported type: chan int"},
		"a function in a list":  {[]any{1, func() {}}, "value: v: [1]: invalid argument"},
		"not a number":          {math.NaN(), "JSON has no NaN"},
		"infinity in floats":    {[]float64{math.Inf(1)}, "[0]: invalid argument: JSON has no +Inf"},
		"NUL":                   {"a\x00", `the text "a\x00" contains NUL`},
		"NUL in a struct":       {struct{ A string }{"\x00"}, "contains NUL"},
		"broken UTF-8":          {"\xff", "is not UTF-8"},
		"NUL in a name":         {map[string]int{"\x00": 1}, `the name "\x00" contains NUL`},
		"a number that is none": {json.Number("one"), `json.Number "one" is no number`},
		"a number that is text": {json.Number(`"1"`), "is no number"},
		"an empty number":       {json.Number(""), "is no number"},
		"a spaced number":       {json.Number(" 1"), "is no number"},
		"a cycle":               {cycle, "nested deeper than 1000 levels"},
		"a deep list":           {deep, "nested deeper than 1000 levels"},
		"broken raw JSON":       {json.RawMessage(`{`), "invalid argument"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := store.EncodeValue(map[string]any{"v": c.value})
			require.ErrorIs(t, err, store.ErrInvalidArgument)
			require.ErrorContains(t, err, c.says)
			require.Less(t, len(err.Error()), 8000)
			_, err = store.EncodeFilter(map[string]any{"v": c.value})
			require.ErrorIs(t, err, store.ErrInvalidArgument)
			require.ErrorContains(t, err, "filter: ")
		})
	}
}

func TestANilFilterIsNoFilter(t *testing.T) {
	t.Parallel()
	encoded, err := store.EncodeFilter(nil)
	require.NoError(t, err)
	require.Nil(t, encoded)
	encoded, err = store.EncodeFilter(map[string]any{"n": map[string]any{"$gt": 1.0}})
	require.NoError(t, err)
	want := `{"n":{"$gt":1.0}}` // byte by byte: the fraction has to stay
	require.Equal(t, want, string(encoded))
}

func TestDecodeValueRefusesWhatIsNoObject(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"": "EOF", "[1]": "is no JSON object", "null": "is no JSON object", "{} {}": "more than one JSON value", "{": "unexpected EOF",
		strings.Repeat("1", 100): "is no JSON object",
	} {
		_, err := store.DecodeValue([]byte(text))
		require.ErrorContains(t, err, says, "%q", text)
		require.Less(t, len(err.Error()), 120)
	}
}
