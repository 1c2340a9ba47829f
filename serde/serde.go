package serde

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pgweft/pgweft/serde/ordered"
)

// The tags a Typed can have.
const (
	// TypeNull is Python's None; there are no bytes.
	TypeNull = "null"
	// TypeBytes and TypeByteArray are bytes as they are.
	TypeBytes     = "bytes"
	TypeByteArray = "bytearray"
	// TypeMsgpack is MessagePack with LangGraph's extensions.
	TypeMsgpack = "msgpack"
	// TypeJSON is read only: older checkpoints and JavaScript.
	TypeJSON = "json"
	// TypeEmpty marks a channel that has no value. It is not null: savers skip
	// such a channel.
	TypeEmpty = "empty"
	// TypePickle is Python's own format. It is refused, see ErrPickled.
	TypePickle = "pickle"
)

// Errors of Dump and Load, to be tested with errors.Is.
var (
	// ErrCorrupt is returned for bytes that are not what their tag says. The text
	// tells what is wrong and at which byte.
	ErrCorrupt = errors.New("serde: corrupt data")
	// ErrPickled is returned for values Python pickled: only Python can read
	// them, and doing so runs code. Carry them through with Raw, or let Python
	// write them again with pickle_fallback off.
	ErrPickled = errors.New("serde: the value is pickled and only Python can read it; carry it through with serde.Raw")
	// ErrUnknownType is returned for a tag this serializer does not read.
	ErrUnknownType = errors.New("serde: unknown serialization type")
	// ErrUnsupported is returned for values that have no form LangGraph could
	// read. The text tells where in the value the trouble is and what to do.
	ErrUnsupported = errors.New("serde: value cannot be serialized")
	// ErrDecrypt is returned where a value cannot be decrypted: the key is
	// another, the cipher is, or the bytes were changed.
	ErrDecrypt = errors.New("serde: cannot decrypt")
)

// Typed is a serialized value: what the type and blob columns hold.
type Typed struct {
	Type string
	Data []byte
}

// Serializer turns values into what is stored, and back. Implementations are
// safe for concurrent use.
type Serializer interface {
	Dump(value any) (Typed, error)
	Load(typed Typed) (any, error)
}

// Map is what Python's dict becomes, see package ordered.
type Map = ordered.Map

// ByteArray is Python's bytearray: mutable bytes, a type of their own on the
// wire where they are the whole value.
type ByteArray []byte

// Default returns the serializer that LangGraph's JsonPlusSerializer
// corresponds to, with the types given to Register.
func Default() Serializer { return New(nil) }

// New returns the same serializer with the types of a registry of its own; nil
// is the registry of Register.
func New(registry *Registry) Serializer {
	if registry == nil {
		registry = defaultRegistry
	}
	return serializer{registry}
}

type serializer struct{ registry *Registry }

// Dump serializes a value, see the package documentation for how types map. The
// result shares no memory with the value.
func (s serializer) Dump(value any) (Typed, error) {
	b := NewBuffer()
	defer b.Release()
	typed, err := s.dumpTo(b, value)
	if err != nil {
		return Typed{}, err
	}
	typed.Data = append([]byte{}, typed.Data...)
	return typed, nil
}

// Load is the mirror of Dump. What it returns for the types bytes and bytearray
// is typed.Data itself, everything else shares no memory with it.
func (s serializer) Load(typed Typed) (any, error) {
	switch typed.Type {
	case TypeNull, TypeEmpty:
		return nil, nil
	case TypeBytes:
		return nonNilBytes(typed.Data), nil
	case TypeByteArray:
		return ByteArray(nonNilBytes(typed.Data)), nil
	case TypeMsgpack:
		return loadMsgpack(string(typed.Data), s.registry.current())
	case TypeJSON:
		return loadJSON(typed.Data, s.registry.current())
	case TypePickle:
		return nil, ErrPickled
	}
	if strings.Contains(typed.Type, "+") {
		return nil, fmt.Errorf("%w %q: it is encrypted, load it with serde.Encrypted", ErrUnknownType, typed.Type)
	}
	return nil, fmt.Errorf("%w %q", ErrUnknownType, typed.Type)
}

func nonNilBytes(data []byte) []byte {
	if data == nil {
		return []byte{}
	}
	return data
}

// Raw passes Typed values through untouched: Load returns its argument, Dump
// takes nothing but a Typed.
var Raw Serializer = raw{}

type raw struct{}

func (raw) Dump(value any) (Typed, error) {
	typed, ok := value.(Typed)
	if !ok {
		return Typed{}, fmt.Errorf("%w: serde.Raw takes a serde.Typed, not %T", ErrUnsupported, value)
	}
	return typed, nil
}

func (raw) Load(typed Typed) (any, error) { return typed, nil }
