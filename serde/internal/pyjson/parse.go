// Package pyjson reads JSON as Python's json.loads does: objects keep their
// order, integers keep every digit, NaN and Infinity are numbers, and a hook
// sees each object once it is complete. encoding/json does none of these, which
// is why this reader exists.
package pyjson

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/pgweft/pgweft/serde/ordered"
)

// MaxDepth is how many objects and arrays may be open at once.
const MaxDepth = 1000

// maxDigits is Python's own bound: converting an integer takes more than linear
// time in its digits.
const maxDigits = 4300

// SyntaxError says what is wrong with a document and at which byte.
type SyntaxError struct {
	Offset int
	Reason string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("JSON at byte %d: %s", e.Offset, e.Reason)
}

// Parse reads one document. Objects become *ordered.Map, arrays []any, integers
// int64 (uint64 or *big.Int where they do not fit), other numbers float64. What
// hook returns takes the object's place; a nil hook keeps it. A repeated key
// takes the last value. A lone surrogate, which a Go string cannot hold, reads
// as "?", which is what LangGraph's serializer makes of it when it writes.
func Parse(data []byte, hook func(*ordered.Map) any) (any, error) {
	p := parser{src: strings.TrimPrefix(string(data), "\ufeff"), hook: hook}
	p.space()
	value, err := p.value()
	if err != nil {
		return nil, err
	}
	p.space()
	if p.pos < len(p.src) {
		return nil, p.fail("more follows the document")
	}
	return value, nil
}

type parser struct {
	src   string
	pos   int
	depth int
	hook  func(*ordered.Map) any
}

func (p *parser) fail(reason string) error {
	return &SyntaxError{Offset: p.pos, Reason: reason}
}

func (p *parser) space() {
	for p.pos < len(p.src) && strings.IndexByte(" \t\r\n", p.src[p.pos]) >= 0 {
		p.pos++
	}
}

// take steps over c if it comes next.
func (p *parser) take(c byte) bool {
	if p.pos < len(p.src) && p.src[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

var literals = []struct {
	text  string
	value any
}{
	{"null", nil},
	{"true", true},
	{"false", false},
	{"NaN", math.Float64frombits(0x7ff8000000000000)}, // Python's NaN, math.NaN() has other bits
	{"Infinity", math.Inf(1)},
	{"-Infinity", math.Inf(-1)},
}

func (p *parser) value() (any, error) {
	if p.pos >= len(p.src) {
		return nil, p.fail("the document ends where a value is due")
	}
	switch c := p.src[p.pos]; {
	case c == '"':
		return p.str()
	case c == '{', c == '[':
		return p.container(c)
	case c >= '0' && c <= '9', c == '-' && !strings.HasPrefix(p.src[p.pos:], "-I"):
		return p.number()
	}
	for _, literal := range literals {
		if strings.HasPrefix(p.src[p.pos:], literal.text) {
			p.pos += len(literal.text)
			return literal.value, nil
		}
	}
	return nil, p.fail("not a value")
}

func (p *parser) container(open byte) (any, error) {
	if p.depth++; p.depth > MaxDepth {
		return nil, p.fail(fmt.Sprintf("more than %d levels deep", MaxDepth))
	}
	defer func() { p.depth-- }()
	p.pos++
	if open == '[' {
		return p.array()
	}
	m, err := p.object()
	if err != nil || p.hook == nil {
		return m, err
	}
	return p.hook(m), nil
}

func (p *parser) array() (any, error) {
	items := []any{}
	p.space()
	if p.take(']') {
		return items, nil
	}
	for {
		p.space()
		item, err := p.value()
		if err != nil {
			return nil, err
		}
		items = append(items, item)
		p.space()
		if p.take(']') {
			return items, nil
		}
		if !p.take(',') {
			return nil, p.fail("an array needs ',' or ']' here")
		}
	}
}

func (p *parser) object() (*ordered.Map, error) {
	m := ordered.New()
	p.space()
	if p.take('}') {
		return m, nil
	}
	for {
		p.space()
		if p.pos >= len(p.src) || p.src[p.pos] != '"' {
			return nil, p.fail("an object needs a key here")
		}
		key, err := p.str()
		if err != nil {
			return nil, err
		}
		p.space()
		if !p.take(':') {
			return nil, p.fail("a key needs ':' after it")
		}
		p.space()
		value, err := p.value()
		if err != nil {
			return nil, err
		}
		m.Set(key, value)
		p.space()
		if p.take('}') {
			return m, nil
		}
		if !p.take(',') {
			return nil, p.fail("an object needs ',' or '}' here")
		}
	}
}

func (p *parser) number() (any, error) {
	start := p.pos
	p.take('-')
	if !p.take('0') && p.digits() == 0 {
		return nil, p.fail("a number needs a digit here")
	}
	whole := true
	if p.take('.') {
		whole = false
		if p.digits() == 0 {
			return nil, p.fail("a number needs a digit after its point")
		}
	}
	if p.take('e') || p.take('E') {
		whole = false
		if !p.take('+') {
			p.take('-')
		}
		if p.digits() == 0 {
			return nil, p.fail("a number needs a digit in its exponent")
		}
	}
	text := p.src[start:p.pos]
	if whole {
		return p.integer(text)
	}
	// Out of range is not an error in Python either: 1e400 is infinity.
	f, _ := strconv.ParseFloat(text, 64)
	return f, nil
}

func (p *parser) digits() int {
	start := p.pos
	for p.pos < len(p.src) && p.src[p.pos] >= '0' && p.src[p.pos] <= '9' {
		p.pos++
	}
	return p.pos - start
}

func (p *parser) integer(text string) (any, error) {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i, nil
	}
	if u, err := strconv.ParseUint(text, 10, 64); err == nil {
		return u, nil
	}
	if len(text) > maxDigits {
		return nil, p.fail(fmt.Sprintf("an integer of more than %d digits", maxDigits))
	}
	huge, _ := new(big.Int).SetString(text, 10)
	return huge, nil
}

// str reads a string; the opening quote comes next.
func (p *parser) str() (string, error) {
	p.pos++
	start := p.pos
	for p.pos < len(p.src) {
		switch c := p.src[p.pos]; {
		case c == '"':
			text := p.src[start:p.pos]
			p.pos++
			return text, p.checkUTF8(text, start)
		case c == '\\':
			return p.escaped(start)
		case c < ' ':
			return "", p.fail("a control character must be escaped")
		}
		p.pos++
	}
	return "", p.fail("the document ends inside a string")
}

func (p *parser) checkUTF8(text string, start int) error {
	if utf8.ValidString(text) {
		return nil
	}
	return &SyntaxError{Offset: start, Reason: "the string is not UTF-8"}
}

// escaped reads the rest of a string that has escapes, from its first one.
func (p *parser) escaped(start int) (string, error) {
	text := []byte(p.src[start:p.pos])
	for p.pos < len(p.src) {
		c := p.src[p.pos]
		switch {
		case c == '"':
			p.pos++
			return string(text), p.checkUTF8(string(text), start)
		case c < ' ':
			return "", p.fail("a control character must be escaped")
		case c == '\\':
			var err error
			if text, err = p.escape(text); err != nil {
				return "", err
			}
		default:
			text = append(text, c)
			p.pos++
		}
	}
	return "", p.fail("the document ends inside a string")
}

var escapes = map[byte]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

func (p *parser) escape(text []byte) ([]byte, error) {
	if p.pos+1 >= len(p.src) {
		return nil, p.fail("the document ends inside a string")
	}
	if c, ok := escapes[p.src[p.pos+1]]; ok {
		p.pos += 2
		return append(text, c), nil
	}
	first, ok := p.unicodeEscape()
	if !ok {
		return nil, p.fail("unknown escape")
	}
	p.pos += 6
	if !utf16.IsSurrogate(first) {
		return utf8.AppendRune(text, first), nil
	}
	if second, ok := p.unicodeEscape(); ok {
		if pair := utf16.DecodeRune(first, second); pair != utf8.RuneError {
			p.pos += 6
			return utf8.AppendRune(text, pair), nil
		}
	}
	return append(text, '?'), nil
}

// unicodeEscape reads a \uXXXX that comes next, without stepping over it.
func (p *parser) unicodeEscape() (rune, bool) {
	if p.pos+6 > len(p.src) || p.src[p.pos:p.pos+2] != `\u` {
		return 0, false
	}
	code, err := strconv.ParseUint(p.src[p.pos+2:p.pos+6], 16, 16)
	return rune(code), err == nil
}
