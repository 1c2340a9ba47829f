package serde_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"net/netip"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/serde"
	"github.com/pgweft/pgweft/serde/messages"
	"github.com/pgweft/pgweft/serde/ordered"
)

func dump(t *testing.T, value any) serde.Typed {
	t.Helper()
	typed, err := serde.Default().Dump(value)
	require.NoError(t, err)
	return typed
}

// through returns what a value is after it was written and read.
func through(t *testing.T, value any) any {
	t.Helper()
	again, err := serde.Default().Load(dump(t, value))
	require.NoError(t, err)
	return again
}

func TestTheTypeSaysWhatTheBytesAre(t *testing.T) {
	t.Parallel()
	type blob []byte
	for name, c := range map[string]struct {
		value any
		want  serde.Typed
	}{
		"nil":                   {nil, serde.Typed{Type: "null", Data: []byte{}}},
		"a nil pointer":         {(*int)(nil), serde.Typed{Type: "null", Data: []byte{}}},
		"a nil map pointer":     {(*ordered.Map)(nil), serde.Typed{Type: "null", Data: []byte{}}},
		"a nil object":          {(*serde.Object)(nil), serde.Typed{Type: "null", Data: []byte{}}},
		"a nil message":         {(*messages.HumanMessage)(nil), serde.Typed{Type: "null", Data: []byte{}}},
		"bytes":                 {[]byte{1, 2}, serde.Typed{Type: "bytes", Data: []byte{1, 2}}},
		"nil bytes":             {[]byte(nil), serde.Typed{Type: "bytes", Data: []byte{}}},
		"a type made of bytes":  {blob{1, 2}, serde.Typed{Type: "bytes", Data: []byte{1, 2}}},
		"an array of bytes":     {[2]byte{1, 2}, serde.Typed{Type: "bytes", Data: []byte{1, 2}}},
		"a long type of bytes":  {blob(make([]byte, 300)), serde.Typed{Type: "bytes", Data: make([]byte, 300)}},
		"a bytearray":           {serde.ByteArray{1, 2}, serde.Typed{Type: "bytearray", Data: []byte{1, 2}}},
		"anything else":         {"a", serde.Typed{Type: "msgpack", Data: []byte{0xa1, 'a'}}},
		"bytes in a list":       {[]any{[]byte{7}}, serde.Typed{Type: "msgpack", Data: []byte{0x91, 0xc4, 1, 7}}},
		"a bytearray in a list": {[]any{serde.ByteArray{7}}, serde.Typed{Type: "msgpack", Data: []byte{0x91, 0xc4, 1, 7}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, dump(t, c.value))
		})
	}
}

func TestTypesWithoutBytesLoadAsNil(t *testing.T) {
	t.Parallel()
	for _, name := range []string{serde.TypeNull, serde.TypeEmpty} {
		value, err := serde.Default().Load(serde.Typed{Type: name})
		require.NoError(t, err)
		require.Nil(t, value)
	}
}

func TestBytesThatAreNilLoadAsEmpty(t *testing.T) {
	t.Parallel()
	value, err := serde.Default().Load(serde.Typed{Type: serde.TypeBytes})
	require.NoError(t, err)
	require.Equal(t, []byte{}, value)
	value, err = serde.Default().Load(serde.Typed{Type: serde.TypeByteArray})
	require.NoError(t, err)
	require.Equal(t, serde.ByteArray{}, value)
}

func TestTypesThatAreNotReadSayWhatToDo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		want error
		text string
	}{
		"pickle":      {serde.ErrPickled, "serde.Raw"},
		"yaml":        {serde.ErrUnknownType, `"yaml"`},
		"":            {serde.ErrUnknownType, `""`},
		"msgpack+aes": {serde.ErrUnknownType, "serde.Encrypted"},
	} {
		_, err := serde.Default().Load(serde.Typed{Type: name, Data: []byte{1}})
		require.ErrorIs(t, err, c.want)
		require.ErrorContains(t, err, c.text)
	}
}

func TestRawPassesTypedValuesThrough(t *testing.T) {
	t.Parallel()
	pickled := serde.Typed{Type: serde.TypePickle, Data: []byte{0x80, 4}}
	value, err := serde.Raw.Load(pickled)
	require.NoError(t, err)
	require.Equal(t, pickled, value)
	typed, err := serde.Raw.Dump(value)
	require.NoError(t, err)
	require.Equal(t, pickled, typed)
}

func TestRawTakesNothingButTyped(t *testing.T) {
	t.Parallel()
	_, err := serde.Raw.Dump("x")
	require.ErrorIs(t, err, serde.ErrUnsupported)
	require.ErrorContains(t, err, "not string")
	_, err = serde.Default().Dump(serde.Typed{})
	require.ErrorIs(t, err, serde.ErrUnsupported)
	require.ErrorContains(t, err, "serde.Raw")
}

type base struct {
	ID string `msgpack:"id"`
}

type thread struct {
	base
	*Extra
	Name    string         `msgpack:"name"`
	Colors  []string       `msgpack:"colors,omitempty"`
	Counts  map[string]int `msgpack:"counts,omitempty"`
	Skipped string         `msgpack:"-"`
	Plain   *float64
	hidden  int
}

// Extra is exported because only exported embedded pointers are looked into.
type Extra struct{ Note string }

type event struct {
	time.Time
	Kind string
}

type level int

type label string

func TestGoValuesAreWrittenAsThePlainValuesTheyStandFor(t *testing.T) {
	t.Parallel()
	half := 0.5
	for name, c := range map[string]struct{ value, want any }{
		"every integer type": {
			[]any{int8(-1), int16(-300), int32(7), uint8(255), uint16(65535), uint32(1), uint(9), level(3)},
			[]any{int64(-1), int64(-300), int64(7), int64(255), int64(65535), int64(1), int64(9), int64(3)},
		},
		"named strings":       {label("warp"), "warp"},
		"strings":             {[]string{"a", "b"}, []any{"a", "b"}},
		"no strings":          {[]string(nil), []any{}},
		"numbers":             {[]int{1, 2}, []any{int64(1), int64(2)}},
		"an array":            {[2]bool{true, false}, []any{true, false}},
		"a Go map":            {map[string]any{"b": 1, "a": nil}, ordered.New().Set("a", nil).Set("b", int64(1))},
		"a nil Go map":        {map[string]any(nil), ordered.FromEntries([]ordered.Entry{})},
		"a typed map":         {map[label]int{"b": 1, "a": 2}, ordered.New().Set("a", int64(2)).Set("b", int64(1))},
		"a map of numbers":    {map[int]string{300: "c", 1: "a", 20: "b"}, ordered.New().Set(int64(1), "a").Set(int64(20), "b").Set(int64(300), "c")},
		"a big integer":       {big.NewInt(7), int64(7)},
		"the largest integer": {new(big.Int).SetUint64(math.MaxUint64), uint64(math.MaxUint64)},
		"JSON numbers":        {[]any{json.Number("12"), json.Number("1.5")}, []any{int64(12), 1.5}},
		"an error":            {errors.New("no thread"), "no thread"},
		"a pointer":           {&half, 0.5},
		"Object by value":     {serde.Object{Module: "m", Name: "n"}, nil},
		"a struct": {
			thread{base: base{"1"}, Name: "weft", Skipped: "x", hidden: 1},
			ordered.New().Set("id", "1").Set("name", "weft").Set("Plain", nil),
		},
		"a full struct": {
			thread{base{"1"}, &Extra{"n"}, "weft", []string{"red"}, map[string]int{"a": 1}, "x", &half, 0},
			ordered.New().Set("id", "1").Set("Note", "n").Set("name", "weft").Set("colors", []any{"red"}).
				Set("counts", ordered.New().Set("a", int64(1))).Set("Plain", 0.5),
		},
		"an embedded time": {
			event{time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), "k"},
			ordered.New().Set("Time", time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)).Set("Kind", "k"),
		},
		"messages": {[]messages.Message{messages.Human("a")}, []any{messages.Human("a")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "Object by value" {
				_, err := serde.Default().Dump(c.value)
				require.ErrorContains(t, err, "serde.Object m.n of kind 0 has 0 Args")
				return
			}
			require.Equal(t, c.want, through(t, c.value))
		})
	}
}

func TestTimesBelowAMicrosecondAreCutOff(t *testing.T) {
	t.Parallel()
	moment := time.Date(2025, 3, 9, 1, 2, 3, 4999, time.UTC)
	require.Equal(t, moment.Truncate(time.Microsecond), through(t, moment))
	require.Equal(t, serde.NaiveTime{Time: moment.Truncate(time.Microsecond)}, through(t, serde.NaiveTime{Time: moment}))
	require.Equal(t, 4*time.Microsecond, through(t, 4999*time.Nanosecond))
	require.Equal(t, -4*time.Microsecond, through(t, -4999*time.Nanosecond))
}

func TestValuesPythonCouldNotReadAreRefusedWithTheirPlace(t *testing.T) {
	t.Parallel()
	circle := []any{nil}
	circle[0] = circle
	type node struct{ Next *node }
	ring := &node{}
	ring.Next = ring
	huge := new(big.Int).Lsh(big.NewInt(1), 64)
	for name, c := range map[string]struct {
		value any
		text  string
	}{
		"a string that is not UTF-8":   {[]any{"ok", "\xff"}, "at [1]: the string is not UTF-8"},
		"a key that is not UTF-8":      {map[string]any{"\xff": 1}, "the string is not UTF-8"},
		"an integer of 65 bits":        {map[string]any{"n": []any{huge}}, "at .n[0]: the integer exceeds 64 bits"},
		"a JSON number of 65 bits":     {json.Number("18446744073709551616"), "exceeds 64 bits"},
		"a JSON number that is none":   {json.Number("x"), `json.Number "x"`},
		"a function":                   {func() {}, "func() has no form in Python"},
		"a channel in a struct":        {struct{ C chan int }{make(chan int)}, "at .C: chan int has no form"},
		"a complex number":             {1i, "complex128 has no form"},
		"an opaque struct":             {netip.MustParseAddr("::1"), "netip.Addr has no exported fields"},
		"a list that contains itself":  {circle, "or it contains itself"},
		"a ring of pointers":           {ring, "or it contains itself"},
		"a map as key":                 {ordered.New().Set(ordered.New(), 1), "cannot be a map key"},
		"a struct as key":              {map[event]int{{}: 1}, "cannot be a map key"},
		"the year 10000":               {time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), "the year 10000"},
		"the year 0":                   {serde.NaiveTime{Time: time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)}, "the year 0"},
		"a zone of a day":              {time.Now().In(time.FixedZone("", 86400)), "less than a day"},
		"a date of February":           {serde.Date{Year: 2025, Month: 2, Day: 29}, "2025-02-29 is not a date"},
		"a decimal that is no number":  {serde.Decimal("1,5"), `serde.Decimal "1,5"`},
		"an object of an unknown kind": {&serde.Object{Kind: 6, Args: []any{1}}, "unknown kind 6"},
		"an object with both":          {&serde.Object{Kind: serde.KindArgs, Args: []any{1}, Kwargs: ordered.New()}, "see its documentation"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := serde.Default().Dump(c.value)
			require.ErrorIs(t, err, serde.ErrUnsupported)
			require.ErrorContains(t, err, c.text)
		})
	}
}

func TestOneMoreLevelThanPythonReadsIsRefused(t *testing.T) {
	t.Parallel()
	nested := func(n int) any {
		var value any = int64(1)
		for range n {
			value = []any{value}
		}
		return value
	}
	require.Equal(t, nested(1022), through(t, nested(1022)))
	_, err := serde.Default().Dump(nested(1023))
	require.ErrorIs(t, err, serde.ErrUnsupported)
}

func TestADumpSharesNoMemoryWithTheValue(t *testing.T) {
	t.Parallel()
	data := []byte{1}
	typed := dump(t, data)
	data[0] = 2
	require.Equal(t, []byte{1}, typed.Data)
}

func TestALoadedValueSharesNoMemoryWithTheBytes(t *testing.T) {
	t.Parallel()
	typed := dump(t, []any{"text", []byte("bytes")})
	value, err := serde.Default().Load(typed)
	require.NoError(t, err)
	clear(typed.Data)
	require.Equal(t, []any{"text", []byte("bytes")}, value)
}

func TestAFloat32StaysOne(t *testing.T) {
	t.Parallel()
	require.Equal(t, []any{float32(1.5)}, through(t, []any{float32(1.5)}))
	require.Equal(t, []any{float32(0.1)}, through(t, []float32{0.1}))
}

func TestNaNIsPythonsNaN(t *testing.T) {
	t.Parallel()
	require.Equal(t, []byte{0xcb, 0x7f, 0xf8, 0, 0, 0, 0, 0, 0}, dump(t, math.NaN()).Data)
}

func TestSerializersAreSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	value := conversation(3, 200)
	want := dump(t, value)
	for range 8 {
		t.Run("together", func(t *testing.T) {
			t.Parallel()
			for range 50 {
				require.Equal(t, want, dump(t, value))
				require.Equal(t, value, through(t, value))
			}
		})
	}
}

func TestUUIDsAndTimesAsKeysAreTheirText(t *testing.T) {
	t.Parallel()
	id := uuid.MustParse("6f1c2a34-9a0b-4cde-8f00-0123456789ab")
	m := ordered.New().Set(id, 1).Set(serde.Date{Year: 2025, Month: 3, Day: 9}, 2).
		Set(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), 3).Set(serde.NaiveTime{}, 4).Set(level(5), 5)
	require.Equal(t, []any{
		"6f1c2a34-9a0b-4cde-8f00-0123456789ab", "2025-03-09", "2025-01-01T00:00:00+00:00", "0001-01-01T00:00:00", int64(5),
	}, through(t, m).(*ordered.Map).Keys())
}
