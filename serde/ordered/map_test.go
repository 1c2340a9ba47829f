package ordered_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/serde/ordered"
)

// numbered returns a map of n entries, key i to value i. Small and large maps
// are searched in different ways.
func numbered(n int) *ordered.Map {
	m := ordered.New()
	for i := range n {
		m.Set(int64(i), i)
	}
	return m
}

var sizes = []int{0, 1, 23, 24, 25, 1000}

func TestKeysKeepTheOrderOfInsertion(t *testing.T) {
	t.Parallel()
	m := ordered.New().Set("z", 1).Set("a", 2).Set("m", 3).Set("a", 4)
	require.Equal(t, []any{"z", "a", "m"}, m.Keys())
	value, ok := m.Get("a")
	require.True(t, ok)
	require.Equal(t, 4, value)
	require.Equal(t, 3, m.Len())
}

func TestEveryEntryIsFoundAtEverySize(t *testing.T) {
	t.Parallel()
	for _, n := range sizes {
		m := numbered(n)
		require.Equal(t, n, m.Len())
		for i := range n {
			value, ok := m.Get(i)
			require.True(t, ok)
			require.Equal(t, i, value)
		}
		_, ok := m.Get(n)
		require.False(t, ok)
		_, ok = m.Get("0")
		require.False(t, ok, "a string is not the number")
	}
}

func TestDeleteKeepsTheOthers(t *testing.T) {
	t.Parallel()
	for _, n := range sizes[2:] {
		m := numbered(n)
		require.True(t, m.Delete(1))
		require.False(t, m.Delete(1))
		require.Equal(t, n-1, m.Len())
		value, ok := m.Get(n - 1)
		require.True(t, ok)
		require.Equal(t, n-1, value)
		require.True(t, m.Set(int64(1), "again").Equal(m.Clone()))
		require.Equal(t, int64(1), m.Keys()[n-1], "a new key goes to the end")
	}
}

func TestTheLastOfARepeatedKeyCounts(t *testing.T) {
	t.Parallel()
	for _, n := range sizes[2:] {
		entries := append(numbered(n).Clone().Entries(), ordered.Entry{Key: int64(0), Value: "last"})
		m := ordered.FromEntries(entries)
		value, _ := m.Get(0)
		require.Equal(t, "last", value)
		require.Equal(t, n+1, m.Len())
		m.Set(0, "newest")
		require.Equal(t, "newest", m.Entries()[n].Value)
		require.True(t, m.Delete(0))
		_, ok := m.Get(0)
		require.False(t, ok)
		require.Equal(t, n-1, m.Len())
	}
}

func TestKeysOfEveryKindAreFound(t *testing.T) {
	t.Parallel()
	type named string
	keys := []any{
		"text", nil, true, false, int64(7), uint64(math.MaxUint64), 1.5, []byte("bytes"),
		[]byte{},
		[]any{},
		[]any{int64(1), "a", []any{nil}},
		[]any{"1", "a"},
		[2]int{1, 2},
		named("named"),
	}
	for _, filler := range []int{0, 30} {
		m := ordered.New()
		for i := range filler {
			m.Set(int64(1000+i), nil)
		}
		for i, key := range keys {
			m.Set(key, i)
		}
		require.Equal(t, filler+len(keys), m.Len())
		for i, key := range keys {
			value, ok := m.Get(key)
			require.True(t, ok, "%#v", key)
			require.Equal(t, i, value, "%#v", key)
		}
	}
}

func TestIntegersOfAllTypesAreTheSameKey(t *testing.T) {
	t.Parallel()
	type level int8
	m := ordered.New().Set(uint64(7), "seven")
	for _, key := range []any{7, int64(7), int8(7), uint(7), uint16(7), level(7)} {
		value, ok := m.Get(key)
		require.True(t, ok, "%T", key)
		require.Equal(t, "seven", value)
	}
	_, ok := m.Get(7.0)
	require.False(t, ok)
}

func TestAKeyThatCannotBeComparedIsNotFound(t *testing.T) {
	t.Parallel()
	for _, filler := range []int{0, 30} {
		m := numbered(filler).Set(map[string]int{}, 1).Set([]any{map[string]int{}}, 2)
		_, ok := m.Get(map[string]int{})
		require.False(t, ok)
		require.Equal(t, filler+2, m.Len())
	}
}

func TestANilMapCanBeRead(t *testing.T) {
	t.Parallel()
	var m *ordered.Map
	require.Zero(t, m.Len())
	require.Empty(t, m.Keys())
	require.Nil(t, m.Entries())
	_, ok := m.Get("x")
	require.False(t, ok)
	require.True(t, m.Equal(ordered.New()))
	require.Equal(t, ordered.New(), m.Clone())
	text, err := m.MarshalJSON()
	require.NoError(t, err)
	require.Equal(t, "null", string(text))
}

func TestLookupChecksTheTypeOfTheValue(t *testing.T) {
	t.Parallel()
	m := ordered.New().Set("n", int64(7))
	n, ok := ordered.Lookup[int64](m, "n")
	require.True(t, ok)
	require.Equal(t, int64(7), n)
	_, ok = ordered.Lookup[string](m, "n")
	require.False(t, ok)
	_, ok = ordered.Lookup[int64](m, "m")
	require.False(t, ok)
}

func TestSortedHasTheKeysInOrder(t *testing.T) {
	t.Parallel()
	require.Equal(t, []any{"a", "b", "c"}, ordered.Sorted(map[string]any{"c": 1, "a": 2, "b": 3}).Keys())
}

func TestACloneIsIndependent(t *testing.T) {
	t.Parallel()
	m := numbered(30)
	clone := m.Clone()
	clone.Set(0, "changed").Set("new", 1)
	value, _ := m.Get(0)
	require.Equal(t, 0, value)
	require.Equal(t, 30, m.Len())
}

func TestEqualMindsOrderAndValues(t *testing.T) {
	t.Parallel()
	m := ordered.New().Set("a", 1).Set("b", []any{1})
	require.True(t, m.Equal(ordered.New().Set("a", 1).Set("b", []any{1})))
	require.False(t, m.Equal(ordered.New().Set("b", []any{1}).Set("a", 1)))
	require.False(t, m.Equal(ordered.New().Set("a", 1).Set("b", []any{2})))
	require.False(t, m.Equal(ordered.New().Set("a", 1)))
	require.Empty(t, cmp.Diff(m, m.Clone()), "go-cmp uses Equal")
}

func TestEmptyMapsAreDeeplyEqualHoweverTheyWereMade(t *testing.T) {
	t.Parallel()
	emptied := ordered.New().Set("a", 1)
	emptied.Delete("a")
	require.Equal(t, ordered.New(), emptied)
	require.Equal(t, ordered.New(), ordered.FromEntries([]ordered.Entry{}))
}

func TestAllCanBeStopped(t *testing.T) {
	t.Parallel()
	seen := 0
	for range numbered(5).All() {
		seen++
		break
	}
	require.Equal(t, 1, seen)
}

func TestJSONKeepsTheOrder(t *testing.T) {
	t.Parallel()
	m := ordered.New().Set("z", 1).Set("a", ordered.New().Set("nested", []any{1.5, nil, "<&>"})).
		Set("nan", math.NaN()).Set("inf", []any{math.Inf(1), math.Inf(-1)}).Set("f", float32(0.5)).
		Set(int64(7), []byte("b")).Set(nil, true).Set(1.5, ordered.New()).Set([]any{"t", int64(1)}, []any{})
	text, err := json.Marshal(m)
	require.NoError(t, err)
	//nolint:testifylint // The order of the keys counts.
	require.Equal(t, `{"z":1,"a":{"nested":[1.5,null,"\u003c\u0026\u003e"]},"nan":"NaN","inf":["Infinity","-Infinity"],`+
		`"f":0.5,"7":"Yg==","null":true,"1.5":{},"[\"t\",1]":[]}`, string(text))
}

func TestAValueJSONCannotHoldIsAnError(t *testing.T) {
	t.Parallel()
	_, err := json.Marshal(ordered.New().Set("f", []any{func() {}}))
	require.ErrorContains(t, err, "unsupported type")
	require.Contains(t, ordered.KeyText(func() {}), "0x", "a key has some text in any case")
}
