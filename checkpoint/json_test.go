package checkpoint_test

import (
	"encoding/json"
	"math"
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/checkpoint"
)

var equalVersions = cmp.Comparer(func(a, b checkpoint.Version) bool { return a == b })

func TestCheckpointHasTheFieldsOfLangGraph(t *testing.T) {
	t.Parallel()
	cp := &checkpoint.Checkpoint{
		V:  4,
		ID: "1f1e56c5",
		TS: "2026-04-07T10:00:00+00:00",
		ChannelValues: map[string]any{
			"text": "a<b", "whole": 1.0, "large": 1e21, "small": 1e-7, "integer": 1, "nothing": nil, "yes": true,
		},
		ChannelVersions: map[string]checkpoint.Version{"text": checkpoint.StringVersion("1"), "whole": checkpoint.IntVersion(2)},
		VersionsSeen:    map[string]map[string]checkpoint.Version{"node": {"text": checkpoint.FloatVersion(1)}, "idle": nil},
		UpdatedChannels: []string{"whole", "text"},
	}
	encoded, err := json.Marshal(cp)
	require.NoError(t, err)
	requireJSONText(t, `{
		"v": 4, "id": "1f1e56c5", "ts": "2026-04-07T10:00:00+00:00",
		"channel_values": {
			"integer": 1, "large": 1000000000000000000000.0, "nothing": null, "small": 0.0000001, "text": "a<b", "whole": 1.0, "yes": true
		},
		"channel_versions": {"text": "1", "whole": 2},
		"versions_seen": {"idle": null, "node": {"text": 1.0}},
		"updated_channels": ["whole", "text"]
	}`, encoded)
}

// requireJSONText compares the text of numbers too, which decoding would lose. Spaces do not count.
func requireJSONText(t *testing.T, want string, got []byte) {
	t.Helper()
	var expected, actual map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(want), &expected))
	require.NoError(t, json.Unmarshal(got, &actual))
	text := func(fields map[string]json.RawMessage) map[string]string {
		texts := map[string]string{}
		for name, raw := range fields {
			compact, err := json.Marshal(raw)
			require.NoError(t, err)
			texts[name] = string(compact)
		}
		return texts
	}
	require.Equal(t, text(expected), text(actual))
}

func TestCheckpointThatSaysNothingIsComplete(t *testing.T) {
	t.Parallel()
	encoded, err := json.Marshal(&checkpoint.Checkpoint{ID: "1"})
	require.NoError(t, err)
	require.JSONEq(t, `{"v": 4, "id": "1", "ts": "", "channel_values": {}, "channel_versions": {}, "versions_seen": {},
		"updated_channels": null}`, string(encoded))

	var cp checkpoint.Checkpoint
	require.NoError(t, json.Unmarshal([]byte(`{"id": "1"}`), &cp))
	require.Empty(t, cmp.Diff(checkpoint.Checkpoint{
		ID: "1", ChannelValues: map[string]any{}, ChannelVersions: map[string]checkpoint.Version{},
		VersionsSeen: map[string]map[string]checkpoint.Version{},
	}, cp, equalVersions))
}

func TestCheckpointSurvivesJSON(t *testing.T) {
	t.Parallel()
	for name, updated := range map[string][]string{"recorded": {"b", "a"}, "none": {}, "not recorded": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cp := checkpoint.Checkpoint{
				V: 2, ID: "1", TS: "now",
				ChannelValues: map[string]any{
					"integer": int64(math.MinInt64), "float": 1.0, "nan-like": "NaN", "nul": "a\x00b", "nothing": nil, "no": false,
					"list": []any{int64(1), 1.5, "x", []any{}, map[string]any{"k": 2.0}}, "unicode": "🧶\u2028<&>",
				},
				ChannelVersions: map[string]checkpoint.Version{"a": checkpoint.IntVersion(1), "b": checkpoint.StringVersion("1")},
				VersionsSeen:    map[string]map[string]checkpoint.Version{"n": {"a": checkpoint.FloatVersion(1)}, "__input__": {}},
				UpdatedChannels: updated,
				Extra:           map[string]any{"pending_sends": []any{}, "score": 1.0},
			}
			encoded, err := json.Marshal(&cp)
			require.NoError(t, err)
			var decoded checkpoint.Checkpoint
			require.NoError(t, json.Unmarshal(encoded, &decoded))
			require.Empty(t, cmp.Diff(cp, decoded, equalVersions))
		})
	}
}

func TestCheckpointExtraNeverReplacesAField(t *testing.T) {
	t.Parallel()
	encoded, err := json.Marshal(&checkpoint.Checkpoint{ID: "1", Extra: map[string]any{"id": "forged", "ID": "kept"}})
	require.NoError(t, err)
	var cp checkpoint.Checkpoint
	require.NoError(t, json.Unmarshal(encoded, &cp))
	require.Equal(t, "1", cp.ID)
	require.Equal(t, map[string]any{"ID": "kept"}, cp.Extra)
}

func TestCheckpointTakesFieldNamesLiterally(t *testing.T) {
	t.Parallel()
	var cp checkpoint.Checkpoint
	require.NoError(t, json.Unmarshal([]byte(`{"id": "1", "ID": "2", "V": 9, "v": 4, "Channel_Values": {"x": 1}}`), &cp))
	require.Equal(t, "1", cp.ID)
	require.Equal(t, 4, cp.V)
	require.Empty(t, cp.ChannelValues)
	require.Equal(t, map[string]any{"ID": "2", "V": int64(9), "Channel_Values": map[string]any{"x": int64(1)}}, cp.Extra)
}

func TestDecodedNumbersAreExact(t *testing.T) {
	t.Parallel()
	beyond, _ := new(big.Int).SetString("123456789012345678901234567890", 10)
	for text, want := range map[string]any{
		"1":                              int64(1),
		"-9223372036854775808":           int64(math.MinInt64),
		"9007199254740993":               int64(1)<<53 + 1,
		"18446744073709551615":           uint64(math.MaxUint64),
		"123456789012345678901234567890": beyond,
		"1.0":                            1.0,
		"1e3":                            1000.0,
		"0.1":                            0.1,
		"1e400":                          json.Number("1e400"),
	} {
		var metadata checkpoint.Metadata
		require.NoError(t, json.Unmarshal([]byte(`{"n": `+text+`, "list": [`+text+`]}`), &metadata))
		require.Equal(t, checkpoint.Metadata{"n": want, "list": []any{want}}, metadata)

		var cp checkpoint.Checkpoint
		require.NoError(t, json.Unmarshal([]byte(`{"channel_values": {"n": `+text+`}, "extra": `+text+`}`), &cp))
		require.Equal(t, map[string]any{"n": want}, cp.ChannelValues)
		require.Equal(t, map[string]any{"extra": want}, cp.Extra)

		value, err := checkpoint.DecodeValue([]byte(text))
		require.NoError(t, err)
		require.Equal(t, want, value)
	}
}

func TestDecodeValueRefusesWhatIsNotOneValue(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{", "1 2", `"\`} {
		_, err := checkpoint.DecodeValue([]byte(text))
		require.ErrorContains(t, err, "checkpoint: ", "%q", text)
	}
}

func TestDecodedNumbersAreEncodedAsTheSameNumber(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"1", "1.0", "-0.5", "18446744073709551615", "123456789012345678901234567890", "1e400"} {
		var metadata checkpoint.Metadata
		require.NoError(t, json.Unmarshal([]byte(`{"n":`+text+`}`), &metadata))
		encoded, err := json.Marshal(metadata)
		require.NoError(t, err)
		require.Equal(t, `{"n":`+text+`}`, string(encoded))
	}
}

func TestMalformedCheckpointLeavesTheReceiverAlone(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no object":          `[]`,
		"a version":          `{"id": "2", "channel_versions": {"a": true}}`,
		"a version seen":     `{"id": "2", "versions_seen": {"n": {"a": []}}}`,
		"values no object":   `{"id": "2", "channel_values": []}`,
		"format no number":   `{"id": "2", "v": "4"}`,
		"updated no channel": `{"id": "2", "updated_channels": [1]}`,
	} {
		cp := checkpoint.Checkpoint{ID: "1"}
		err := cp.UnmarshalJSON([]byte(text))
		require.ErrorContains(t, err, "checkpoint: ", name)
		require.Equal(t, checkpoint.Checkpoint{ID: "1"}, cp, name)
	}
}

func TestMetadataEncodesFloatsOfEveryContainerWithFraction(t *testing.T) {
	t.Parallel()
	type score float64
	encoded, err := json.Marshal(checkpoint.Metadata{
		"a": 1.0, "b": float32(2), "c": []float64{3, 0.5}, "d": map[string]float64{"k": 4}, "e": []any{5.0, 5},
		"f": []map[string]any{{"k": 6.0}}, "g": score(7), "h": [2]float64{8, 9}, "i": checkpoint.Metadata{"k": 10.0},
		"j": []float64(nil), "k": map[string]float64(nil), "l": []byte("bytes"), "m": json.Number("11"), "n": []int{12},
	})
	require.NoError(t, err)
	const want = `{"a":1.0,"b":2.0,"c":[3.0,0.5],"d":{"k":4.0},"e":[5.0,5],"f":[{"k":6.0}],"g":7.0,"h":[8.0,9.0],` +
		`"i":{"k":10.0},"j":null,"k":null,"l":"Ynl0ZXM=","m":11,"n":[12]}`
	require.Empty(t, cmp.Diff(want, string(encoded)), "as text, where 1 and 1.0 differ")
}

func TestMetadataRefusesWhatJSONHasNot(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]any{
		"NaN": math.NaN(), "infinity": math.Inf(1), "nested NaN": map[string]any{"list": []any{math.NaN()}},
		"typed NaN": []float64{1, math.NaN()},
	} {
		_, err := json.Marshal(checkpoint.Metadata{"key": value})
		require.ErrorIs(t, err, checkpoint.ErrInvalidArgument, name)
		require.ErrorContains(t, err, "key: ", name)
		_, err = json.Marshal(&checkpoint.Checkpoint{ChannelValues: map[string]any{"key": value}})
		require.ErrorIs(t, err, checkpoint.ErrInvalidArgument, name)
		_, err = json.Marshal(&checkpoint.Checkpoint{Extra: map[string]any{"key": value}})
		require.ErrorIs(t, err, checkpoint.ErrInvalidArgument, name)
	}
	_, err := json.Marshal(checkpoint.Metadata{"key": make(chan int)})
	require.Error(t, err)
}

func TestMetadataLosesNULAndNothingElse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, out checkpoint.Metadata }{
		"in text":               {checkpoint.Metadata{"k": "\x00a\x00b\x00"}, checkpoint.Metadata{"k": "ab"}},
		"in a key":              {checkpoint.Metadata{"k\x00": "v"}, checkpoint.Metadata{"k": "v"}},
		"deep down":             {checkpoint.Metadata{"k": []any{map[string]any{"\x00": "\x00"}}}, checkpoint.Metadata{"k": []any{map[string]any{"": ""}}}},
		"an escape as text":     {checkpoint.Metadata{"k": `\u0000`}, checkpoint.Metadata{"k": `\u0000`}},
		"NUL after a backslash": {checkpoint.Metadata{"k": "\\\x00"}, checkpoint.Metadata{"k": `\`}},
		"two and an escape":     {checkpoint.Metadata{"k": "\\\\\x00\\u0000\x00"}, checkpoint.Metadata{"k": `\\\u0000`}},
		"digits after it":       {checkpoint.Metadata{"k": "\x000000"}, checkpoint.Metadata{"k": "0000"}},
		"other control text":    {checkpoint.Metadata{"k": "\x01\x1f\u2028"}, checkpoint.Metadata{"k": "\x01\x1f\u2028"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			encoded, err := json.Marshal(c.in)
			require.NoError(t, err)
			var decoded checkpoint.Metadata
			require.NoError(t, json.Unmarshal(encoded, &decoded))
			require.Equal(t, c.out, decoded)
		})
	}
}

func TestEncodingDoesNotChangeWhatItEncodes(t *testing.T) {
	t.Parallel()
	inner := map[string]any{"f": 1.0, "list": []any{2.0}}
	cp := &checkpoint.Checkpoint{ID: "1", ChannelValues: map[string]any{"inner": inner}, Extra: map[string]any{"inner": inner}}
	_, err := json.Marshal(cp)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"f": 1.0, "list": []any{2.0}}, inner)
	require.Zero(t, cp.V)
}

func TestNilMetadataIsAnEmptyObject(t *testing.T) {
	t.Parallel()
	encoded, err := json.Marshal(checkpoint.Metadata(nil))
	require.NoError(t, err)
	require.Equal(t, `{}`, string(encoded))
	metadata := checkpoint.Metadata{"old": 1}
	require.NoError(t, metadata.UnmarshalJSON([]byte(`null`)))
	require.Equal(t, checkpoint.Metadata{}, metadata)
}

func FuzzCheckpointSurvivesJSON(f *testing.F) {
	f.Add(`{"v": 4, "id": "1", "channel_values": {"a": 1.0}, "channel_versions": {"a": "1"}, "pending_sends": []}`)
	f.Add(`{"versions_seen": {"n": null}, "updated_channels": [], "x": "\u0000"}`)
	f.Fuzz(func(t *testing.T, text string) {
		var first, second checkpoint.Checkpoint
		if first.UnmarshalJSON([]byte(text)) != nil {
			return
		}
		encoded, err := first.MarshalJSON()
		require.NoError(t, err)
		require.NoError(t, second.UnmarshalJSON(encoded))
		if first.V == 0 {
			first.V = checkpoint.FormatVersion
		}
		bigInts := cmp.Comparer(func(a, b *big.Int) bool { return a.Cmp(b) == 0 })
		require.Empty(t, cmp.Diff(first, second, equalVersions, bigInts))
	})
}
