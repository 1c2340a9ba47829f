package ordered

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// MarshalJSON writes the map as a JSON object in its own order. Keys that are
// not strings are written as KeyText gives them, floats that JSON lacks as
// "NaN", "Infinity" and "-Infinity".
func (m *Map) MarshalJSON() ([]byte, error) {
	return appendJSON(nil, m)
}

// KeyText is the text that stands for a key where only strings can be keys:
// null, true, false and numbers as JSON writes them, []byte in base64, tuples
// as JSON arrays.
func KeyText(key any) string {
	switch k := key.(type) {
	case string:
		return k
	case []byte:
		return base64.StdEncoding.EncodeToString(k)
	}
	text, err := appendJSON(nil, key)
	if err != nil {
		return fmt.Sprint(key)
	}
	return string(text)
}

func appendJSON(dst []byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case *Map:
		return appendObject(dst, v)
	case []any:
		return appendArray(dst, v)
	case float64:
		return appendFloat(dst, v), nil
	case float32:
		return appendFloat(dst, float64(v)), nil
	}
	text, err := json.Marshal(value)
	return append(dst, text...), err
}

func appendObject(dst []byte, m *Map) ([]byte, error) {
	if m == nil {
		return append(dst, "null"...), nil
	}
	dst = append(dst, '{')
	for i, entry := range m.entries {
		if i > 0 {
			dst = append(dst, ',')
		}
		key, err := json.Marshal(KeyText(entry.Key))
		if err != nil {
			return nil, err
		}
		dst = append(append(dst, key...), ':')
		if dst, err = appendJSON(dst, entry.Value); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

func appendArray(dst []byte, items []any) ([]byte, error) {
	dst = append(dst, '[')
	for i, item := range items {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendJSON(dst, item); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

func appendFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	}
	return strconv.AppendFloat(dst, f, 'g', -1, 64)
}
