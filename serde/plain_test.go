package serde_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/serde"
	"github.com/pgweft/pgweft/serde/messages"
	"github.com/pgweft/pgweft/serde/ordered"
)

func TestPlainValuesAreWhatJSONTakes(t *testing.T) {
	t.Parallel()
	moment := time.Date(2025, 3, 9, 1, 2, 3, 4000, time.FixedZone("", 3600))
	for name, c := range map[string]struct{ value, want any }{
		"scalars":      {[]any{nil, true, int64(1), "x"}, []any{nil, true, int64(1), "x"}},
		"floats":       {[]any{1.5, math.NaN(), math.Inf(1), math.Inf(-1), float32(0.5)}, []any{1.5, "NaN", "Infinity", "-Infinity", 0.5}},
		"a dict":       {ordered.New().Set("b", ordered.New()).Set(int64(1), serde.Set{"s"}), map[string]any{"b": map[string]any{}, "1": []any{"s"}}},
		"odd keys":     {ordered.New().Set(nil, 1).Set(true, 2).Set([]any{int64(1), "a"}, 3).Set([]byte("k"), 4), map[string]any{"null": 1, "true": 2, `[1,"a"]`: 3, "aw==": 4}},
		"a Go map":     {map[string]any{"a": serde.Deque{1.5}}, map[string]any{"a": []any{1.5}}},
		"no dict":      {(*ordered.Map)(nil), nil},
		"collections":  {[]any{serde.FrozenSet{"a"}, serde.ByteArray("b"), []byte("c")}, []any{[]any{"a"}, []byte("b"), []byte("c")}},
		"time":         {moment, "2025-03-09T01:02:03.000004+01:00"},
		"a far year":   {time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC), "12000-01-01 00:00:00 +0000 UTC"},
		"naive time":   {serde.NaiveTime{Time: moment}, "2025-03-09T01:02:03.000004"},
		"a date":       {serde.Date{Year: 2025, Month: 3, Day: 9}, "2025-03-09"},
		"a duration":   {1500 * time.Millisecond, 1.5},
		"a UUID":       {uuid.Nil, "00000000-0000-0000-0000-000000000000"},
		"a decimal":    {serde.Decimal("1.50"), "1.50"},
		"a message":    {messages.Remove("1"), map[string]any{"content": "", "additional_kwargs": map[string]any{}, "response_metadata": map[string]any{}, "type": "remove", "name": nil, "id": "1"}},
		"a send":       {serde.Send{Node: "n", Arg: serde.Set{}, Timeout: &serde.TimeoutPolicy{RunTimeout: 2}}, map[string]any{"node": "n", "arg": []any{}, "timeout": map[string]any{"run_timeout": 2.0, "idle_timeout": nil, "refresh_on": "auto"}}},
		"an interrupt": {serde.Interrupt{Value: serde.Set{}, ID: "i"}, map[string]any{"value": []any{}, "id": "i", "response_schema": nil}},
		"an overwrite": {serde.Overwrite{Value: serde.Set{}}, map[string]any{"__overwrite__": []any{}}},
		"a snapshot":   {serde.DeltaSnapshot{Value: serde.Set{}}, []any{}},
		"an array":     {serde.NDArray{DType: "|u1", Shape: []int64{1}, Order: "C", Data: []byte{1}}, map[string]any{"dtype": "|u1", "shape": []int64{1}, "order": "C", "data": []byte{1}}},
		"an extension": {serde.Ext{Code: 9, Data: []byte{1}}, map[string]any{"ext": int64(9), "data": []byte{1}}},
		"an object":    {&serde.Object{Module: "re", Name: "compile", Kind: serde.KindArgs, Args: []any{"a", int64(32)}}, map[string]any{"class": "re.compile", "args": []any{"a", int64(32)}}},
		"a model":      {&serde.Object{Module: "m", Name: "M", Kind: serde.KindPydanticV2, Kwargs: ordered.New().Set("a", serde.Set{})}, map[string]any{"class": "m.M", "kwargs": map[string]any{"a": []any{}}}},
		"no object":    {(*serde.Object)(nil), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plain := serde.Plain(c.value)
			require.Equal(t, c.want, plain)
			_, err := json.Marshal(plain)
			require.NoError(t, err)
		})
	}
}

func TestEveryVectorIsPlainEnoughForJSON(t *testing.T) {
	t.Parallel()
	for _, v := range readJSON[vector](t, "vectors.json") {
		v.Value = expand(v.Value)
		value, err := serde.Default().Load(v.typed(t))
		require.NoError(t, err)
		_, err = json.Marshal(serde.Plain(value))
		require.NoError(t, err, v.Name)
	}
}

func TestDatesAreTheirTextInJSON(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal([]any{
		serde.Date{Year: 2025, Month: 3, Day: 9}, serde.NaiveTime{Time: time.Date(2025, 3, 9, 1, 2, 3, 0, time.UTC)},
	})
	require.NoError(t, err)
	require.Equal(t, `["2025-03-09","2025-03-09T01:02:03"]`, string(text))
	_, err = json.Marshal(serde.Date{Year: 2025, Month: 13})
	require.ErrorContains(t, err, "not a date")
}
