package serde

import (
	"fmt"
	"sync"
	"unsafe"
)

// maxPooled is the largest Buffer kept for the next use, in bytes.
const maxPooled = 4 << 20

// Buffer serializes values into memory that is used again and again, for
// callers that send the bytes on and are done with them: what Serializer.Dump
// copies, a Buffer lends. It is not safe for concurrent use.
type Buffer struct{ encoder encoder }

var buffers = sync.Pool{New: func() any { return &Buffer{encoder{buf: make([]byte, 0, 4096)}} }}

// NewBuffer returns an empty Buffer, which Release gives back.
func NewBuffer() *Buffer { return buffers.Get().(*Buffer) }

// Release ends the use of all that Dump returned, and of b.
func (b *Buffer) Release() {
	if cap(b.encoder.buf) <= maxPooled {
		b.encoder = encoder{buf: b.encoder.buf[:0]}
		buffers.Put(b)
	}
}

// Dump is s.Dump, but what it returns is good only until Release, and may share
// memory with the value. A Serializer from outside of this package does as it
// always does.
func (b *Buffer) Dump(s Serializer, value any) (Typed, error) {
	if lender, ok := s.(interface {
		dumpTo(b *Buffer, value any) (Typed, error)
	}); ok {
		return lender.dumpTo(b, value)
	}
	return s.Dump(value)
}

func (s serializer) dumpTo(b *Buffer, value any) (Typed, error) {
	switch v := value.(type) {
	case nil:
		return Typed{Type: TypeNull, Data: []byte{}}, nil
	case []byte:
		return Typed{Type: TypeBytes, Data: nonNilBytes(v)}, nil
	case ByteArray:
		return Typed{Type: TypeByteArray, Data: nonNilBytes(v)}, nil
	}
	e := &b.encoder
	start := len(e.buf)
	*e = encoder{buf: e.buf, types: s.registry.current()}
	if err := e.value(value); err != nil {
		e.buf = e.buf[:start]
		return Typed{}, fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	written := e.buf[start:len(e.buf):len(e.buf)]
	switch {
	case len(written) == 1 && written[0] == codeNil:
		// A nil pointer is None like nil itself.
		return Typed{Type: TypeNull, Data: []byte{}}, nil
	case isBinary(written[0]):
		return Typed{Type: TypeBytes, Data: written[binaryHeader(written[0]):]}, nil
	}
	return Typed{Type: TypeMsgpack, Data: written}, nil
}

func (s encrypted) dumpTo(b *Buffer, value any) (Typed, error) {
	typed, err := b.Dump(s.inner, value)
	if err != nil {
		return Typed{}, err
	}
	return s.encrypt(typed)
}

// LoadOwned is s.Load of bytes that are the caller's own and that nobody changes
// any more: texts of the value share their memory instead of being copied. A
// Serializer from outside of this package does as it always does.
func LoadOwned(s Serializer, typed Typed) (any, error) {
	if owner, ok := s.(interface {
		loadOwned(typed Typed) (any, error)
	}); ok {
		return owner.loadOwned(typed)
	}
	return s.Load(typed)
}

func (s serializer) loadOwned(typed Typed) (any, error) {
	if typed.Type == TypeMsgpack {
		src := unsafe.String(unsafe.SliceData(typed.Data), len(typed.Data)) //nolint:gosec // the caller gives Data away
		return loadMsgpack(src, s.registry.current())
	}
	return s.Load(typed)
}

func (s encrypted) loadOwned(typed Typed) (any, error) {
	typed, err := s.decrypt(typed)
	if err != nil {
		return nil, err
	}
	return LoadOwned(s.inner, typed)
}
