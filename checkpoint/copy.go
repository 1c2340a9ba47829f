package checkpoint

import (
	"fmt"
	"math/big"
	"reflect"

	"github.com/pgweft/pgweft/serde/messages"
	"github.com/pgweft/pgweft/serde/ordered"
)

// maxCopyDepth bounds what copyValue follows, so that a value that contains itself gives an error.
const maxCopyDepth = 4096

// copyValue copies a value with all it contains, so that changes of the one do not show in the other. Types stay. Messages
// are shared, as nothing changes them, and so is what types keep in fields that are not exported.
func copyValue(value any) (any, error) {
	copied, err := copyReflected(reflect.ValueOf(value), 0)
	if err != nil || !copied.IsValid() {
		return nil, err
	}
	return copied.Interface(), nil
}

func copyReflected(v reflect.Value, depth int) (reflect.Value, error) {
	if depth > maxCopyDepth {
		return v, fmt.Errorf("%w: the value is more than %d levels deep, or contains itself", ErrInvalidArgument, maxCopyDepth)
	}
	if isNil(v) {
		return v, nil
	}
	switch v.Kind() {
	case reflect.Interface:
		return copyReflected(v.Elem(), depth)
	case reflect.Pointer:
		return copyPointer(v, depth)
	case reflect.Map:
		return copyMap(v, depth)
	case reflect.Slice, reflect.Array:
		return copyElements(v, depth)
	case reflect.Struct:
		return copyStruct(v, depth)
	case reflect.Chan, reflect.Func, reflect.UnsafePointer:
		return v, fmt.Errorf("%w: a %v cannot be saved", ErrInvalidArgument, v.Type())
	default:
		return v, nil
	}
}

func isNil(v reflect.Value) bool {
	kind := v.Kind()
	return (kind == reflect.Interface || kind == reflect.Pointer || kind == reflect.Map || kind == reflect.Slice) && v.IsNil()
}

func copyPointer(v reflect.Value, depth int) (reflect.Value, error) {
	switch pointer := v.Interface().(type) {
	case messages.Message:
		return v, nil
	case *big.Int:
		return reflect.ValueOf(new(big.Int).Set(pointer)), nil
	case *ordered.Map:
		copied := pointer.Clone()
		entries := copied.Entries()
		for i := range entries {
			element, err := copyReflected(reflect.ValueOf(entries[i].Value), depth+1)
			if err != nil {
				return v, err
			}
			if element.IsValid() {
				entries[i].Value = element.Interface()
			}
		}
		return reflect.ValueOf(copied), nil
	}
	element, err := copyReflected(v.Elem(), depth+1)
	if err != nil {
		return v, err
	}
	copied := reflect.New(v.Type().Elem())
	copied.Elem().Set(element)
	return copied.Convert(v.Type()), nil
}

func copyMap(v reflect.Value, depth int) (reflect.Value, error) {
	copied := reflect.MakeMapWithSize(v.Type(), v.Len())
	for key, element := range v.Seq2() {
		element, err := copyReflected(element, depth+1)
		if err != nil {
			return v, err
		}
		if !element.IsValid() {
			element = reflect.Zero(v.Type().Elem())
		}
		copied.SetMapIndex(key, element)
	}
	return copied, nil
}

func copyElements(v reflect.Value, depth int) (reflect.Value, error) {
	copied := reflect.New(v.Type()).Elem()
	if v.Kind() == reflect.Slice {
		copied.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
	}
	reflect.Copy(copied, v)
	if kind := v.Type().Elem().Kind(); kind <= reflect.Complex128 || kind == reflect.String {
		return copied, nil
	}
	for i := range v.Len() {
		element, err := copyReflected(v.Index(i), depth+1)
		if err != nil {
			return v, err
		}
		if element.IsValid() {
			copied.Index(i).Set(element)
		}
	}
	return copied, nil
}

func copyStruct(v reflect.Value, depth int) (reflect.Value, error) {
	copied := reflect.New(v.Type()).Elem()
	copied.Set(v)
	for i := range v.NumField() {
		if !v.Type().Field(i).IsExported() {
			continue
		}
		field, err := copyReflected(v.Field(i), depth+1)
		if err != nil {
			return v, err
		}
		if field.IsValid() {
			copied.Field(i).Set(field)
		}
	}
	return copied, nil
}

func copyMetadata(metadata Metadata) (Metadata, error) {
	copied, err := copyValue(metadata)
	if err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	return copied.(Metadata), nil
}

func copyCheckpoint(cp *Checkpoint) (*Checkpoint, error) {
	copied, err := copyValue(*cp)
	if err != nil {
		return nil, fmt.Errorf("checkpoint %s: %w", cp.ID, err)
	}
	own := copied.(Checkpoint)
	return &own, nil
}

func copyWrites(writes []Write) ([]Write, error) {
	copied, err := copyValue(writes)
	if err != nil {
		return nil, fmt.Errorf("writes: %w", err)
	}
	return copied.([]Write), nil
}
