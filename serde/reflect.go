package serde

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// isScalar reports whether values of a kind are written without looking inside.
func isScalar(kind reflect.Kind) bool {
	return kind >= reflect.Bool && kind <= reflect.Float64 && kind != reflect.Uintptr || kind == reflect.String
}

// reflected writes values of types only the caller's program knows.
func (e *encoder) reflected(v reflect.Value) error {
	switch kind := v.Kind(); {
	case kind == reflect.Bool:
		e.buf = appendBool(e.buf, v.Bool())
	case kind == reflect.String:
		return e.string(v.String())
	case v.CanInt():
		e.buf = appendInt(e.buf, v.Int())
	case v.CanUint() && kind != reflect.Uintptr:
		e.buf = appendUint(e.buf, v.Uint())
	case kind == reflect.Float32:
		e.buf = appendFloat32(e.buf, float32(v.Float()))
	case kind == reflect.Float64:
		e.buf = appendFloat64(e.buf, v.Float())
	case kind == reflect.Pointer:
		return e.pointer(v)
	case kind == reflect.Slice, kind == reflect.Array:
		return e.sequence(v)
	case kind == reflect.Map:
		return e.mapping(v)
	case kind == reflect.Struct:
		return e.structure(v)
	default:
		return fmt.Errorf("%v has no form in Python", v.Type())
	}
	return nil
}

// pointer writes what is pointed to. Pointers can form a circle without an array
// or map in it, so they count as a level.
func (e *encoder) pointer(v reflect.Value) error {
	if err := e.enter(); err != nil {
		return err
	}
	if err := e.value(v.Elem().Interface()); err != nil {
		return err
	}
	e.leave()
	return nil
}

func (e *encoder) sequence(v reflect.Value) error {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return e.binary(byteSequence(v))
	}
	if err := e.enter(); err != nil {
		return err
	}
	e.buf = appendArrayHeader(e.buf, v.Len())
	for i := range v.Len() {
		if err := e.value(v.Index(i).Interface()); err != nil {
			return atIndex(i, err)
		}
	}
	e.leave()
	return nil
}

func byteSequence(v reflect.Value) []byte {
	if v.Kind() == reflect.Slice {
		return v.Bytes()
	}
	data := make([]byte, v.Len())
	reflect.Copy(reflect.ValueOf(data), v)
	return data
}

// mapping writes a Go map, keys in the order of their bytes on the wire: for
// strings of one length class the alphabet, for small numbers their value, and
// in any case the same on every run.
func (e *encoder) mapping(v reflect.Value) error {
	if v.Type().Key().Kind() == reflect.String {
		return e.stringKeyed(v)
	}
	if err := e.enter(); err != nil {
		return err
	}
	type item struct {
		key   []byte
		value reflect.Value
	}
	items := make([]item, 0, v.Len())
	start := len(e.buf)
	for iter := v.MapRange(); iter.Next(); {
		key := iter.Key().Interface()
		if err := e.key(key); err != nil {
			return atKey(key, err)
		}
		items = append(items, item{bytes.Clone(e.buf[start:]), iter.Value()})
		e.buf = e.buf[:start]
	}
	slices.SortFunc(items, func(a, b item) int { return bytes.Compare(a.key, b.key) })
	e.buf = appendMapHeader(e.buf, len(items))
	for _, item := range items {
		e.buf = append(e.buf, item.key...)
		if err := e.value(item.value.Interface()); err != nil {
			return err
		}
	}
	e.leave()
	return nil
}

// stringKeyed writes maps such as map[string]int with sorted keys.
func (e *encoder) stringKeyed(v reflect.Value) error {
	m := make(map[string]any, v.Len())
	for iter := v.MapRange(); iter.Next(); {
		m[iter.Key().String()] = iter.Value().Interface()
	}
	return e.goMap(m)
}

// field is one field of a struct as it is written.
type field struct {
	name      string
	index     []int
	omitEmpty bool
}

// fieldsOf caches the fields of struct types, by reflect.Type.
var fieldsOf sync.Map

// structure writes a struct as a dict of its exported fields.
func (e *encoder) structure(v reflect.Value) error {
	fields, err := structFields(v.Type())
	if err != nil {
		return err
	}
	if err := e.enter(); err != nil {
		return err
	}
	present := make([]field, 0, len(fields))
	values := make([]reflect.Value, 0, len(fields))
	for _, f := range fields {
		value, err := v.FieldByIndexErr(f.index)
		if err != nil || f.omitEmpty && isEmpty(value) {
			continue
		}
		present, values = append(present, f), append(values, value)
	}
	e.buf = appendMapHeader(e.buf, len(present))
	for i, f := range present {
		if err := e.string(f.name); err != nil {
			return at("."+f.name, err)
		}
		if err := e.value(values[i].Interface()); err != nil {
			return at("."+f.name, err)
		}
	}
	e.leave()
	return nil
}

func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.Array, reflect.String:
		return v.Len() == 0
	default:
		return v.IsZero()
	}
}

func structFields(t reflect.Type) ([]field, error) {
	if cached, ok := fieldsOf.Load(t); ok {
		return cached.([]field), nil
	}
	var fields []field
	var left [][]int
	for _, f := range reflect.VisibleFields(t) {
		if slices.ContainsFunc(left, func(prefix []int) bool { return hasPrefix(f.Index, prefix) }) {
			continue
		}
		if f.Tag.Get("msgpack") == "-" {
			left = append(left, f.Index)
			continue
		}
		if named, ok := fieldOf(f); ok {
			fields = append(fields, named)
			// What is inside an embedded struct written as a field stays inside.
			left = append(left, f.Index)
		}
	}
	if len(fields) == 0 && t.NumField() > 0 {
		// An opaque type such as netip.Addr or sync.Mutex: an empty dict would lose
		// the value in silence.
		return nil, fmt.Errorf("%v has no exported fields: register it with serde.Register or convert it", t)
	}
	fieldsOf.Store(t, fields)
	return fields, nil
}

// fieldOf reads the msgpack tag: a name, "-" to leave the field out, omitempty.
// Fields of embedded structs are written as if they were the struct's own.
func fieldOf(f reflect.StructField) (field, bool) {
	tag, tagged := f.Tag.Lookup("msgpack")
	if !f.IsExported() || f.Anonymous && !tagged && isPlainStruct(f.Type) {
		return field{}, false
	}
	name, options, _ := strings.Cut(tag, ",")
	if name == "" {
		name = f.Name
	}
	return field{name: name, index: f.Index, omitEmpty: strings.Contains(options, "omitempty")}, true
}

// isPlainStruct reports whether a type is a struct, or points to one, that has no
// form of its own.
func isPlainStruct(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct && !isBuiltinType(t)
}

func hasPrefix(index, prefix []int) bool {
	return len(index) > len(prefix) && slices.Equal(index[:len(prefix)], prefix)
}
