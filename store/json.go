package store

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/big"
	"reflect"
	"strconv"
	"strings"
)

// maxNesting is how deep a value may be nested. Postgres itself gives up not far above.
const maxNesting = 1000

// EncodeValue writes a value as the JSON that stores keep. It may be made of whatever encoding/json can write. Floats keep a
// fraction, so that they come back as floats: 1.0 is written 1.0. NaN, infinities, NUL characters, broken UTF-8 and nesting
// deeper than 1,000 levels are ErrInvalidArgument, because jsonb cannot keep them.
func EncodeValue(value map[string]any) ([]byte, error) {
	plain, err := plainObject(value)
	if err != nil {
		return nil, err
	}
	return marshal(plain)
}

// EncodeFilter writes a [SearchOp.Filter] as JSON, by the rules of [EncodeValue]. A nil filter is nil.
func EncodeFilter(filter map[string]any) ([]byte, error) {
	if filter == nil {
		return nil, nil
	}
	encoded, err := EncodeValue(filter)
	if err != nil {
		return nil, fmt.Errorf("filter: %w", err)
	}
	return encoded, nil
}

// DecodeValue reads a value that [EncodeValue] or another client wrote: objects become map[string]any, arrays []any; numbers
// without a fraction int64, uint64 or *big.Int, the first that fits; others float64, or [json.Number] where a float64 cannot
// hold them.
func DecodeValue(data []byte) (map[string]any, error) {
	value, err := unmarshal(data)
	if err != nil {
		return nil, fmt.Errorf("store: value: %w", err)
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("store: value: %.40q is no JSON object", data)
	}
	return numbered(object).(map[string]any), nil
}

func marshal(value any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, invalid("%v", err)
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n")), nil
}

// unmarshal keeps numbers as they are written.
func unmarshal(data []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("more than one JSON value")
	}
	return value, nil
}

// numbered replaces numbers as they are written by Go's.
func numbered(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, element := range v {
			v[key] = numbered(element)
		}
	case []any:
		for i, element := range v {
			v[i] = numbered(element)
		}
	case json.Number:
		return goNumber(v)
	}
	return value
}

func goNumber(n json.Number) any {
	text := n.String()
	if isFloat(text) {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return n
		}
		return f
	}
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i
	}
	if u, err := strconv.ParseUint(text, 10, 64); err == nil {
		return u
	}
	i, _ := new(big.Int).SetString(text, 10)
	return i
}

// isFloat tells JSON's two kinds of numbers apart as Python does.
func isFloat(number string) bool { return strings.ContainsAny(number, ".eE") }

// plainObject copies a value into the few types that JSON has: nil, bool, string, json.Number, []any and map[string]any.
func plainObject(value map[string]any) (map[string]any, error) {
	if value == nil {
		return map[string]any{}, nil
	}
	plained, err := plain(value, maxNesting)
	if err != nil {
		return nil, fmt.Errorf("value: %w", err)
	}
	return plained.(map[string]any), nil
}

func plain(value any, levels int) (any, error) {
	if levels == 0 {
		return nil, invalid("it is nested deeper than %d levels", maxNesting)
	}
	switch v := value.(type) {
	case nil, bool:
		return v, nil
	case string:
		return v, validateText("text", v)
	case float64:
		return jsonFloat(v, 64)
	case float32:
		return jsonFloat(float64(v), 32)
	case json.Number:
		return plainNumber(v)
	case map[string]any:
		return plainMap(reflect.ValueOf(v), levels)
	case []any:
		return plainList(reflect.ValueOf(v), levels)
	}
	return plainReflected(reflect.ValueOf(value), value, levels)
}

// plainReflected is for Go's other types. What encodes itself, structs, pointers and bytes are as encoding/json writes them.
func plainReflected(v reflect.Value, value any, levels int) (any, error) {
	switch value.(type) {
	case []byte, json.Marshaler, encoding.TextMarshaler:
		return plainEncoded(value, levels)
	}
	switch {
	case v.CanInt():
		return json.Number(strconv.FormatInt(v.Int(), 10)), nil
	case v.CanUint():
		return json.Number(strconv.FormatUint(v.Uint(), 10)), nil
	case v.CanFloat():
		return jsonFloat(v.Float(), v.Type().Bits())
	case v.Kind() == reflect.String:
		return plain(v.String(), levels)
	case v.Kind() == reflect.Slice && !v.IsNil() && v.Type().Elem().Kind() != reflect.Uint8, v.Kind() == reflect.Array:
		return plainList(v, levels)
	case v.Kind() == reflect.Map && !v.IsNil() && v.Type().Key() == reflect.TypeFor[string]():
		return plainMap(v, levels)
	}
	return plainEncoded(value, levels)
}

func plainMap(v reflect.Value, levels int) (any, error) {
	if v.IsNil() {
		return nil, nil
	}
	elements := make(map[string]any, v.Len())
	for key, element := range v.Seq2() {
		if err := validateText("name", key.String()); err != nil {
			return nil, err
		}
		plained, err := plain(element.Interface(), levels-1)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		elements[key.String()] = plained
	}
	return elements, nil
}

func plainList(v reflect.Value, levels int) (any, error) {
	if v.Kind() == reflect.Slice && v.IsNil() {
		return nil, nil
	}
	elements := make([]any, v.Len())
	for i := range elements {
		plained, err := plain(v.Index(i).Interface(), levels-1)
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		elements[i] = plained
	}
	return elements, nil
}

func plainEncoded(value any, levels int) (any, error) {
	encoded, err := marshal(value)
	if err != nil {
		return nil, err
	}
	decoded, err := unmarshal(encoded)
	if err != nil {
		return nil, invalid("%v", err)
	}
	// Decoded values are of the types that plain knows, so this ends.
	return plain(decoded, levels)
}

func plainNumber(n json.Number) (any, error) {
	if !json.Valid([]byte(n)) || n == "" || strings.ContainsAny(string(n[0]), `"{[tfn `) {
		return nil, invalid("json.Number %q is no number", n.String())
	}
	return n, nil
}

func jsonFloat(f float64, bits int) (any, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, invalid("JSON has no %v", f)
	}
	// In full, because jsonb would make an integer of 1e16.
	text := strconv.FormatFloat(f, 'f', -1, bits)
	if !isFloat(text) {
		text += ".0"
	}
	return json.Number(text), nil
}
