// Package ordered has the map that Python dictionaries decode to: it keeps the
// order in which keys were inserted and takes keys that are not strings. Go's
// own map does neither, and without the order a value read from a database
// could not be written back as the same bytes.
package ordered

import (
	"fmt"
	"iter"
	"math"
	"reflect"
	"slices"
	"sort"
	"strings"
)

// indexFrom is the number of entries from which a Map keeps an index; below it
// a scan is faster than hashing.
const indexFrom = 24

// Entry is one key with its value.
type Entry struct {
	Key   any
	Value any
}

// Map is an insertion-ordered map. The zero value is empty and ready to use; a
// nil *Map can be read. It is safe for concurrent reads, not for writes.
//
// Keys are what a Python dictionary on the wire can have: string, bool, nil,
// integers, floats, []byte and []any of those (a tuple). Integers of all Go
// widths name the same key. A payload may repeat a key (Python writes one for
// {1: ..., SomeEnum.ONE: ...}); then every entry is kept for writing back, and
// Get returns the last, as Python does.
type Map struct {
	entries []Entry
	index   map[any]int
}

// New returns an empty map. Set can be chained: New().Set("a", 1).Set("b", 2).
func New() *Map { return &Map{} }

// FromEntries returns a map of these entries, in this order. It takes the
// slice over: the caller must not use it afterwards.
func FromEntries(entries []Entry) *Map {
	m := &Map{entries: entries}
	m.reindex()
	return m
}

// Sorted returns the entries of a Go map in the order of their keys.
func Sorted(from map[string]any) *Map {
	entries := make([]Entry, 0, len(from))
	for key, value := range from {
		entries = append(entries, Entry{Key: key, Value: value})
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].Key.(string) < entries[j].Key.(string) })
	return FromEntries(entries)
}

// Len is the number of entries.
func (m *Map) Len() int {
	if m == nil {
		return 0
	}
	return len(m.entries)
}

// Get returns the value of a key, and whether the key is there.
func (m *Map) Get(key any) (any, bool) {
	if i := m.find(key); i >= 0 {
		return m.entries[i].Value, true
	}
	return nil, false
}

// Lookup returns the value of a key as a T. It reports false where the key is
// absent or its value is of another type.
func Lookup[T any](m *Map, key any) (T, bool) {
	value, _ := m.Get(key)
	typed, ok := value.(T)
	return typed, ok
}

// Set gives a key a value and returns the map. A new key goes to the end, a
// known one keeps its place.
func (m *Map) Set(key, value any) *Map {
	if i := m.find(key); i >= 0 {
		m.entries[i].Value = value
		return m
	}
	m.entries = append(m.entries, Entry{Key: key, Value: value})
	switch {
	case m.index != nil:
		if id, ok := identity(key); ok {
			m.index[id] = len(m.entries) - 1
		}
	case len(m.entries) >= indexFrom:
		m.reindex()
	}
	return m
}

// Delete removes a key and reports whether it was there.
func (m *Map) Delete(key any) bool {
	found := false
	for i := m.find(key); i >= 0; i = m.find(key) {
		m.entries = slices.Delete(m.entries, i, i+1)
		m.reindex()
		found = true
	}
	return found
}

// All yields the entries in order.
func (m *Map) All() iter.Seq2[any, any] {
	return func(yield func(any, any) bool) {
		if m == nil {
			return
		}
		for _, entry := range m.entries {
			if !yield(entry.Key, entry.Value) {
				return
			}
		}
	}
}

// Keys returns the keys in order.
func (m *Map) Keys() []any {
	keys := make([]any, 0, m.Len())
	for key := range m.All() {
		keys = append(keys, key)
	}
	return keys
}

// Entries returns the entries in order. The slice is the map's own: read only.
func (m *Map) Entries() []Entry {
	if m == nil {
		return nil
	}
	return m.entries
}

// Clone returns a copy that can be changed without changing m. Values are
// shared.
func (m *Map) Clone() *Map {
	return FromEntries(slices.Clone(m.Entries()))
}

// Equal reports whether two maps hold deeply equal entries in the same order.
func (m *Map) Equal(other *Map) bool {
	if m.Len() != other.Len() {
		return false
	}
	for i, entry := range m.Entries() {
		if !reflect.DeepEqual(entry, other.entries[i]) {
			return false
		}
	}
	return true
}

func (m *Map) find(key any) int {
	if m == nil {
		return -1
	}
	if m.index != nil {
		if id, ok := identity(key); ok {
			if i, found := m.index[id]; found {
				return i
			}
		}
		return -1
	}
	if name, ok := key.(string); ok {
		return m.findString(name)
	}
	id, ok := identity(key)
	if !ok {
		return -1
	}
	for i := len(m.entries) - 1; i >= 0; i-- {
		if other, comparable := identity(m.entries[i].Key); comparable && other == id {
			return i
		}
	}
	return -1
}

func (m *Map) findString(name string) int {
	for i := len(m.entries) - 1; i >= 0; i-- {
		if key, ok := m.entries[i].Key.(string); ok && key == name {
			return i
		}
	}
	return -1
}

// reindex follows a change of the entries. Maps of equal entries are left deeply
// equal: empty ones have nil entries, and only long ones an index.
func (m *Map) reindex() {
	if len(m.entries) == 0 {
		m.entries = nil
	}
	if len(m.entries) < indexFrom {
		m.index = nil
		return
	}
	m.index = make(map[any]int, len(m.entries))
	for i, entry := range m.entries {
		if id, ok := identity(entry.Key); ok {
			m.index[id] = i
		}
	}
}

// Keys that Go cannot compare are compared by their text; the types keep them
// apart from string keys.
type (
	bytesIdentity string
	tupleIdentity string
)

// identity returns what stands for a key when keys are compared.
func identity(key any) (any, bool) {
	switch k := key.(type) {
	case nil, string, bool, int64, float64:
		return k, true
	case int:
		return int64(k), true
	case uint64:
		if k <= math.MaxInt64 {
			return int64(k), true
		}
		return k, true
	case []byte:
		return bytesIdentity(k), true
	case []any:
		return tupleOf(k)
	}
	v := reflect.ValueOf(key)
	switch {
	case v.CanInt():
		return v.Int(), true
	case v.CanUint():
		return identity(v.Uint())
	case v.CanFloat():
		return v.Float(), true
	}
	return key, v.Comparable()
}

func tupleOf(items []any) (any, bool) {
	var text strings.Builder
	for _, item := range items {
		id, ok := identity(item)
		if !ok {
			return nil, false
		}
		fmt.Fprintf(&text, "%T(%#v),", id, id)
	}
	return tupleIdentity(text.String()), true
}
