package checkpoint

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// jsonWriter writes JSON as the savers of every runtime read it: objects in the order of their names, floats with a fraction. What
// is not plain text, numbers and containers of these, encoding/json writes.
type jsonWriter struct {
	buf   []byte
	names []string // of the objects that are open
}

var jsonWriters = sync.Pool{New: func() any { return &jsonWriter{} }}

// maxPooledWriter is the largest writer kept for the next use, in bytes.
const maxPooledWriter = 1 << 20

// writeJSON returns what write has written.
func writeJSON(write func(w *jsonWriter) error) ([]byte, error) {
	w := jsonWriters.Get().(*jsonWriter)
	defer w.release()
	if err := write(w); err != nil {
		return nil, err
	}
	return append([]byte{}, w.buf...), nil
}

func (w *jsonWriter) release() {
	if cap(w.buf) > maxPooledWriter {
		return
	}
	names := w.names[:cap(w.names)]
	clear(names)
	w.buf, w.names = w.buf[:0], names[:0]
	jsonWriters.Put(w)
}

// Write makes a jsonWriter what encoding/json writes to.
func (w *jsonWriter) Write(encoded []byte) (int, error) {
	w.buf = append(w.buf, encoded...)
	return len(encoded), nil
}

func (w *jsonWriter) raw(text string) { w.buf = append(w.buf, text...) }

// encode leaves a value to encoding/json.
func (w *jsonWriter) encode(value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	w.buf = w.buf[:len(w.buf)-1] // the line break that Encode ends with
	return nil
}

// next separates members and elements.
func (w *jsonWriter) next() {
	if last := w.buf[len(w.buf)-1]; last != '{' && last != '[' {
		w.raw(",")
	}
}

// name begins a member of an object.
func (w *jsonWriter) name(name string) {
	w.next()
	w.text(name)
	w.raw(":")
}

func (w *jsonWriter) text(text string) {
	if !isPlainText(text) {
		_ = w.encode(text) // any text can be encoded
		return
	}
	w.raw(`"`)
	w.raw(text)
	w.raw(`"`)
}

// isPlainText says whether text stands in JSON as it is, as encoding/json writes it.
func isPlainText(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' {
			return false
		}
	}
	return utf8.ValidString(text) && !strings.Contains(text, "\u2028") && !strings.Contains(text, "\u2029")
}

func (w *jsonWriter) texts(list []string) {
	if list == nil {
		w.raw("null")
		return
	}
	w.raw("[")
	for _, text := range list {
		w.next()
		w.text(text)
	}
	w.raw("]")
}

func (w *jsonWriter) version(version Version) error {
	switch {
	case version.IsZero():
		w.raw("null")
	case version.number:
		w.raw(version.text)
	default:
		w.text(version.text)
	}
	return nil
}

func (w *jsonWriter) versions(versions map[string]Version) error {
	if versions == nil {
		w.raw("null")
		return nil
	}
	return writeObject(w, versions, w.version)
}

// value writes what JSON can hold. Floats keep their fraction, so that a Python client reads a float again.
func (w *jsonWriter) value(value any) error {
	switch v := value.(type) {
	case nil:
		w.raw("null")
	case bool:
		w.buf = strconv.AppendBool(w.buf, v)
	case string:
		w.text(v)
	case int:
		w.buf = strconv.AppendInt(w.buf, int64(v), 10)
	case int64:
		w.buf = strconv.AppendInt(w.buf, v, 10)
	case float64:
		return w.float(v)
	case map[string]any:
		return writeObject(w, v, w.value)
	case []any:
		return w.array(len(v), func(i int) any { return v[i] })
	default:
		return w.reflected(value)
	}
	return nil
}

// reflected writes Go's other numbers, slices and maps, such as []float64. What encodes itself, and bytes, which JSON holds as text,
// are for encoding/json.
func (w *jsonWriter) reflected(value any) error {
	switch value.(type) {
	case []byte, json.Marshaler, encoding.TextMarshaler:
		return w.encode(value)
	}
	v := reflect.ValueOf(value)
	switch {
	case v.CanFloat():
		return w.float(v.Float())
	case v.Kind() == reflect.Slice && !v.IsNil(), v.Kind() == reflect.Array:
		return w.array(v.Len(), func(i int) any { return v.Index(i).Interface() })
	case v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String && !v.IsNil():
		object := make(map[string]any, v.Len())
		for name, element := range v.Seq2() {
			object[name.String()] = element.Interface()
		}
		return w.value(object)
	}
	return w.encode(value)
}

func (w *jsonWriter) array(length int, element func(i int) any) error {
	w.raw("[")
	for i := range length {
		w.next()
		if err := w.value(element(i)); err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
	}
	w.raw("]")
	return nil
}

func (w *jsonWriter) float(f float64) error {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return fmt.Errorf("JSON has no %v: %w", f, ErrInvalidArgument)
	}
	w.buf = appendDecimal(w.buf, f)
	return nil
}

func decimalText(f float64) string { return string(appendDecimal(nil, f)) }

// appendDecimal writes a float without an exponent and with a fraction, the one form that JSON and Postgres's numeric text share.
func appendDecimal(b []byte, f float64) []byte {
	start := len(b)
	b = strconv.AppendFloat(b, f, 'f', -1, 64)
	if bytes.IndexByte(b[start:], '.') < 0 {
		b = append(b, ".0"...)
	}
	return b
}

// writeObject writes a map in the order of its keys.
func writeObject[V any](w *jsonWriter, object map[string]V, value func(V) error) error {
	w.raw("{")
	if err := writeMembers(w, object, value); err != nil {
		return err
	}
	w.raw("}")
	return nil
}

func writeMembers[V any](w *jsonWriter, object map[string]V, value func(V) error) error {
	first := len(w.names)
	for name := range object {
		w.names = append(w.names, name)
	}
	names := w.names[first:]
	slices.Sort(names)
	for _, name := range names {
		w.name(name)
		if err := value(object[name]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	w.names = w.names[:first]
	return nil
}

// withoutNUL takes the escape of NUL out of encoded JSON. A backslash that is itself escaped does not begin one.
func withoutNUL(encoded []byte) []byte {
	escape := []byte(`\u0000`)
	if !bytes.Contains(encoded, escape) {
		return encoded
	}
	kept := make([]byte, 0, len(encoded))
	for i := 0; i < len(encoded); {
		switch {
		case bytes.HasPrefix(encoded[i:], escape):
			i += len(escape)
		case encoded[i] == '\\' && i+1 < len(encoded):
			kept = append(kept, encoded[i], encoded[i+1])
			i += 2
		default:
			kept = append(kept, encoded[i])
			i++
		}
	}
	return kept
}
