package serde

import (
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/pgweft/pgweft/serde/ordered"
)

// decoder reads one value. It cuts strings out of src instead of copying each,
// so the strings of a value share one allocation.
//
// Every element an array or map announces takes at least one byte, and all that
// are still owed by open containers must fit into what is left of the payload.
// Checking this before allocating bounds memory by the size of the input.
type decoder struct {
	src     string
	pos     int
	end     int
	owed    int
	nesting int
	depth   int
	types   *types
}

// loadMsgpack reads bytes as text, which nobody can change: parts of it become texts of the value without being copied.
func loadMsgpack(src string, types *types) (any, error) {
	d := decoder{src: src, end: len(src), types: types}
	value, err := d.value()
	if err != nil {
		return nil, err
	}
	if d.pos < d.end {
		return nil, d.corrupt("%d bytes follow the value", d.end-d.pos)
	}
	return value, nil
}

func (d *decoder) corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: MessagePack at byte %d: %s", ErrCorrupt, d.pos, fmt.Sprintf(format, args...))
}

// take steps over the next n bytes and returns them.
func (d *decoder) take(n int) (string, error) {
	if n > d.end-d.pos {
		return "", d.corrupt("%d bytes are due, %d are left", n, d.end-d.pos)
	}
	taken := d.src[d.pos : d.pos+n]
	d.pos += n
	return taken, nil
}

// uint reads a big-endian number of 1, 2, 4 or 8 bytes.
func (d *decoder) uint(size int) (uint64, error) {
	taken, err := d.take(size)
	var u uint64
	for i := range len(taken) {
		u = u<<8 | uint64(taken[i])
	}
	return u, err
}

// length reads the length that follows a code, its size being 1, 2 or 4 bytes.
// One that an int of 32 bits cannot hold is more than there can be in any case.
func (d *decoder) length(size int) (int, error) {
	u, err := d.uint(size)
	return int(min(u, math.MaxInt)), err
}

func (d *decoder) value() (any, error) {
	if d.pos >= d.end {
		return nil, d.corrupt("a value is due where the data ends")
	}
	code := d.src[d.pos]
	d.pos++
	switch {
	case code < codeFixMap:
		return int64(code), nil
	case code >= codeNegFix:
		return int64(int8(code)), nil //nolint:gosec // G115: the byte is a signed number
	case code < codeFixArray:
		return d.orderedMap(int(code & 0x0f))
	case code < codeFixStr:
		return d.array(int(code & 0x0f))
	case code < codeNil:
		return d.string(int(code & 0x1f))
	}
	return d.coded(code)
}

// coded reads a value whose code says nothing but its type.
func (d *decoder) coded(code byte) (any, error) {
	switch code {
	case codeNil:
		return nil, nil
	case codeFalse, codeTrue:
		return code == codeTrue, nil
	case codeStr8, codeStr16, codeStr32:
		return sized(d, 1<<(code-codeStr8), d.string)
	case codeBin8, codeBin16, codeBin32:
		return sized(d, 1<<(code-codeBin8), d.binary)
	case codeArray16, codeArray32:
		return sized(d, 2<<(code-codeArray16), d.array)
	case codeMap16, codeMap32:
		return sized(d, 2<<(code-codeMap16), d.orderedMap)
	case codeExt8, codeExt16, codeExt32:
		return sized(d, 1<<(code-codeExt8), d.ext)
	case codeFixExt1, codeFixExt2, codeFixExt4, codeFixExt8, codeFixExt16:
		return d.ext(1 << (code - codeFixExt1))
	}
	return d.number(code)
}

func sized(d *decoder, size int, read func(n int) (any, error)) (any, error) {
	n, err := d.length(size)
	if err != nil {
		return nil, err
	}
	return read(n)
}

func (d *decoder) number(code byte) (any, error) {
	switch code {
	case codeUint8, codeUint16, codeUint32, codeUint64:
		u, err := d.uint(1 << (code - codeUint8))
		if u > math.MaxInt64 {
			return u, err
		}
		return int64(u), err
	case codeInt8, codeInt16, codeInt32, codeInt64:
		size := 1 << (code - codeInt8)
		u, err := d.uint(size)
		unused := 64 - 8*size
		return int64(u<<unused) >> unused, err //nolint:gosec // G115: this extends the sign
	case codeFloat32:
		u, err := d.uint(4)
		return math.Float32frombits(uint32(u)), err //nolint:gosec // G115: 4 bytes were read
	case codeFloat64:
		u, err := d.uint(8)
		return math.Float64frombits(u), err
	}
	d.pos--
	return nil, d.corrupt("no value starts with 0x%02x", code)
}

func (d *decoder) string(n int) (any, error) {
	s, err := d.text(n)
	if err != nil {
		return nil, err
	}
	if known := wellKnownText(s); known != nil {
		return known, nil
	}
	return s, nil
}

func (d *decoder) text(n int) (string, error) {
	s, err := d.take(n)
	if err == nil && !utf8.ValidString(s) {
		d.pos -= n
		return "", d.corrupt("the string is not UTF-8")
	}
	return s, err
}

func (d *decoder) binary(n int) (any, error) {
	s, err := d.take(n)
	if err != nil {
		return nil, err
	}
	return []byte(s), nil
}

// enter opens a container that announces n values.
func (d *decoder) enter(n int) error {
	if d.nesting++; d.nesting > maxNesting {
		return d.corrupt("more than %d levels deep", maxNesting)
	}
	if err := d.enterDepth(); err != nil {
		return err
	}
	if left := d.end - d.pos - d.owed; n > left {
		return d.corrupt("%d values are announced, there is room for %d", n, left)
	}
	d.owed += n
	return nil
}

func (d *decoder) enterDepth() error {
	if d.depth++; d.depth > maxDepth {
		return d.corrupt("more than %d levels deep", maxDepth)
	}
	return nil
}

func (d *decoder) leave() {
	d.nesting--
	d.depth--
}

// emptyArray is boxed once for all; nobody can change what has no elements.
var emptyArray any = []any{}

func (d *decoder) array(n int) (any, error) {
	if err := d.enter(n); err != nil {
		return nil, err
	}
	if n == 0 {
		d.leave()
		return emptyArray, nil
	}
	items := make([]any, n)
	for i := range items {
		d.owed--
		item, err := d.value()
		if err != nil {
			return nil, err
		}
		items[i] = item
	}
	d.leave()
	return items, nil
}

func (d *decoder) orderedMap(n int) (any, error) {
	// A length of more than half of what is left cannot be, and doubling one that
	// long could overflow where int has 32 bits.
	if n > (d.end-d.pos)/2 {
		return nil, d.corrupt("%d entries are announced, %d bytes are left", n, d.end-d.pos)
	}
	if err := d.enter(2 * n); err != nil {
		return nil, err
	}
	entries := make([]ordered.Entry, n)
	for i := range entries {
		d.owed -= 2
		key, err := d.key()
		if err != nil {
			return nil, err
		}
		value, err := d.value()
		if err != nil {
			return nil, err
		}
		entries[i] = ordered.Entry{Key: key, Value: value}
	}
	d.leave()
	return ordered.FromEntries(entries), nil
}

// key reads a map key. Like Python's reader it refuses what cannot be hashed.
func (d *decoder) key() (any, error) {
	start := d.pos
	if start < d.end {
		if key, n := wellKnownKey(d.src[start:d.end]); n > 0 {
			d.pos += n
			return key, nil
		}
	}
	key, err := d.value()
	if err == nil && !isKey(key) {
		d.pos = start
		return nil, d.corrupt("%T cannot be a map key", key)
	}
	return key, err
}

func isKey(key any) bool {
	switch k := key.(type) {
	case nil, string, bool, int64, uint64, float64, float32, []byte:
		return true
	case []any:
		for _, item := range k {
			if !isKey(item) {
				return false
			}
		}
		return true
	}
	return false
}

// ext reads an extension of n bytes, whose type comes next.
func (d *decoder) ext(n int) (any, error) {
	header, err := d.take(1)
	if err != nil {
		return nil, err
	}
	code := int8(header[0]) //nolint:gosec // G115: the byte is a signed number
	if n > d.end-d.pos {
		return nil, d.corrupt("an extension of %d bytes is due, %d are left", n, d.end-d.pos)
	}
	if err := d.enterDepth(); err != nil {
		return nil, err
	}
	outer := *d
	d.end, d.owed, d.nesting = d.pos+n, 0, 0
	value, err := d.extension(Kind(code))
	if err != nil {
		return nil, err
	}
	if value == nil {
		// The payload is not what LangGraph writes for the code.
		value = Ext{Code: code, Data: []byte(d.src[outer.pos:d.end])}
	}
	d.pos, d.end, d.owed, d.nesting, d.depth = d.end, outer.end, outer.owed, outer.nesting, outer.depth-1
	return value, nil
}

// extension reads the payload of an extension up to the decoder's end. It
// returns nil where the payload is readable but of another shape than
// LangGraph's.
func (d *decoder) extension(kind Kind) (any, error) {
	switch {
	case kind >= KindArg && kind <= KindPydanticV2:
		return d.constructor(kind)
	case kind == kindNDArray:
		return d.ndarray()
	case kind == kindDelta:
		return d.deltaSnapshot()
	}
	return nil, nil
}

func (d *decoder) constructor(kind Kind) (any, error) {
	header := byte(codeFixArray | 3)
	if kind.hasMethod() {
		header = codeFixArray | 4
	}
	if d.pos >= d.end || d.src[d.pos] != header {
		return nil, nil
	}
	d.pos++
	// The array of the payload itself is a level too.
	d.nesting, d.depth = 1, d.depth+1
	c := constructor{kind: kind}
	var err error
	var ok bool
	if c.module, ok, err = d.name(); err != nil || !ok {
		return nil, err
	}
	if c.name, ok, err = d.name(); err != nil || !ok {
		return nil, err
	}
	if c.payload, err = d.value(); err != nil {
		return nil, err
	}
	if kind.hasMethod() {
		if c.method, ok, err = d.name(); err != nil || !ok {
			return nil, err
		}
	}
	if _, isArray := c.payload.([]any); d.pos != d.end || kind == KindArgs && !isArray {
		return nil, nil
	}
	return c.resolve(d.types), nil
}

// name reads a string and reports whether one came next.
func (d *decoder) name() (string, bool, error) {
	if d.pos >= d.end {
		return "", false, d.corrupt("a name is due where the data ends")
	}
	code := d.src[d.pos]
	if code&0xe0 == codeFixStr {
		d.pos++
		s, err := d.text(int(code & 0x1f))
		return s, true, err
	}
	if code != codeStr8 && code != codeStr16 && code != codeStr32 {
		return "", false, nil
	}
	value, err := d.value()
	s, _ := value.(string)
	return s, true, err
}

// wellKnownKey returns the key of a message that src starts with, and its length
// with header, or 0.
func wellKnownKey(src string) (any, int) {
	code := src[0]
	n := int(code&0x1f) + 1
	if code&0xe0 != codeFixStr || n > len(src) {
		return nil, 0
	}
	if key := wellKnownText(src[1:n]); key != nil {
		return key, n
	}
	return nil, 0
}

// wellKnownText returns the keys of messages, and texts that most messages have,
// or nil. As constants they are boxed already, which saves an allocation each: a
// good part of reading a conversation.
func wellKnownText(text string) any {
	switch text {
	case "additional_kwargs":
		return "additional_kwargs"
	case "ai":
		return "ai"
	case "args":
		return "args"
	case "artifact":
		return "artifact"
	case "content":
		return "content"
	case "error":
		return "error"
	case "human":
		return "human"
	case "id":
		return "id"
	case "input_token_details":
		return "input_token_details"
	case "input_tokens":
		return "input_tokens"
	case "invalid_tool_calls":
		return "invalid_tool_calls"
	case "name":
		return "name"
	case "output_token_details":
		return "output_token_details"
	case "output_tokens":
		return "output_tokens"
	case "response_metadata":
		return "response_metadata"
	case "role":
		return "role"
	case "status":
		return "status"
	case "success":
		return "success"
	case "text":
		return "text"
	case "tool":
		return "tool"
	case "tool_call":
		return "tool_call"
	case "tool_call_id":
		return "tool_call_id"
	case "tool_calls":
		return "tool_calls"
	case "total_tokens":
		return "total_tokens"
	case "type":
		return "type"
	case "usage_metadata":
		return "usage_metadata"
	}
	return nil
}
