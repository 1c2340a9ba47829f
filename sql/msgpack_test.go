package sql_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// vector is a value that LangGraph's own serializer wrote; see serde/testdata/generate.py.
type vector struct {
	Name   string
	Type   string
	Data   string
	SHA256 string
	JSON   *string
	Value  any
}

func readVectors(t *testing.T, name string) []vector {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "serde", "testdata", name))
	require.NoError(t, err)
	var vectors []vector
	require.NoError(t, json.Unmarshal(text, &vectors))
	require.Greater(t, len(vectors), 20)
	return vectors
}

// bytes are those that Python wrote. Of long ones the file has the hash only: they are made again.
func (v vector) bytes(t *testing.T) []byte {
	t.Helper()
	if v.SHA256 == "" {
		return unhex(t, v.Data)
	}
	data := repeatedBytes(v.Value)
	if v.Type == "msgpack" {
		data = appendDescribed(t, nil, v.Value)
	}
	sum := sha256.Sum256(data)
	require.Equal(t, v.SHA256, hex.EncodeToString(sum[:]), v.Name)
	return data
}

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	data, err := hex.DecodeString(text)
	require.NoError(t, err)
	return data
}

// tagged is what a description says under one tag, or nil.
func tagged(described any, tag string) any {
	object, _ := described.(map[string]any)
	return object[tag]
}

func repeatedBytes(described any) []byte {
	n, ok := tagged(described, "counting bytes").(float64)
	if !ok {
		return nil
	}
	data := make([]byte, int(n))
	for i := range data {
		data[i] = byte(i % 251)
	}
	return data
}

// appendDescribed writes, as MessagePack, the kinds of descriptions that long vectors consist of.
func appendDescribed(t *testing.T, to []byte, described any) []byte {
	t.Helper()
	switch v := described.(type) {
	case nil:
		return append(to, 0xc0)
	case string:
		return append(appendHeader(to, len(v), 0xa0, 32, 0xd9), v...)
	case map[string]any:
		return appendTagged(t, to, v)
	}
	require.Failf(t, "cannot write", "%T", described)
	return nil
}

func appendTagged(t *testing.T, to []byte, v map[string]any) []byte {
	t.Helper()
	switch {
	case v["repeat"] != nil:
		count := int(v["count"].(float64))
		if text, ok := v["repeat"].(string); ok {
			return appendDescribed(t, to, strings.Repeat(text, count))
		}
		to = appendHeader(to, count, 0x90, 16, 0)
		return append(to, bytes.Repeat(appendDescribed(t, nil, tagged(v["repeat"], "list").([]any)[0]), count)...)
	case v["counting bytes"] != nil:
		data := repeatedBytes(v)
		return append(appendHeader(to, len(data), 0, 0, 0xc4), data...)
	case v["counting dict"] != nil:
		count := int(v["counting dict"].(float64))
		to = appendHeader(to, count, 0x80, 16, 0)
		for i := range count {
			to = append(appendHeader(to, i, 0, 128, 0xcc), 0xc0)
		}
		return to
	case v["int"] != nil:
		n, err := strconv.Atoi(v["int"].(string))
		require.NoError(t, err)
		return appendHeader(to, n, 0, 128, 0xcc)
	case v["list"] != nil:
		items := v["list"].([]any)
		to = appendHeader(to, len(items), 0x90, 16, 0)
		for _, item := range items {
			to = appendDescribed(t, to, item)
		}
		return to
	case v["dict"] != nil:
		return appendEntries(t, to, v["dict"].([]any))
	case v["message"] != nil:
		message := v["message"].(map[string]any)
		payload := appendDescribed(t, []byte{0x94}, message["module"])
		payload = appendDescribed(t, payload, message["name"])
		payload = appendEntries(t, payload, message["fields"].([]any))
		payload = appendDescribed(t, payload, "model_validate_json")
		return append(append(appendHeader(to, len(payload), 0, 0, 0xc7), 5), payload...)
	}
	require.Failf(t, "cannot write", "%v", v)
	return nil
}

func appendEntries(t *testing.T, to []byte, entries []any) []byte {
	t.Helper()
	to = appendHeader(to, len(entries), 0x80, 16, 0)
	for _, entry := range entries {
		for _, part := range entry.([]any) {
			to = appendDescribed(t, to, part)
		}
	}
	return to
}

// appendHeader writes n into the first byte where it is below small, and otherwise behind wide (one byte), wide+1 (two) or
// wide+2 (four). Lists and maps, whose wide is 0, have no form of one byte.
func appendHeader(to []byte, n int, first byte, small int, wide byte) []byte {
	two := wide + 1
	if wide == 0 {
		two = map[byte]byte{0x90: 0xdc, 0x80: 0xde}[first]
	}
	switch {
	case n < small:
		return append(to, first|byte(n))
	case n < 256 && wide != 0:
		return append(to, wide, byte(n))
	case n < 65536:
		return binary.BigEndian.AppendUint16(append(to, two), uint16(n))
	}
	return binary.BigEndian.AppendUint32(append(to, two+1), uint32(n))
}

// describedJSON is the JSON of a description that Python made from the value itself, never from its bytes; false for kinds
// that JSON does not have.
func describedJSON(described any) (any, bool) {
	switch v := described.(type) {
	case nil, bool:
		return v, true
	case string:
		return strings.ReplaceAll(v, "\x00", "\ufffd"), true
	case map[string]any:
		for tag, content := range v {
			if len(v) == 1 {
				return describedTag(tag, content)
			}
		}
	}
	return nil, false
}

func describedTag(tag string, content any) (any, bool) {
	switch tag {
	case "int":
		return json.Number(content.(string)), true
	case "float":
		bits, err := strconv.ParseUint(content.(string), 16, 64)
		return json.RawMessage(postgresFloat(math.Float64frombits(bits), 64)), err == nil
	case "list":
		items := make([]any, len(content.([]any)))
		for i, item := range content.([]any) {
			var ok bool
			if items[i], ok = describedJSON(item); !ok {
				return nil, false
			}
		}
		return items, true
	case "dict":
		return describedFields(map[string]any{}, content.([]any))
	case "message":
		message := content.(map[string]any)
		class := fmt.Sprint(message["module"], ".", message["name"])
		return describedFields(map[string]any{"lc_type": class}, message["fields"].([]any))
	}
	return nil, false
}

func describedFields(into map[string]any, entries []any) (any, bool) {
	for _, entry := range entries {
		key, isText := entry.([]any)[0].(string)
		field, ok := describedJSON(entry.([]any)[1])
		if !isText || !ok {
			return nil, false
		}
		into[key] = field
	}
	return into, true
}

// typedValue is a stored value and the JSON it has to become; "" is SQL's null.
type typedValue struct {
	name, kind string
	blob       []byte
	want       string
}

// requireDecoded reads all values in one query.
func requireDecoded(t *testing.T, db querier, values []typedValue) {
	t.Helper()
	var names, kinds, wants []string
	var blobs [][]byte
	for _, v := range values {
		names, kinds, wants, blobs = append(names, v.name), append(kinds, v.kind), append(wants, v.want), append(blobs, v.blob)
	}
	require.NotEmpty(t, names)
	type wrong struct{ Name, Got, Want string }
	got := table[wrong](t, db, `
		select v.name, left(coalesce(d.json::text, ''), 2000) as got, left(v.want, 2000) as want
		from unnest($1::text[], $2::text[], $3::bytea[], $4::text[]) as v (name, type, blob, want)
		cross join lateral (select langgraph.value_to_jsonb(v.type, v.blob) as json offset 0) d
		where d.json is distinct from nullif(v.want, '')::jsonb`, names, kinds, blobs, wants)
	require.Empty(t, got)
}

func TestValuesOfLangGraphAreReadAsWhatTheyAre(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)

	t.Run("by what Python says they are", func(t *testing.T) {
		t.Parallel()
		var values []typedValue
		for _, v := range readVectors(t, "vectors.json") {
			if described, ok := describedJSON(v.Value); ok {
				want, err := json.Marshal(described)
				require.NoError(t, err)
				values = append(values, typedValue{v.Name, v.Type, v.bytes(t), string(want)})
			}
		}
		require.Greater(t, len(values), 150)
		requireDecoded(t, db, values)
	})
	t.Run("by the documented rules", func(t *testing.T) {
		t.Parallel()
		var values []typedValue
		for _, v := range readVectors(t, "vectors.json") {
			data := v.bytes(t)
			var want string
			switch v.Type {
			case "null":
				want = "null"
			case "bytes", "bytearray":
				want = strings.Replace(modelBytes(data), "builtins.bytes", "builtins."+v.Type, 1)
			default:
				var err error
				want, err = modelJSON(data)
				require.NoError(t, err, v.Name)
			}
			values = append(values, typedValue{v.Name, v.Type, data, want})
		}
		requireDecoded(t, db, values)
	})
	t.Run("as the older JSON form holds them", func(t *testing.T) {
		t.Parallel()
		var values []typedValue
		for _, v := range readVectors(t, "json.json") {
			if described, ok := describedJSON(v.Value); ok && !strings.Contains(*v.JSON, `"lc"`) && v.Name != "bom" {
				want, err := json.Marshal(described)
				require.NoError(t, err)
				// Python puts "?" where a lone surrogate stands, and reads 1E400 as infinite; here they stay what they are.
				if v.Name == "lone surrogates" {
					want = bytes.ReplaceAll(want, []byte("?"), []byte("\ufffd"))
				}
				want = bytes.Replace(want, []byte(`"Infinity","x"`), []byte(`1e400,"x"`), 1)
				values = append(values, typedValue{v.Name, "json", []byte(*v.JSON), string(want)})
			}
		}
		require.Greater(t, len(values), 8)
		requireDecoded(t, db, values)
	})
	t.Run("and envelopes of the older JSON form stay as they are", func(t *testing.T) {
		t.Parallel()
		var values []typedValue
		for _, v := range readVectors(t, "json.json") {
			if strings.Contains(*v.JSON, `"lc"`) {
				values = append(values, typedValue{v.Name, "json", []byte(*v.JSON), *v.JSON})
			}
		}
		require.Greater(t, len(values), 15)
		requireDecoded(t, db, values)
	})
	t.Run("and encrypted ones say that they are encrypted", func(t *testing.T) {
		t.Parallel()
		var values []typedValue
		for _, v := range readVectors(t, "encrypted.json") {
			plain, cipher, _ := strings.Cut(v.Type, "+")
			data := unhex(t, v.Data)
			want := fmt.Sprintf(`{"lc_type": "encrypted", "type": %q, "cipher": %q, "bytes": %d}`, plain, cipher, len(data))
			values = append(values, typedValue{v.Name, v.Type, data, want})
		}
		requireDecoded(t, db, values)
	})
}

func TestMsgpackToJSONBReadsEveryWidth(t *testing.T) {
	t.Parallel()
	var values []typedValue
	add := func(data, want string) {
		values = append(values, typedValue{data, "msgpack", unhex(t, data), want})
	}
	for _, c := range []struct{ data, want string }{
		{"00", "0"},
		{"7f", "127"},
		{"ff", "-1"},
		{"e0", "-32"},
		{"cc00", "0"},
		{"ccff", "255"},
		{"cd0001", "1"},
		{"cdffff", "65535"},
		{"ce7fffffff", "2147483647"},
		{"ce80000000", "2147483648"},
		{"ceffffffff", "4294967295"},
		{"cf7fffffffffffffff", "9223372036854775807"},
		{"cf8000000000000000", "9223372036854775808"},
		{"cfffffffffffffffff", "18446744073709551615"},
		{"d07f", "127"},
		{"d080", "-128"},
		{"d0ff", "-1"},
		{"d17fff", "32767"},
		{"d18000", "-32768"},
		{"d27fffffff", "2147483647"},
		{"d280000000", "-2147483648"},
		{"d2ffffffff", "-1"},
		{"d37fffffffffffffff", "9223372036854775807"},
		{"d38000000000000000", "-9223372036854775808"},
		{"c0", "null"},
		{"c2", "false"},
		{"c3", "true"},
		{"a0", `""`},
		{"a161", `"a"`},
		{"d900", `""`},
		{"d90161", `"a"`},
		{"da000161", `"a"`},
		{"db0000000161", `"a"`},
		{"90", "[]"},
		{"9101", "[1]"},
		{"dc0000", "[]"},
		{"dc000101", "[1]"},
		{"dd00000000", "[]"},
		{"dd0000000101", "[1]"},
		{"80", "{}"},
		{"81a16101", `{"a": 1}`},
		{"de0000", "{}"},
		{"de0001a16101", `{"a": 1}`},
		{"df00000000", "{}"},
		{"df00000001a16101", `{"a": 1}`},
		{"c400", `{"lc_type": "builtins.bytes", "base64": ""}`},
		{"c40400ff7f80", `{"lc_type": "builtins.bytes", "base64": "AP9/gA=="}`},
		{"c5000100", `{"lc_type": "builtins.bytes", "base64": "AA=="}`},
		{"c60000000100", `{"lc_type": "builtins.bytes", "base64": "AA=="}`},
	} {
		add(c.data, c.want)
	}
	db := newDatabase(t)
	requireDecoded(t, db, values)
}

func TestMsgpackToJSONBReadsExtensions(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	// ["m", "N", ...] as the payload of constructors.
	const constructor = "93a16da14e"
	var values []typedValue
	for _, c := range []struct{ name, data, want string }{
		{"one argument", "c70600" + constructor + "07", `{"lc_type": "m.N", "args": [7]}`},
		{"an array as one argument", "c70700" + constructor + "9107", `{"lc_type": "m.N", "args": [[7]]}`},
		{"positional arguments", "c70801" + constructor + "920708", `{"lc_type": "m.N", "args": [7, 8]}`},
		{"no positional arguments", "c70601" + constructor + "90", `{"lc_type": "m.N", "args": []}`},
		{"keyword arguments", "c70902" + constructor + "81a16b07", `{"lc_type": "m.N", "k": 7}`},
		{"no keyword arguments", "c70602" + constructor + "80", `{"lc_type": "m.N"}`},
		{"a method behind the argument", "c70803" + "94a16da14e07a16d", `{"lc_type": "m.N", "args": [7]}`},
		{"pydantic 1", "c70904" + constructor + "81a16b07", `{"lc_type": "m.N", "k": 7}`},
		{"pydantic 2", "c70b05" + "94a16da14e81a16b07a16d", `{"lc_type": "m.N", "k": 7}`},
		{"numpy", "c70b0694a33c6934" + "9101a143c400", `{"lc_type": "numpy.ndarray", "args": [["<i4", [1], "C", {"lc_type": "builtins.bytes", "base64": ""}]]}`},
		{"a delta snapshot", "d5079107", `{"lc_type": "langgraph.checkpoint.serde.types._DeltaSnapshot", "args": [[7]]}`},
		{"an extension of somebody else", "d46378", `{"lc_type": "msgpack.ext", "code": 99, "base64": "eA=="}`},
		{"a timestamp", "d6ff00000001", `{"lc_type": "msgpack.ext", "code": -1, "base64": "AAAAAQ=="}`},
		{"fixext 8", "d763" + strings.Repeat("00", 8), `{"lc_type": "msgpack.ext", "code": 99, "base64": "AAAAAAAAAAA="}`},
		{"fixext 16", "d863" + strings.Repeat("00", 16), `{"lc_type": "msgpack.ext", "code": 99, "base64": "AAAAAAAAAAAAAAAAAAAAAA=="}`},
		{"ext 16", "c8000163ff", `{"lc_type": "msgpack.ext", "code": 99, "base64": "/w=="}`},
		{"ext 32", "c90000000163ff", `{"lc_type": "msgpack.ext", "code": 99, "base64": "/w=="}`},
		{"a constructor in a list", "93c70600" + constructor + "07d507910702", `[{"lc_type": "m.N", "args": [7]}, {"lc_type": "langgraph.checkpoint.serde.types._DeltaSnapshot", "args": [[7]]}, 2]`},
		{"a constructor in a constructor", "c70c02" + constructor + "81a16b" + "d5639107", `{"lc_type": "m.N", "k": {"lc_type": "msgpack.ext", "code": 99, "base64": "kQc="}}`},
		{"an empty snapshot is no constructor", "92c7000705", `[{"lc_type": "msgpack.ext", "code": 7, "base64": ""}, 5]`},
		{"a constructor without arguments is none", "c70500" + constructor, `{"lc_type": "msgpack.ext", "code": 0, "base64": "k6FtoU4="}`},
	} {
		values = append(values, typedValue{c.name, "msgpack", unhex(t, c.data), c.want})
	}
	requireDecoded(t, db, values)
}

func TestMsgpackToJSONBMakesTextOfKeys(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	var values []typedValue
	for _, c := range []struct{ data, want string }{
		{"8101c0", `{"1": null}`},
		{"81d0ffc0", `{"-1": null}`},
		{"81c0c0", `{"null": null}`},
		{"81c3c0", `{"true": null}`},
		{"81cb3ff8000000000000c0", `{"1.5": null}`},
		{"81cb7ff8000000000000c0", `{"NaN": null}`},
		{"8190c0", `{"[]": null}`},
		{"819201a16101", `{"[1,\"a\"]": 1}`},
		{"8192019102a178", `{"[1,[2]]": "x"}`},
		{"8181a1610101", `{"{\"a\":1}": 1}`},
		{"81c4010001", `{"{\"lc_type\":\"builtins.bytes\",\"base64\":\"AA==\"}": 1}`},
		{"82910100910201", `{"[1]": 0, "[2]": 1}`},
		{"81c7060093a16da14e0701", `{"{\"lc_type\":\"m.N\",\"args\":[7]}": 1}`},
		{"82a16101a16102", `{"a": 2}`},
	} {
		values = append(values, typedValue{c.data, "msgpack", unhex(t, c.data), c.want})
	}
	requireDecoded(t, db, values)
}

func TestMsgpackToJSONBReplacesNUL(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	long := append([]byte{0xda, 1, 0}, bytes.Repeat([]byte{0}, 256)...)
	requireDecoded(t, db, []typedValue{
		{"alone", "msgpack", []byte("\xa1\x00"), `"�"`},
		{"inside", "msgpack", []byte("\xa3a\x00b"), `"a�b"`},
		{"in a key", "msgpack", []byte("\x81\xa2\x00\x00\x01"), `{"��": 1}`},
		{"many", "msgpack", long, `"` + strings.Repeat("�", 256) + `"`},
		{"in a module", "msgpack", []byte("\xc7\x06\x00\x93\xa1\x00\xa1N\x07"), `{"lc_type": "�.N", "args": [7]}`},
		{"only as a number beside text", "msgpack", []byte("\x92\x00\xa1a"), `[0, "a"]`},
	})
}

func TestMsgpackToJSONBReadsEveryFloat(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	random := newRandom(t)
	bits := []uint64{
		0, 1, 1 << 63, 1<<63 | 1, 0x000fffffffffffff, 0x0010000000000000, 0x7fefffffffffffff, 0xffefffffffffffff,
		0x7ff0000000000000, 0xfff0000000000000, 0x7ff0000000000001, 0x7ff8000000000000, 0xffffffffffffffff,
		0x3ff0000000000000, 0x4340000000000000, 0x43e0000000000000, 0x8000000000000000,
	}
	for range 4000 {
		bits = append(bits, random.Uint64())
	}
	for range 500 { // subnormal numbers are one in two thousand of all
		bits = append(bits, random.Uint64()&(1<<63|1<<52-1))
	}
	var values []typedValue
	for _, b := range bits {
		double := binary.BigEndian.AppendUint64([]byte{0xcb}, b)
		values = append(values, typedValue{hex.EncodeToString(double), "msgpack", double, postgresFloat(math.Float64frombits(b), 64)})
		single := binary.BigEndian.AppendUint32([]byte{0xca}, uint32(b>>32))
		f := math.Float32frombits(uint32(b >> 32))
		values = append(values, typedValue{hex.EncodeToString(single), "msgpack", single, postgresFloat(float64(f), 32)})
	}
	requireDecoded(t, db, values)

	type float struct {
		Bits int64
		Got  float64
	}
	var signed []int64
	for _, b := range bits {
		signed = append(signed, int64(b))
	}
	for _, f := range table[float](t, db, `select b as bits, langgraph.msgpack_float(b, 64) as got from unnest($1::bigint[]) b`, signed) {
		want := math.Float64frombits(uint64(f.Bits))
		if math.IsNaN(want) {
			require.True(t, math.IsNaN(f.Got), "%016x", uint64(f.Bits))
			continue
		}
		require.Equal(t, math.Float64bits(want), math.Float64bits(f.Got), "%016x, the sign of zero included", uint64(f.Bits))
	}
}

// outcomes of msgpack_to_jsonb: its JSON, or the SQLSTATE of its error. A cancelled query is no such error and fails the test.
const outcomesFunction = `
	create function pg_temp.outcome(p_bytes bytea, out value text, out state text) language plpgsql as $$
	begin
		value := langgraph.msgpack_to_jsonb(p_bytes)::text;
	exception when others then
		state := sqlstate;
	end $$`

type outcome struct {
	Data  []byte
	JSON  *string
	State *string
}

func outcomesOf(t *testing.T, data [][]byte) []outcome {
	t.Helper()
	pool := newDatabase(t)
	conn, err := pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	exec(t, conn, outcomesFunction)
	got := table[outcome](t, conn, `
		select d.data, o.value as "json", o.state
		from unnest($1::bytea[]) with ordinality as d (data, n)
		cross join lateral pg_temp.outcome(d.data) o
		order by d.n`, data)
	require.Len(t, got, len(data))
	return got
}

func TestTruncatedMsgpackIsRefusedAtEveryByte(t *testing.T) {
	t.Parallel()
	var cuts [][]byte
	for _, v := range readVectors(t, "vectors.json") {
		if v.Type != "msgpack" || v.SHA256 != "" || strings.HasPrefix(v.Name, "int/") {
			continue
		}
		data := v.bytes(t)
		step := 1 + len(data)/150 // every byte of the values that have structure, some of those that repeat
		for n := 0; n < len(data); n += step {
			cuts = append(cuts, data[:n])
		}
	}
	for _, data := range []string{
		"cf0102030405060708", "ce01020304", "cd0102", "cc01", "d301020304050607ff", "cb3ff0000000000000", "ca3f800000",
		"db00000003616263", "da0003616263", "c600000002ffff", "c90000000263ffff", "d863" + strings.Repeat("ff", 16),
		"dd00000002a16101", "df00000001a16101", "a9e7bb87e69cba20f09f"[:20],
	} {
		whole := unhex(t, data)
		for n := range len(whole) {
			cuts = append(cuts, whole[:n])
		}
	}
	require.Greater(t, len(cuts), 5000)
	for _, o := range outcomesOf(t, cuts) {
		require.NotNil(t, o.State, "%x is cut, and was read as %v", o.Data, o.JSON)
		require.Contains(t, []string{"LG006", "22021"}, *o.State, "%x", o.Data)
	}
}

func TestMsgpackToJSONBReadsOrRefusesAnyBytes(t *testing.T) {
	t.Parallel()
	random := newRandom(t)
	var samples [][]byte
	for _, v := range readVectors(t, "vectors.json") {
		if v.Type == "msgpack" && v.SHA256 == "" && len(v.Data) < 1200 {
			samples = append(samples, v.bytes(t))
		}
	}
	var data [][]byte
	for range 6000 {
		data = append(data, mutated(random, samples), noise(random), structured(random))
	}
	var read int
	for _, o := range outcomesOf(t, data) {
		want, err := modelJSON(o.Data)
		if err != nil {
			require.NotNil(t, o.State, "%x is damaged (%v), and was read as %v", o.Data, err, o.JSON)
			require.Contains(t, []string{"LG006", "22021"}, *o.State, "%x", o.Data)
			continue
		}
		read++
		require.Nil(t, o.State, "%x is %s", o.Data, want)
		require.JSONEq(t, want, *o.JSON, "%x", o.Data)
	}
	require.Greater(t, read, 500, "values that can be read are among them")
	require.Less(t, read, len(data)-500, "and values that cannot")
}

// mutated is a sample with a few bytes changed, removed or added.
func mutated(random *rand.Rand, samples [][]byte) []byte {
	data := bytes.Clone(pick(random, samples...))
	for range 1 + random.IntN(3) {
		if len(data) == 0 {
			break
		}
		at := random.IntN(len(data))
		switch random.IntN(4) {
		case 0:
			data = append(data[:at], data[at+1:]...)
		case 1:
			data = append(data[:at], append([]byte{byte(random.Uint32())}, data[at:]...)...)
		default:
			data[at] = byte(random.Uint32())
		}
	}
	return data
}

func noise(random *rand.Rand) []byte {
	data := make([]byte, 1+random.IntN(24))
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	return data
}

// structured is made of the bytes that open things.
func structured(random *rand.Rand) []byte {
	var data []byte
	for range 1 + random.IntN(12) {
		data = append(data, pick(random, "\x91", "\x92", "\x81", "\x82", "\x90", "\x80", "\x01", "\xa1a", "\xc0", "\xc4\x01\x00",
			"\xd4\x07\x91", "\xd4\x07\x01", "\xd5\x07\x91\x01", "\xc7\x06\x00\x93\xa1m\xa1N\x07", "\xc7\x06\x02\x93\xa1m\xa1N\x80",
			"\xc7\x07\x01\x93\xa1m\xa1N\x91", "\xdc\x00\x01", "\xde\x00\x01", "\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00", "\xd4\x63\x91")...)
	}
	return data
}

func TestMsgpackToJSONBRefuses(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	early := refusal{code: "LG006", message: "ends too early", detail: "bytes are stored", hint: "damaged"}
	after := refusal{code: "LG006", message: "followed by more bytes", detail: "ends at byte", hint: "damaged"}
	deep := refusal{code: "LG006", message: "nests deeper than 1000 levels", detail: "At byte 1001 of", hint: "read it with a client"}
	for name, c := range map[string]struct {
		data []byte
		want refusal
	}{
		"no bytes":                                                   {nil, early},
		"a list without its items":                                   {[]byte{0x92, 1}, early},
		"a map without its value":                                    {[]byte("\x81\xa1a"), early},
		"a list that says it has two billion":                        {unhex(t, "dd7fffffff"), early},
		"a list that says it has four billion":                       {unhex(t, "ddffffffff00"), early},
		"a string that says it has four billion":                     {unhex(t, "dbffffffff00"), early},
		"an extension of four billion":                               {unhex(t, "c9ffffffff0700"), early},
		"a byte after a value":                                       {[]byte{1, 1}, after},
		"a value after a list":                                       {[]byte{0x91, 1, 0x90}, after},
		"a value after a constructor":                                {unhex(t, "c7060093a16da14e0701"), after},
		"a map that begins in an extension and is counted behind it": {unhex(t, "93c7060293a16da14ede0000"), early},
		"the byte that is never used":                                {[]byte{0x91, 0xc1}, refusal{code: "LG006", message: "not MessagePack", detail: "Byte 1 of 2 is 0xc1.", hint: "damaged"}},
		"1,001 lists":                                                {append(bytes.Repeat([]byte{0x91}, 1001), 1), deep},
		"a million lists":                                            {bytes.Repeat([]byte{0x91}, 1000000), deep},
		// Each key quotes the one in it: 121 bytes would become more than a gigabyte.
		"keys in keys in keys": {unhex(t, strings.Repeat("81", 60)+"a161"+strings.Repeat("c0", 60)), refusal{
			code: "LG006", message: "keys nest deeper than 4 levels", detail: "At byte 6 of 122.", hint: "read it with a client",
		}},
		"a constructor longer than its extension": {unhex(t, "92d4079101"), refusal{
			code: "LG006", message: "ends before the value in it", detail: "byte", hint: "damaged",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireRefused(t, c.want, attempt(t.Context(), db, "select langgraph.msgpack_to_jsonb($1)", append([]byte{}, c.data...)))
		})
	}
	t.Run("text that is not UTF-8", func(t *testing.T) {
		t.Parallel()
		for _, data := range []string{"a1ff", "a2c328", "a3eda080", "a1c3", "a4f4908080", "a200ff", "91a2c0af", "81a1ff01"} {
			requireState(t, "22021", attempt(t.Context(), db, "select langgraph.msgpack_to_jsonb($1)", unhex(t, data)))
		}
	})
	t.Run("extensions that would be read again and again", func(t *testing.T) {
		t.Parallel()
		// Each says it is one byte long and opens a list of two: following them takes as many steps as there are Fibonacci numbers.
		requireRefused(t, refusal{code: "LG006", message: "MessagePack"},
			attempt(t.Context(), db, "select langgraph.msgpack_to_jsonb($1)", bytes.Repeat(unhex(t, "d40792"), 200)))
	})
}

func TestMsgpackToJSONBReadsThousandLevels(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	requireDecoded(t, db, []typedValue{
		{"lists", "msgpack", append(bytes.Repeat([]byte{0x91}, 1000), 1), strings.Repeat("[", 1000) + "1" + strings.Repeat("]", 1000)},
		{"lists as keys", "msgpack", unhex(t, "de4e20"+strings.Repeat("9101c0", 20000)), `{"[1]": null}`},
		{"keys of four levels", "msgpack", unhex(t, "81818181"+"8101c0"+"c0c0c0c0"), `{"{\"{\\\"{\\\\\\\"{\\\\\\\\\\\\\\\"1\\\\\\\\\\\\\\\":null}\\\\\\\":null}\\\":null}\":null}": null}`},
		{"maps", "msgpack", append(bytes.Repeat([]byte("\x81\xa1k"), 1000), 1), strings.Repeat(`{"k":`, 1000) + "1" + strings.Repeat("}", 1000)},
	})
}

func TestMsgpackToJSONBOfNullIsNull(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	require.True(t, value[bool](t, db, "select langgraph.msgpack_to_jsonb(null) is null"))
	require.True(t, value[bool](t, db, "select langgraph.utf8_without_nul(null) is null"))
	require.Equal(t, "a�b", value[string](t, db, `select langgraph.utf8_without_nul('\x610062')`))
	requireState(t, "22021", attempt(t.Context(), db, `select langgraph.utf8_without_nul('\x6100ff')`))
}

func TestValueToJSONBReadsEveryType(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	requireDecoded(t, db, []typedValue{
		{"msgpack", "msgpack", []byte("\x91\x01"), `[1]`},
		{"msgpack without bytes", "msgpack", nil, ""},
		{"null", "null", []byte{}, "null"},
		{"null without bytes", "null", nil, "null"},
		{"empty", "empty", nil, ""},
		{"json", "json", []byte(`{"b": [1, null, "x"], "a": 1.50}`), `{"b": [1, null, "x"], "a": 1.50}`},
		{"json null", "json", []byte(`null`), `null`},
		{"json without bytes", "json", nil, ""},
		{"bytes", "bytes", []byte{0, 255}, `{"lc_type": "builtins.bytes", "base64": "AP8="}`},
		{"long bytes in one line", "bytes", make([]byte, 300), `{"lc_type": "builtins.bytes", "base64": "` + strings.Repeat("A", 400) + `"}`},
		{"bytearray", "bytearray", []byte{}, `{"lc_type": "builtins.bytearray", "base64": ""}`},
		{"encrypted", "msgpack+aes", make([]byte, 40), `{"lc_type": "encrypted", "type": "msgpack", "cipher": "aes", "bytes": 40}`},
		{"encrypted otherwise", "json+fernet", []byte("x"), `{"lc_type": "encrypted", "type": "json", "cipher": "fernet", "bytes": 1}`},
		{"pickle", "pickle", []byte("\x80\x05."), `{"lc_type": "unreadable", "type": "pickle", "bytes": 3}`},
		{"a type of the future", "cbor", []byte("x"), `{"lc_type": "unreadable", "type": "cbor", "bytes": 1}`},
	})
	require.JSONEq(t, `{"lc_type": "unreadable", "type": null, "bytes": 1}`,
		value[string](t, db, `select langgraph.value_to_jsonb(null, '\x00')::text`), "writes without a type are allowed by the table")
}

func TestValueToJSONBReadsJSONThatJSONBWouldRefuse(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	var values []typedValue
	for _, c := range []struct{ name, text, want string }{
		{"escaped NUL", `"\u0000"`, `"�"`},
		{"escaped NUL twice", `"a\u0000\u0000b"`, `"a��b"`},
		{"escaped NUL in a key", `{"\u0000": 1}`, `{"�": 1}`},
		{"an escaped backslash before u0000", `"\\u0000"`, `"\\u0000"`},
		{"an escaped backslash before an escaped NUL", `"\\\u0000"`, `"\\�"`},
		{"two escaped backslashes before u0000", `"\\\\u0000"`, `"\\\\u0000"`},
		{"raw NUL", "\"a\x00b\"", `"a�b"`},
		{"u0001 stays", `"\u0001\u00e9"`, `"\u0001é"`},
		{"a surrogate pair", `"\ud83e\uddf5"`, `"🧵"`},
		{"a high surrogate alone", `"a\ud83eb"`, `"a�b"`},
		{"a high surrogate at the end", `"\uD83E"`, `"�"`},
		{"a low surrogate alone", `"a\uddf5b"`, `"a�b"`},
		{"a high surrogate before a pair", `"\ud83e\ud83e\uddf5"`, `"�🧵"`},
		{"a low surrogate after a pair", `"\ud83e\uddf5\uddf5"`, `"🧵�"`},
		{"surrogates in the wrong order", `"\uddf5\ud83e"`, `"��"`},
		{"an escaped backslash before ud83e", `"\\ud83e"`, `"\\ud83e"`},
		{"an escaped backslash before a low surrogate's text", `"\\ud83e\uddf5"`, `"\\ud83e�"`},
		{"a surrogate after an escaped backslash", `"\\\ud83e"`, `"\\�"`},
		{"surrogates in keys", `{"\ud83e": 1, "\uddf5\ud83e": 2}`, `{"�": 1, "��": 2}`},
		{"NaN", `[NaN, 1]`, `["NaN", 1]`},
		{"infinities", `{"a": Infinity, "b": [-Infinity]}`, `{"a": "Infinity", "b": ["-Infinity"]}`},
		{"NaN alone", `NaN`, `"NaN"`},
		{"NaN inside text", `["NaN", "a\"NaN", NaN, "-Infinity \\"]`, `["NaN", "a\"NaN", "NaN", "-Infinity \\"]`},
		{"negative numbers beside", `[-1, -Infinity, -2.5e-3]`, `[-1, "-Infinity", -2.5e-3]`},
	} {
		values = append(values, typedValue{c.name, "json", []byte(c.text), c.want})
	}
	requireDecoded(t, db, values)
	for _, damaged := range []string{``, `{`, `{"a" 1}`, `nan`, `[1,]`, `"\ud83"`, `NaNNaN`, `1 2`} {
		requireState(t, "22P02", attempt(t.Context(), db, "select langgraph.value_to_jsonb('json', $1)", []byte(damaged)))
	}
	requireState(t, "22021", attempt(t.Context(), db, "select langgraph.value_to_jsonb('json', $1)", []byte("\"\xff\"")))
	requireRefused(t, refusal{code: "LG006", message: "ends too early"},
		attempt(t.Context(), db, "select langgraph.value_to_jsonb('msgpack', $1)", []byte{0x91}))
}
