package checkpoint

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The oracle reads and writes by encoding/json alone, at several times the cost: what jsonReader and jsonWriter are compared with.

type oracleCheckpoint struct {
	V               int                                 `json:"v"`
	ID              string                              `json:"id"`
	TS              string                              `json:"ts"`
	ChannelValues   map[string]any                      `json:"channel_values"`
	ChannelVersions map[string]oracleVersion            `json:"channel_versions"`
	VersionsSeen    map[string]map[string]oracleVersion `json:"versions_seen"`
	UpdatedChannels []string                            `json:"updated_channels"`
}

type oracleVersion struct{ Version }

func (v *oracleVersion) UnmarshalJSON(data []byte) error {
	var parsed any
	if err := oracleDecode(data, &parsed); err != nil {
		return err
	}
	switch p := parsed.(type) {
	case nil:
		v.Version = Version{}
	case string:
		v.Version = Version{text: p}
	case json.Number:
		number, err := numberVersion(p)
		if err != nil {
			return err
		}
		v.Version = number
	default:
		return fmt.Errorf("checkpoint: a channel version is text or a number, not %s", data)
	}
	return nil
}

func oracleDecode(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return nil
}

func oracleUnmarshalCheckpoint(data []byte) (Checkpoint, error) {
	var fields map[string]json.RawMessage
	if err := oracleDecode(data, &fields); err != nil {
		if mismatch := (*json.UnmarshalTypeError)(nil); errors.As(err, &mismatch) {
			mismatch.Type = reflect.TypeFor[Checkpoint]()
		}
		return Checkpoint{}, fmt.Errorf("checkpoint: %w", err)
	}
	var form oracleCheckpoint
	into := map[string]any{
		"v": &form.V, "id": &form.ID, "ts": &form.TS,
		"channel_values": &form.ChannelValues, "channel_versions": &form.ChannelVersions,
		"versions_seen": &form.VersionsSeen, "updated_channels": &form.UpdatedChannels,
	}
	decoded := Checkpoint{}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		var extra any
		target, isField := into[name]
		if !isField {
			target = &extra
		}
		if err := oracleDecode(fields[name], target); err != nil {
			return Checkpoint{}, fmt.Errorf("checkpoint: %s: %w", name, err)
		}
		if !isField {
			decoded.Extra = orEmpty(decoded.Extra)
			decoded.Extra[name] = oracleNumbers(extra)
		}
	}
	decoded.V, decoded.ID, decoded.TS, decoded.UpdatedChannels = form.V, form.ID, form.TS, form.UpdatedChannels
	decoded.ChannelValues = oracleNumbers(orEmpty(form.ChannelValues)).(map[string]any)
	decoded.ChannelVersions = oracleVersions(orEmpty(form.ChannelVersions))
	decoded.VersionsSeen = map[string]map[string]Version{}
	for node, versions := range form.VersionsSeen {
		decoded.VersionsSeen[node] = oracleVersions(versions)
	}
	return decoded, nil
}

func oracleVersions(versions map[string]oracleVersion) map[string]Version {
	if versions == nil {
		return nil
	}
	plain := map[string]Version{}
	for channel, version := range versions {
		plain[channel] = version.Version
	}
	return plain
}

func oracleNumbers(value any) any {
	switch v := value.(type) {
	case json.Number:
		return plainNumber(v)
	case map[string]any:
		for key, element := range v {
			v[key] = oracleNumbers(element)
		}
	case []any:
		for i, element := range v {
			v[i] = oracleNumbers(element)
		}
	}
	return value
}

func oracleUnmarshalMetadata(data []byte) (Metadata, error) {
	var fields map[string]any
	if err := oracleDecode(data, &fields); err != nil {
		return nil, fmt.Errorf("checkpoint: metadata: %w", err)
	}
	return oracleNumbers(orEmpty(fields)).(map[string]any), nil
}

func oracleEncode(value any) ([]byte, error) {
	value, err := oracleFractions(value)
	if err != nil {
		return nil, err
	}
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n")), nil
}

// oracleFractions copies a JSON-like value, with every float as a number that shows it is one.
func oracleFractions(value any) (any, error) {
	switch value.(type) {
	case nil, []byte, json.Marshaler, encoding.TextMarshaler:
		return value, nil
	}
	v := reflect.ValueOf(value)
	nillable := v.Kind() == reflect.Slice || v.Kind() == reflect.Map
	switch {
	case v.CanFloat():
		f := v.Float()
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("JSON has no %v: %w", f, ErrInvalidArgument)
		}
		return json.Number(decimalText(f)), nil
	case nillable && v.IsNil() && v.Type() != reflect.TypeFor[[]any]() && v.Type() != reflect.TypeFor[map[string]any]():
		return value, nil
	case v.Kind() == reflect.Slice, v.Kind() == reflect.Array:
		copied := make([]any, v.Len())
		for i := range copied {
			kept, err := oracleFractions(v.Index(i).Interface())
			if err != nil {
				return nil, fmt.Errorf("element %d: %w", i, err)
			}
			copied[i] = kept
		}
		return copied, nil
	case v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String:
		copied := map[string]any{}
		for key, element := range v.Seq2() {
			kept, err := oracleFractions(element.Interface())
			if err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
			copied[key.String()] = kept
		}
		return copied, nil
	}
	return value, nil
}

func oracleMarshalCheckpoint(c *Checkpoint) ([]byte, error) {
	form := map[string]any{}
	maps.Copy(form, c.Extra)
	maps.Copy(form, map[string]any{
		"v": c.V, "id": c.ID, "ts": c.TS, "channel_values": orEmpty(c.ChannelValues),
		"channel_versions": orEmpty(c.ChannelVersions), "versions_seen": orEmpty(c.VersionsSeen), "updated_channels": c.UpdatedChannels,
	})
	if c.V == 0 {
		form["v"] = FormatVersion
	}
	return oracleEncode(form)
}

var jsonTexts = []string{
	``, ` `, `null`, ` null `, `{}`, `[]`, `""`, `0`, `{"v":4} x`, `{"v":4}{}`, `{`, `{"v"`, `{"v":`, `{"v":4`, `{"v":4,`, `{"v":4,}`, `{,}`, `{"v" 4}`,
	`{"v":4 "id":1}`, `{v:4}`, `[1,]`, `[,1]`, `[1 2]`, `[1`, `]`, `}`, `nul`, `nulll`, `truefalse`, `{"a":tru}`, `{"a":NaN}`, `{"a":-}`, `{"a":01}`,
	`{"a":-01}`, `{"a":1.}`, `{"a":.5}`, `{"a":1e}`, `{"a":1e+}`, `{"a":+1}`, `{"a":0x1}`, `{"a":-0,"b":-0.0,"c":1E5,"d":1e-5,"e":1e400,"f":0e0}`,
	`{"a":9223372036854775807,"b":9223372036854775808,"c":18446744073709551616,"d":-9223372036854775809}`,
	`{"v":null,"id":null,"ts":null,"channel_values":null,"channel_versions":null,"versions_seen":null,"updated_channels":null}`,
	`{"v":4.0}`, `{"v":1e2}`, `{"v":-1}`, `{"v":99999999999999999999}`, `{"v":"4"}`, `{"v":true}`, `{"v":[}`, `{"id":1}`, `{"ts":{}}`,
	`{"channel_values":[1}`, `{"channel_values":"x"}`, `{"channel_versions":{"a":true}}`, `{"channel_versions":{"a": [1, 2] , "b": "1"}}`,
	`{"channel_versions":{"a":1e400}}`, `{"channel_versions":{"a":-0,"b":1.50,"c":1e2,"d":"","e":null}}`, `{"channel_versions":{"a":-}}`,
	`{"versions_seen":{"n":null,"m":{},"o":{"a":"1"}}}`, `{"versions_seen":{"n":[]}}`, `{"versions_seen":{"n":{"a":{}}}}`,
	`{"updated_channels":[]}`, `{"updated_channels":["a",null,"b"]}`, `{"updated_channels":[1]}`, `{"updated_channels":{}}`,
	`{"v":1,"v":2,"id":"a","id":null,"x":1,"x":[2],"channel_values":{"a":1,"a":2},"channel_values":{"b":1}}`,
	`{"v":"x","v":4,"id":1,"id":"1"}`, `{"v":4,"v":"x"}`, `{"channel_versions":{"a":{},"a":"1"}}`, `{"ID":"2","V":9,"Channel_Values":{}}`,
	`{"a":"\u0000\n\"\\\/\b\f\r\t\u00e9\ud83e\uddf5 \ud800 \udc00x","\u0061":"b","\n":1}`, `{"a":"\x"}`, `{"a":"\u12"}`, `{"a":"\`, `{"a":"b`,
	"{\"a\":\"\x01\"}", "{\"a\":\"b\n\"}", "{\"a\":\"\\n\n\"}", "{\"a\":\"\xff\",\"\xc0\":\"\xed\xa0\x80\"}", "{\"a\":\"🧶\u2028\u2029<&>\x7f\"}",
	"\ufeff{}", "{\"a\":1}\x00", " \t\r\n{ \t\r\n\"a\" \t\r\n: \t\r\n[ \t\r\n1 \t\r\n, \t\r\n2 \t\r\n] \t\r\n} \t\r\n", "{\"a\":\v1}",
}

// deepTexts take the fuzzer too long.
var deepTexts = []string{
	strings.Repeat("[", 10000) + strings.Repeat("]", 10000), strings.Repeat("[", 10001) + strings.Repeat("]", 10001),
	`{"a":` + strings.Repeat(`{"a":`, 9998) + `[]` + strings.Repeat("}", 9999), `{"a":` + strings.Repeat(`{"a":`, 9999) + `[]` + strings.Repeat("}", 10000),
	`[` + strings.Repeat(`[],{},`, 10001) + `1]`,
}

// requireReadAsByOracle returns the errors for a Checkpoint, of which the oracle may find another one first.
func requireReadAsByOracle(t *testing.T, data []byte) (wanted, got error) {
	t.Helper()
	var cp Checkpoint
	err := cp.UnmarshalJSON(data)
	wantCheckpoint, wantErr := oracleUnmarshalCheckpoint(data)
	require.Equal(t, wantErr == nil, err == nil, "%.200q: wanted error %v, got %v", data, wantErr, err)
	requireSameValue(t, data, wantCheckpoint, cp)

	metadata := Metadata{}
	metadataErr := metadata.UnmarshalJSON(data)
	wantMetadata, wantMetadataErr := oracleUnmarshalMetadata(data)
	requireSameError(t, data, wantMetadataErr, metadataErr)
	requireSameValue(t, data, orEmpty(wantMetadata), metadata)

	var wantValue any
	wantValueErr := oracleDecode(data, &wantValue)
	value, valueErr := DecodeValue(data)
	require.Equal(t, wantValueErr == nil, valueErr == nil, "%.200q", data)
	if wantValueErr == nil {
		requireSameValue(t, data, oracleNumbers(wantValue), value)
	}

	var wantVersion oracleVersion
	var version Version
	wantVersionErr, versionErr := wantVersion.UnmarshalJSON(data), version.UnmarshalJSON(data)
	require.Equal(t, wantVersionErr == nil, versionErr == nil, "%.200q: wanted error %v, got %v", data, wantVersionErr, versionErr)
	requireSameValue(t, data, wantVersion.Version, version)
	return wantErr, err
}

// requireSameError compares what errors say, but where both the syntax and a type are wrong.
func requireSameError(t *testing.T, data []byte, want, got error) {
	t.Helper()
	require.Equal(t, want == nil, got == nil, "%.200q: wanted error %v, got %v", data, want, got)
	if mismatch := (*json.UnmarshalTypeError)(nil); json.Valid(data) || !errors.As(want, &mismatch) {
		text := strings.ReplaceAll(fmt.Sprint(want), "checkpoint.oracleVersion", "checkpoint.Version")
		require.Equal(t, text, fmt.Sprint(got), "%.200q", data)
	}
}

func requireSameValue(t *testing.T, data []byte, want, got any) {
	t.Helper()
	require.True(t, reflect.DeepEqual(want, got), "%.200q:\nwanted %.500v\ngot    %.500v", data, want, got)
}

func TestJSONIsReadAsByEncodingJSON(t *testing.T) {
	t.Parallel()
	for _, text := range slices.Concat(jsonTexts, deepTexts) {
		wanted, got := requireReadAsByOracle(t, []byte(text))
		requireSameError(t, []byte(text), wanted, got)
	}
}

// Every way to break a checkpoint off, or to spoil one byte of it.
func TestSpoiltJSONIsReadAsByEncodingJSON(t *testing.T) {
	t.Parallel()
	const text = `{"v":4, "id":"1f\n","channel_values":{"a":[1.5e+3,-0,true,null]},"channel_versions":{"a":"1"},"x":"\ud83e\uddf5é"}`
	for i := range len(text) {
		_, _ = requireReadAsByOracle(t, []byte(text[:i]))
		for _, c := range []byte("\"\\{}[],:0-.eE tn\x00\x1f\xff") {
			spoilt := []byte(text)
			spoilt[i] = c
			_, _ = requireReadAsByOracle(t, spoilt)
		}
	}
}

func FuzzJSONIsReadAsByEncodingJSON(f *testing.F) {
	for _, text := range jsonTexts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) { _, _ = requireReadAsByOracle(t, data) })
}

func requireWrittenAsByOracle(t *testing.T, cp *Checkpoint, metadata Metadata) {
	t.Helper()
	encoded, err := cp.MarshalJSON()
	wanted, wantErr := oracleMarshalCheckpoint(cp)
	require.Equal(t, wantErr == nil, err == nil, "wanted error %v, got %v", wantErr, err)
	if wantErr == nil {
		// Names may come in another order.
		var want, got any
		require.NoError(t, oracleDecode(wanted, &want))
		require.NoError(t, oracleDecode(encoded, &got))
		require.Equal(t, want, got)
	}

	encoded, err = metadata.MarshalJSON()
	wanted, wantErr = oracleEncode(map[string]any(metadata))
	require.Equal(t, wantErr == nil, err == nil, "wanted error %v, got %v", wantErr, err)
	if wantErr == nil {
		require.Equal(t, string(withoutNUL(wanted)), string(encoded))
	}
}

func TestJSONIsWrittenAsByEncodingJSON(t *testing.T) {
	t.Parallel()
	type text string
	type structure struct {
		F float64  `json:"f,omitempty"`
		P *float64 `json:"p"`
	}
	f := 1.0
	self := []any{nil}
	for name, value := range map[string]any{
		"nil": nil, "bool": true, "text": "a", "named text": text("a\n"), "escapes": "\x00\b\f\n\r\t\"\\/\x1f\x7f<>&", "lines": "\u2028\u2029",
		"not UTF-8": "a\xffb\xed\xa0\x80", "unicode": "é织🧶", "int": -1, "int8": int8(-8), "uint64": uint64(math.MaxUint64), "uintptr": uintptr(1),
		"float": 1.0, "float32": float32(0.1), "large": 1e300, "small": 5e-324, "negative zero": math.Copysign(0, -1), "NaN": math.NaN(),
		"infinity": float32(math.Inf(-1)), "big": new(big.Int).Lsh(big.NewInt(1), 100), "nil big": (*big.Int)(nil), "number": json.Number("1e400"),
		"empty number": json.Number(""), "no number": json.Number("1x"), "raw": json.RawMessage(`{"b" : 1.0, "a": "<"}`), "no raw": json.RawMessage("{"),
		"bytes": []byte("bytes"), "nil bytes": []byte(nil), "list": []any{1, 2.0, "x", nil, []any{}, map[string]any{}}, "nil list": []any(nil),
		"texts": []string{"a", "\n"}, "nil texts": []string(nil), "floats": [][]float64{{1}, nil, {}}, "array": [2]any{1.0, text("b")},
		"map":     map[string]any{"b": 1, "a": 2.0, "": nil, "\n": 3, "<": map[string]any{"z": 1, "y": []any{map[string]any{"x": 1}}}},
		"nil map": map[string]any(nil), "nil floats": map[string]float64(nil), "map of texts": map[text]float64{"b": 1, "a": 2},
		"map of ints": map[int]float64{10: 1, 9: 2}, "map of bools": map[bool]int{true: 1}, "structure": structure{F: 1, P: &f}, "pointer": &structure{},
		"pointer to a float": &f, "metadata": Metadata{"a": 1.0, "b": "\x00"}, "version": FloatVersion(2), "time": time.Unix(1e9, 0).UTC(),
		"function": func() {}, "channel": make(chan int), "complex": 1i, "NaN deep down": map[string]any{"a": []any{[]float64{math.NaN()}}},
		"shared": []any{self, self},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cp := &Checkpoint{
				ID: "1<\n", ChannelValues: map[string]any{"k": value}, Extra: map[string]any{"x": value, "v": 9, "Z": 1},
				ChannelVersions: map[string]Version{"b": StringVersion("<\n"), "a": IntVersion(-1), "c": FloatVersion(1e21), "d": {}},
				VersionsSeen:    map[string]map[string]Version{"n": nil, "m": {}, "l": {"b": IntVersion(1), "a": StringVersion("")}},
			}
			requireWrittenAsByOracle(t, cp, Metadata{"k": value, "a\x00": []any{value}})
		})
	}
}

func FuzzJSONIsWrittenAsByEncodingJSON(f *testing.F) {
	for _, text := range jsonTexts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var cp Checkpoint
		var metadata Metadata
		if cp.UnmarshalJSON(data) == nil && metadata.UnmarshalJSON(data) == nil {
			requireWrittenAsByOracle(t, &cp, metadata)
		}
	})
}
