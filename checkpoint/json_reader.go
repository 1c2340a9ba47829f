package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

// jsonReader reads JSON as encoding/json does, but takes names literally (that would take a field "ID" for "id"), copies the document
// once for all of its texts, and reads it once. encoding/json reads what is rare, strings with escapes, and says what is wrong with
// what is not JSON.
type jsonReader struct {
	src     string
	pos     int // where the next value begins, or behind the last
	depth   int // of the objects and arrays that are open
	invalid bool
}

// maxJSONDepth is that of encoding/json.
const maxJSONDepth = 10_000

// readJSON has one value read. An error of read is of no interest where data is not JSON at all.
func readJSON(data []byte, read func(r *jsonReader) error) error {
	r := &jsonReader{src: string(data)}
	r.skipSpace()
	start := *r
	err := read(r)
	if err != nil {
		*r = start
		r.value()
	}
	r.skipSpace()
	if r.invalid || r.pos < len(r.src) {
		return syntaxError(data)
	}
	return err
}

// syntaxError says why data is not one JSON value.
func syntaxError(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(new(json.RawMessage)); err != nil {
		return err
	}
	return errors.New("more than one JSON value")
}

// fail ends the reading: nothing comes next any more.
func (r *jsonReader) fail() {
	r.invalid = true
	r.pos = len(r.src)
}

// peek is the byte that comes next, or 0.
func (r *jsonReader) peek() byte {
	if r.pos == len(r.src) {
		return 0
	}
	return r.src[r.pos]
}

// skip steps over c if it comes next.
func (r *jsonReader) skip(c byte) bool {
	found := r.peek() == c && !r.invalid
	if found {
		r.pos++
	}
	return found
}

func (r *jsonReader) skipSpace() {
	for r.pos < len(r.src) && (r.src[r.pos] == ' ' || r.src[r.pos] == '\n' || r.src[r.pos] == '\t' || r.src[r.pos] == '\r') {
		r.pos++
	}
}

// skipBetween steps over c and the space around it, if it comes next.
func (r *jsonReader) skipBetween(c byte) bool {
	r.skipSpace()
	found := r.skip(c)
	r.skipSpace()
	return found
}

// members are the names in the object that comes next. The body of the loop reads the value of each.
func (r *jsonReader) members() iter.Seq[string] {
	return func(yield func(string) bool) {
		for more := r.open('}'); more; more = r.another('}') {
			name := r.text()
			if !r.skipBetween(':') {
				r.fail()
			}
			if !yield(name) {
				return
			}
		}
	}
}

// elements counts the values in the array that comes next. The body of the loop reads each.
func (r *jsonReader) elements() iter.Seq[int] {
	return func(yield func(int) bool) {
		n := 0
		for more := r.open(']'); more; more = r.another(']') {
			if !yield(n) {
				return
			}
			n++
		}
	}
}

// open begins an object or array and says whether anything is in it.
func (r *jsonReader) open(end byte) bool {
	if r.depth++; r.depth > maxJSONDepth {
		r.fail()
		return false
	}
	r.pos++
	r.skipSpace()
	if r.skip(end) {
		r.depth--
		return false
	}
	return true
}

// another steps over a comma, or over the end.
func (r *jsonReader) another(end byte) bool {
	if r.skipBetween(',') {
		return true
	}
	r.depth--
	if !r.skip(end) {
		r.fail()
	}
	return false
}

// value reads any value. Numbers are those of [Checkpoint.UnmarshalJSON].
func (r *jsonReader) value() any {
	switch r.peek() {
	case '{':
		object := map[string]any{}
		for name := range r.members() {
			object[name] = r.value()
		}
		return object
	case '[':
		array := []any{}
		for range r.elements() {
			array = append(array, r.value())
		}
		return array
	case '"':
		return r.text()
	case 'n':
		r.literal("null")
		return nil
	case 't':
		r.literal("true")
		return true
	case 'f':
		r.literal("false")
		return false
	}
	return plainNumber(r.number())
}

func (r *jsonReader) literal(text string) {
	if !strings.HasPrefix(r.src[r.pos:], text) {
		r.fail()
		return
	}
	r.pos += len(text)
}

func (r *jsonReader) takeNull() bool {
	isNull := r.peek() == 'n'
	if isNull {
		r.literal("null")
	}
	return isNull
}

func (r *jsonReader) text() string {
	if !r.skip('"') {
		r.fail()
		return ""
	}
	text := r.src[r.pos:]
	text = text[:max(strings.IndexByte(text, '"'), 0)]
	ascii := true
	for i := range len(text) {
		switch c := text[i]; {
		case c == '\\', c < ' ':
			return r.escapedText()
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	if !ascii && !utf8.ValidString(text) {
		return r.escapedText()
	}
	r.pos += len(text)
	if !r.skip('"') {
		r.fail()
	}
	return text
}

// escapedText reads the rest of a string that is not in the document as it is, because it has escapes or is not UTF-8.
func (r *jsonReader) escapedText() string {
	start := r.pos - 1
	for r.pos < len(r.src) && r.src[r.pos] != '"' {
		if r.src[r.pos] == '\\' {
			r.pos++
		}
		r.pos++
	}
	var text string
	if r.pos >= len(r.src) || json.Unmarshal([]byte(r.src[start:r.pos+1]), &text) != nil {
		r.fail()
		return ""
	}
	r.pos++
	return text
}

func (r *jsonReader) number() json.Number {
	start := r.pos
	r.skip('-')
	if !r.skip('0') {
		r.digits()
	}
	if r.skip('.') {
		r.digits()
	}
	if r.skip('e') || r.skip('E') {
		if !r.skip('+') {
			r.skip('-')
		}
		r.digits()
	}
	return json.Number(r.src[start:r.pos])
}

// digits steps over one digit and those that follow.
func (r *jsonReader) digits() {
	start := r.pos
	for r.pos < len(r.src) && r.src[r.pos] >= '0' && r.src[r.pos] <= '9' {
		r.pos++
	}
	if r.pos == start {
		r.fail()
	}
}

func plainNumber(number json.Number) any {
	text := number.String()
	if strings.ContainsAny(text, ".eE") {
		if f, err := number.Float64(); err == nil {
			return f
		}
		return number
	}
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i
	}
	if u, err := strconv.ParseUint(text, 10, 64); err == nil {
		return u
	}
	// A float64 would change its digits.
	if i, ok := new(big.Int).SetString(text, 10); ok {
		return i
	}
	return number
}

// The methods below read what a field of a checkpoint has to be, and null as the zero value. After an error, pos is anywhere in
// the field.

func (r *jsonReader) int() (int, error) {
	switch {
	case r.takeNull():
		return 0, nil
	case !r.isNumber():
		return 0, r.mismatch(reflect.TypeFor[int]())
	}
	text := r.number().String()
	i, err := strconv.Atoi(text)
	if err != nil {
		return 0, &json.UnmarshalTypeError{Value: "number " + text, Type: reflect.TypeFor[int](), Offset: int64(r.pos)}
	}
	return i, nil
}

func (r *jsonReader) isNumber() bool {
	c := r.peek()
	return c == '-' || c >= '0' && c <= '9'
}

func (r *jsonReader) string() (string, error) {
	switch {
	case r.peek() == '"':
		return r.text(), nil
	case r.takeNull():
		return "", nil
	}
	return "", r.mismatch(reflect.TypeFor[string]())
}

func (r *jsonReader) strings() ([]string, error) {
	switch {
	case r.takeNull():
		return nil, nil
	case r.peek() != '[':
		return nil, r.mismatch(reflect.TypeFor[[]string]())
	}
	list := []string{}
	for range r.elements() {
		text, err := r.string()
		if err != nil {
			return nil, err
		}
		list = append(list, text)
	}
	return list, nil
}

func (r *jsonReader) version() (Version, error) {
	switch {
	case r.peek() == '"':
		return Version{text: r.text()}, nil
	case r.isNumber():
		return numberVersion(r.number())
	case r.takeNull():
		return Version{}, nil
	}
	start := r.pos
	r.value()
	return Version{}, fmt.Errorf("checkpoint: a channel version is text or a number, not %s", r.src[start:r.pos])
}

func (r *jsonReader) versions() (map[string]Version, error) { return readObject(r, r.version) }

func (r *jsonReader) values() (map[string]any, error) {
	return readObject(r, func() (any, error) { return r.value(), nil })
}

func readObject[V any](r *jsonReader, value func() (V, error)) (map[string]V, error) {
	if isObject, err := r.isObject(reflect.TypeFor[map[string]V]()); !isObject {
		return nil, err
	}
	object := map[string]V{}
	for name := range r.members() {
		v, err := value()
		if err != nil {
			return nil, err
		}
		object[name] = v
	}
	return object, nil
}

// isObject says whether an object comes next. If it is null that comes, it steps over it.
func (r *jsonReader) isObject(wanted reflect.Type) (bool, error) {
	switch {
	case r.peek() == '{':
		return true, nil
	case r.takeNull():
		return false, nil
	}
	return false, r.mismatch(wanted)
}

// mismatch is the error of encoding/json for a value of another type.
func (r *jsonReader) mismatch(wanted reflect.Type) error {
	kind := "number"
	switch r.peek() {
	case '{':
		kind = "object"
	case '[':
		kind = "array"
	case '"':
		kind = "string"
	case 't', 'f':
		kind = "bool"
	}
	return &json.UnmarshalTypeError{Value: kind, Type: wanted, Offset: int64(r.pos)}
}
