package serde

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/pgweft/pgweft/serde/messages"
	"github.com/pgweft/pgweft/serde/ordered"
)

const (
	// maxNesting is how many arrays and maps may be open within one payload: what
	// Python's reader takes.
	maxNesting = 1022
	// maxDepth is how many arrays, maps and extensions may be open in all. Values
	// LangGraph can write stay below half of it: its writer recurses in Python.
	maxDepth = 4096
)

// encoder writes one value. Each method appends to buf.
type encoder struct {
	buf     []byte
	types   *types
	nesting int
	depth   int
}

// valueError is an error with the place in the value it is about, such as
// [2].content.
type valueError struct {
	path string
	err  error
}

func (e *valueError) Error() string { return "at " + e.path + ": " + e.err.Error() }

func (e *valueError) Unwrap() error { return e.err }

// at adds a step to the path of an error that is on its way up.
func at(step string, err error) error {
	//nolint:errorlint // One that is wrapped is about another value, such as what Register's write was given.
	if inner, ok := err.(*valueError); ok {
		inner.path = step + inner.path
		return inner
	}
	return &valueError{path: step, err: err}
}

func atKey(key any, err error) error { return at("."+ordered.KeyText(key), err) }

func atIndex(i int, err error) error { return at("["+strconv.Itoa(i)+"]", err) }

func (e *encoder) enter() error {
	if e.nesting++; e.nesting > maxNesting {
		return fmt.Errorf("more than %d levels deep, or it contains itself", maxNesting)
	}
	return e.enterDepth()
}

func (e *encoder) enterDepth() error {
	if e.depth++; e.depth > maxDepth {
		return fmt.Errorf("more than %d levels deep, or it contains itself", maxDepth)
	}
	return nil
}

func (e *encoder) leave() {
	e.nesting--
	e.depth--
}

func (e *encoder) value(v any) error {
	if known, err := e.builtin(v); known {
		return err
	}
	if write, ok := e.types.writers[reflect.TypeOf(v)]; ok {
		o, err := write(v)
		if err != nil {
			return fmt.Errorf("%T: %w", v, err)
		}
		return e.object(o)
	}
	r := reflect.ValueOf(v)
	if r.Kind() == reflect.Pointer && r.IsNil() {
		e.buf = append(e.buf, codeNil)
		return nil
	}
	if err, ok := v.(error); ok {
		// LangGraph stores exceptions as text too.
		return e.string(err.Error())
	}
	return e.reflected(r)
}

// builtin writes a value of a type that needs no reflection and reports whether
// it is one. The order is that of frequency.
func (e *encoder) builtin(value any) (known bool, err error) {
	switch v := value.(type) {
	case nil:
		e.buf = append(e.buf, codeNil)
	case string:
		return true, e.string(v)
	case *ordered.Map:
		return true, e.orderedMap(v)
	case []any:
		return true, e.array(v)
	case map[string]any:
		return true, e.goMap(v)
	case bool:
		e.buf = appendBool(e.buf, v)
	case int:
		e.buf = appendInt(e.buf, int64(v))
	case int64:
		e.buf = appendInt(e.buf, v)
	case uint64:
		e.buf = appendUint(e.buf, v)
	case float64:
		e.buf = appendFloat64(e.buf, v)
	case float32:
		e.buf = appendFloat32(e.buf, v)
	case []byte:
		return true, e.binary(v)
	case ByteArray:
		return true, e.binary(v)
	case []string:
		return true, e.strings(v)
	default:
		return e.extension(value)
	}
	return true, nil
}

// extension writes the built-in types that are MessagePack extensions, or have
// another form of their own.
func (e *encoder) extension(value any) (known bool, err error) {
	switch v := value.(type) {
	case messages.Message:
		return true, e.message(v)
	case *Object:
		return true, e.object(v)
	case Object:
		return true, e.object(&v)
	case Ext:
		return true, e.ext(v)
	case DeltaSnapshot:
		return true, e.deltaSnapshot(v)
	case Send:
		return true, e.send(v)
	case Interrupt:
		return true, e.constructor(KindKwargs, langgraphTypes, "Interrupt", v.fields(), "")
	case Overwrite:
		return true, e.constructor(KindKwargs, langgraphTypes, "Overwrite", v.fields(), "")
	case TimeoutPolicy:
		return true, e.constructor(KindKwargs, langgraphTypes, "TimeoutPolicy", v.fields(), "")
	case time.Time:
		return true, e.datetime(formatTime(v))
	case NaiveTime:
		return true, e.datetime(v.format())
	case Date:
		return true, e.date(v)
	case time.Duration:
		return true, e.constructor(KindArgs, "datetime", "timedelta", timedeltaArgs(v), "")
	case uuid.UUID:
		return true, e.constructor(KindArg, "uuid", "UUID", uuidHex(v), "")
	case Decimal:
		return true, e.decimal(v)
	case Set:
		return true, e.constructor(KindArg, "builtins", "set", []any(v), "")
	case FrozenSet:
		return true, e.constructor(KindArg, "builtins", "frozenset", []any(v), "")
	case Deque:
		return true, e.constructor(KindArg, "collections", "deque", []any(v), "")
	case NDArray:
		return true, e.ndarray(v)
	case *big.Int:
		return true, e.bigInt(v)
	case json.Number:
		return true, e.jsonNumber(v)
	case Typed:
		return true, errors.New("a serde.Typed is serialized already, use serde.Raw")
	}
	return false, nil
}

func (e *encoder) string(s string) error {
	if !utf8.ValidString(s) {
		return errors.New("the string is not UTF-8: pass []byte, or clean it with strings.ToValidUTF8")
	}
	if err := checkLength(len(s)); err != nil {
		return err
	}
	e.buf = append(appendStringHeader(e.buf, len(s)), s...)
	return nil
}

func (e *encoder) binary(data []byte) error {
	if err := checkLength(len(data)); err != nil {
		return err
	}
	e.buf = append(appendBinaryHeader(e.buf, len(data)), data...)
	return nil
}

func checkLength(n int) error {
	if uint64(n) > math.MaxUint32 { //nolint:gosec // G115: a length is not negative
		return fmt.Errorf("%d bytes are more than the 4 GiB MessagePack can hold", n)
	}
	return nil
}

func (e *encoder) array(items []any) error {
	if err := e.enter(); err != nil {
		return err
	}
	e.buf = appendArrayHeader(e.buf, len(items))
	for i, item := range items {
		if err := e.value(item); err != nil {
			return atIndex(i, err)
		}
	}
	e.leave()
	return nil
}

func (e *encoder) strings(items []string) error {
	e.buf = appendArrayHeader(e.buf, len(items))
	for i, item := range items {
		if err := e.string(item); err != nil {
			return atIndex(i, err)
		}
	}
	return nil
}

func (e *encoder) orderedMap(m *ordered.Map) error {
	if m == nil {
		e.buf = append(e.buf, codeNil)
		return nil
	}
	if err := e.enter(); err != nil {
		return err
	}
	e.buf = appendMapHeader(e.buf, m.Len())
	for _, entry := range m.Entries() {
		if err := e.key(entry.Key); err != nil {
			return atKey(entry.Key, err)
		}
		if err := e.value(entry.Value); err != nil {
			return atKey(entry.Key, err)
		}
	}
	e.leave()
	return nil
}

func (e *encoder) goMap(m map[string]any) error {
	if err := e.enter(); err != nil {
		return err
	}
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	e.buf = appendMapHeader(e.buf, len(m))
	for _, key := range keys {
		if err := e.string(key); err != nil {
			return atKey(key, err)
		}
		if err := e.value(m[key]); err != nil {
			return atKey(key, err)
		}
	}
	e.leave()
	return nil
}

// key writes a map key. Python's writer takes what can be hashed and is not an
// extension; dates, times and UUIDs become text.
func (e *encoder) key(key any) error {
	switch k := key.(type) {
	case string:
		return e.string(k)
	case nil, bool, int, int64, uint64, float64, float32, []byte:
		_, err := e.builtin(k)
		return err
	case []any:
		return e.tupleKey(k)
	case uuid.UUID:
		return e.string(k.String())
	case time.Time:
		return e.textKey(formatTime(k))
	case NaiveTime:
		return e.textKey(k.format())
	case Date:
		return e.textKey(k.format())
	}
	if v := reflect.ValueOf(key); isScalar(v.Kind()) {
		return e.reflected(v)
	}
	return fmt.Errorf("%T cannot be a map key: use a string, a number, bool, nil, []byte or []any of these", key)
}

func (e *encoder) textKey(text string, err error) error {
	if err != nil {
		return err
	}
	return e.string(text)
}

func (e *encoder) tupleKey(items []any) error {
	if err := e.enter(); err != nil {
		return err
	}
	e.buf = appendArrayHeader(e.buf, len(items))
	for i, item := range items {
		if err := e.key(item); err != nil {
			return atIndex(i, err)
		}
	}
	e.leave()
	return nil
}

// extStart is what endExt needs of the place where an extension began.
type extStart struct{ pos, nesting int }

// beginExt opens an extension whose length is not known yet.
func (e *encoder) beginExt() (extStart, error) {
	start := extStart{pos: len(e.buf), nesting: e.nesting}
	e.nesting = 0
	e.buf = append(e.buf, make([]byte, maxExtHeader)...)
	return start, e.enterDepth()
}

// endExt writes the header now that the payload is there, and moves the payload
// up to it.
func (e *encoder) endExt(start extStart, kind Kind) error {
	payload := e.buf[start.pos+maxExtHeader:]
	if err := checkLength(len(payload)); err != nil {
		return err
	}
	e.buf = appendExtHeader(e.buf[:start.pos], len(payload), int8(kind))
	e.buf = append(e.buf, payload...)
	e.nesting = start.nesting
	e.depth--
	return nil
}

func (e *encoder) object(o *Object) error {
	if o == nil {
		e.buf = append(e.buf, codeNil)
		return nil
	}
	payload, err := o.payload()
	if err != nil {
		return err
	}
	return e.constructor(o.Kind, o.Module, o.Name, payload, o.Method)
}

// constructor writes (module, name, payload) or (module, name, payload, method).
func (e *encoder) constructor(kind Kind, module, name string, payload any, method string) error {
	start, err := e.beginConstructor(kind, module, name)
	if err != nil {
		return err
	}
	if err := e.value(payload); err != nil {
		return err
	}
	return e.endConstructor(start, kind, method)
}

func (e *encoder) beginConstructor(kind Kind, module, name string) (extStart, error) {
	start, err := e.beginExt()
	if err != nil {
		return start, err
	}
	if err := e.enter(); err != nil {
		return start, err
	}
	size := 3
	if kind.hasMethod() {
		size = 4
	}
	e.buf = appendArrayHeader(e.buf, size)
	if err := e.string(module); err != nil {
		return start, err
	}
	return start, e.string(name)
}

func (e *encoder) endConstructor(start extStart, kind Kind, method string) error {
	if kind.hasMethod() {
		if err := e.string(method); err != nil {
			return err
		}
	}
	e.leave()
	return e.endExt(start, kind)
}

func (e *encoder) message(m messages.Message) error {
	if reflect.ValueOf(m).IsNil() {
		e.buf = append(e.buf, codeNil)
		return nil
	}
	module, name := m.Class()
	start, err := e.beginConstructor(KindPydanticV2, module, name)
	if err != nil {
		return err
	}
	if err := e.orderedMap(m.Fields()); err != nil {
		return err
	}
	return e.endConstructor(start, KindPydanticV2, pydanticMethod)
}

func (e *encoder) ext(x Ext) error {
	if err := checkLength(len(x.Data)); err != nil {
		return err
	}
	e.buf = append(appendExtHeader(e.buf, len(x.Data), x.Code), x.Data...)
	return nil
}

func (e *encoder) bigInt(i *big.Int) error {
	switch {
	case i == nil:
		e.buf = append(e.buf, codeNil)
	case i.IsInt64():
		e.buf = appendInt(e.buf, i.Int64())
	case i.IsUint64():
		e.buf = appendUint(e.buf, i.Uint64())
	default:
		return errors.New("the integer exceeds 64 bits, which LangGraph's serializer refuses too: store it as a string or serde.Decimal")
	}
	return nil
}

func (e *encoder) jsonNumber(n json.Number) error {
	if i, ok := new(big.Int).SetString(n.String(), 10); ok && len(n) < 40 {
		return e.bigInt(i)
	}
	f, err := n.Float64()
	if err != nil {
		return fmt.Errorf("json.Number %q: %w", n.String(), err)
	}
	e.buf = appendFloat64(e.buf, f)
	return nil
}
