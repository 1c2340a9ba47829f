package checkpointtest

import (
	"bytes"
	"iter"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/serde"
)

// comparers tell apart what == does not (0.0 and -0.0), and take NaN for equal to NaN.
var comparers = cmp.Options{
	cmp.Comparer(func(a, b float64) bool {
		return math.Float64bits(a) == math.Float64bits(b) || (math.IsNaN(a) && math.IsNaN(b))
	}),
	cmp.Comparer(bytes.Equal), // byte by byte is slow
	cmp.Comparer(func(a, b checkpoint.Version) bool { return a == b }),
}

// plain gives a value the one Go type that its stored form has, because a saver need not remember more: integers become
// int64 (uint64 above its range), floats float64, maps with text keys map[string]any and lists []any. A map may also come
// back as a type that keeps its order, with a method All that yields the entries. Text, bytes, integers and floats stay
// different from each other: to a Python client they are.
func plain(value any) any {
	switch v := value.(type) {
	case nil, bool, string:
		return value
	case []byte:
		return append([]byte{}, v...)
	case *checkpoint.Tuple:
		return plainTuple(*v)
	case []checkpoint.Write:
		return plainWrites(v)
	case checkpoint.DeltaHistory:
		v.Seed, v.Writes = plain(v.Seed), plainWrites(v.Writes)
		return v
	case serde.DeltaSnapshot:
		return serde.DeltaSnapshot{Value: plain(v.Value)}
	case interface{ All() iter.Seq2[any, any] }:
		return plainEntries(v.All())
	}
	return plainReflected(reflect.ValueOf(value))
}

func plainReflected(v reflect.Value) any {
	switch {
	case v.CanInt():
		return v.Int()
	case v.CanUint() && v.Uint() <= math.MaxInt64:
		return int64(v.Uint())
	case v.CanUint():
		return v.Uint()
	case v.CanFloat():
		return v.Float()
	case v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String:
		elements := make(map[string]any, v.Len())
		for key, element := range v.Seq2() {
			elements[key.String()] = plain(element.Interface())
		}
		return elements
	case v.Kind() == reflect.Slice:
		elements := make([]any, v.Len())
		for i := range elements {
			elements[i] = plain(v.Index(i).Interface())
		}
		return elements
	}
	return v.Interface()
}

// plainEntries keeps keys that are not text as they are, which makes the map different from any that a test expects.
func plainEntries(entries iter.Seq2[any, any]) any {
	texts, others := map[string]any{}, map[any]any{}
	for key, value := range entries {
		others[key] = plain(value)
		if text, ok := key.(string); ok {
			texts[text] = others[key]
		}
	}
	if len(texts) < len(others) {
		return others
	}
	return texts
}

func plainTuple(tuple checkpoint.Tuple) any {
	cp := *tuple.Checkpoint
	cp.ChannelValues = plain(cp.ChannelValues).(map[string]any)
	cp.Extra = plain(cp.Extra).(map[string]any)
	if len(cp.ChannelVersions) == 0 {
		cp.ChannelVersions = versions{}
	}
	if len(cp.VersionsSeen) == 0 {
		cp.VersionsSeen = map[string]versions{}
	}
	tuple.Checkpoint = &cp
	tuple.Metadata = plain(tuple.Metadata).(map[string]any)
	tuple.PendingWrites = plainWrites(tuple.PendingWrites)
	return tuple
}

func plainWrites(writes []checkpoint.Write) []checkpoint.Write {
	plained := make([]checkpoint.Write, len(writes))
	for i, w := range writes {
		w.Value = plain(w.Value)
		plained[i] = w
	}
	return plained
}

// survivors are values that have to come back as they were put. They are what LangGraph's serializer can hold, and what
// JSON, a text column or a float would each lose some of.
func survivors() map[string]any {
	return map[string]any{
		"nothing":                      nil,
		"true":                         true,
		"false":                        false,
		"zero":                         0,
		"a negative integer":           -1,
		"an integer above 2^53":        int64(1)<<53 + 1,
		"the largest integer":          int64(math.MaxInt64),
		"the smallest integer":         int64(math.MinInt64),
		"the largest unsigned integer": uint64(math.MaxUint64),
		"a whole float":                1.0,
		"a large whole float":          1e22,
		"a float of many digits":       0.1 + 0.2,
		"the largest float":            math.MaxFloat64,
		"the smallest float":           math.SmallestNonzeroFloat64,
		"negative zero":                math.Copysign(0, -1),
		"not a number":                 math.NaN(),
		"infinity":                     math.Inf(1),
		"negative infinity":            math.Inf(-1),
		"empty text":                   "",
		"text with NUL":                "\x00before\x00after\x00",
		"text in many scripts":         "Žluťoučký kůň, 線と糸, شبكة, 🧶👩‍🔬\u2028\ufeff",
		"text that looks escaped":      `\u0000 "quoted" \\ 'it''s' $1 %s {"a": 1}`,
		"text of lines":                "a\nb\r\nc\td",
		"text of one megabyte":         strings.Repeat("wefts & warps. ", 1<<20/15),
		"no bytes":                     []byte{},
		"bytes":                        []byte{0, 1, 0x7f, 0x80, 0xff},
		"bytes of one megabyte":        manyBytes(1 << 20),
		"an empty list":                []any{},
		"an empty map":                 map[string]any{},
		"a list of everything":         []any{nil, true, 1, 1.0, math.NaN(), "", "\x00", []byte{0}, []any{}, map[string]any{}},
		"a map of unusual keys":        map[string]any{"": 1, "\x00": 2, `"`: 3, "クモ": 4, "channel_values": 5, "lc": 1},
		"a map of maps":                map[string]any{"a": map[string]any{"b": []any{map[string]any{"c": 1.0}, 1}}},
		"maps sixty-four levels deep":  nested(64),
		"a list of three hundred":      countUpTo(300),
	}
}

func manyBytes(n int) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i * i >> 3)
	}
	return data
}

// nested is made of maps, because go-cmp takes time exponential in the depth of lists.
func nested(levels int) any {
	var value any = "core"
	for range levels {
		value = map[string]any{"in": value}
	}
	return value
}

func countUpTo(n int) []any {
	list := make([]any, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// identifiers are names that are awkward somewhere: in SQL, in LIKE patterns, in JSON, in an index.
func identifiers() map[string]string {
	return map[string]string{
		"quotes":             `it's "quoted" \ $1 -- ; /* */`,
		"pattern characters": "100%_of*them?",
		"separators":         "a|b:c.d/e",
		"spaces":             "  \t\n ",
		"many scripts":       "線と糸 Žluť 🧶",
		"1,000 characters":   strings.Repeat("0123456789", 100),
	}
}

// similarTo are other ids that could be taken for this one: by its beginning or end, as a pattern of LIKE or of a shell,
// or by a collation.
func similarTo(id string) []string {
	var similar []string
	for _, other := range []string{
		id + "x", "x" + id, strings.NewReplacer("%", "xx", "_", "x").Replace(id), strings.NewReplacer("*", "xx", "?", "x").Replace(id),
		strings.ToUpper(id), id + " ",
	} {
		if other != id && !slices.Contains(similar, other) {
			similar = append(similar, other)
		}
	}
	return similar
}

// unserializable is a value that no saver can keep.
func unserializable() any { return make(chan int) }
