package sql_test

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

var (
	errDamaged = errors.New("not a MessagePack value")
	errNotUTF8 = errors.New("not UTF-8")
)

const deepest = 1000

// A container that is a map key begins a level of keys, of which there may be four; depths count both.
const (
	keyLevel   = 1 << 20
	deepestKey = 4
)

func tooDeep(depth int) bool { return depth%keyLevel >= deepest || depth/keyLevel > deepestKey }

// modelJSON is what the header of msgpack_to_jsonb promises, written a second time: recursive, over slices, and slow. Its
// text is that of Postgres, because the text of a key that is no string becomes the key.
func modelJSON(data []byte) (string, error) {
	text, rest, err := modelValue(data, 0)
	if err == nil && len(rest) > 0 {
		return "", fmt.Errorf("%w: %d bytes follow", errDamaged, len(rest))
	}
	return text, err
}

func modelValue(data []byte, depth int) (text string, rest []byte, err error) {
	if len(data) == 0 {
		return "", nil, errDamaged
	}
	c, rest := data[0], data[1:]
	switch {
	case c < 0x80:
		return strconv.Itoa(int(c)), rest, nil
	case c < 0x90:
		return modelMap(uint64(c&15), rest, depth)
	case c < 0xa0:
		return modelArray(uint64(c&15), rest, depth)
	case c < 0xc0:
		return modelString(uint64(c&31), rest)
	case c >= 0xe0:
		return strconv.Itoa(int(int8(c))), rest, nil
	case c == 0xc0:
		return "null", rest, nil
	case c == 0xc2:
		return "false", rest, nil
	case c == 0xc3:
		return "true", rest, nil
	case c >= 0xca && c <= 0xd3:
		return modelNumber(c, rest)
	case c >= 0xd4 && c <= 0xd8:
		return modelExtension(uint64(1)<<(c-0xd4), rest, depth)
	}
	return modelSized(c, rest, depth)
}

// modelSized reads the kinds whose length stands in one, two or four bytes.
func modelSized(c byte, rest []byte, depth int) (string, []byte, error) {
	widths := map[byte]int{0xc4: 1, 0xc5: 2, 0xc6: 4, 0xc7: 1, 0xc8: 2, 0xc9: 4, 0xd9: 1, 0xda: 2, 0xdb: 4, 0xdc: 2, 0xdd: 4, 0xde: 2, 0xdf: 4}
	n, rest, err := modelUint(widths[c], rest) // 0xc1 has no width, and is an error
	if err != nil {
		return "", nil, err
	}
	switch {
	case c <= 0xc6:
		body, rest, err := cut(n, rest)
		return modelBytes(body), rest, err
	case c <= 0xc9:
		return modelExtension(n, rest, depth)
	case c <= 0xdb:
		return modelString(n, rest)
	case c <= 0xdd:
		return modelArray(n, rest, depth)
	}
	return modelMap(n, rest, depth)
}

func modelUint(width int, data []byte) (n uint64, rest []byte, err error) {
	if width == 0 {
		return 0, nil, errDamaged
	}
	body, rest, err := cut(uint64(width), data)
	return binary.BigEndian.Uint64(append(make([]byte, 8-len(body)), body...)), rest, err
}

func cut(n uint64, data []byte) (body, rest []byte, err error) {
	if n > uint64(len(data)) {
		return nil, nil, errDamaged
	}
	return data[:n], data[n:], nil
}

func modelNumber(c byte, data []byte) (string, []byte, error) {
	widths := map[byte]int{0xca: 4, 0xcb: 8, 0xcc: 1, 0xcd: 2, 0xce: 4, 0xcf: 8, 0xd0: 1, 0xd1: 2, 0xd2: 4, 0xd3: 8}
	n, rest, err := modelUint(widths[c], data)
	if err != nil {
		return "", nil, err
	}
	switch c {
	case 0xca:
		return postgresFloat(float64(math.Float32frombits(uint32(n))), 32), rest, nil
	case 0xcb:
		return postgresFloat(math.Float64frombits(n), 64), rest, nil
	case 0xcc, 0xcd, 0xce, 0xcf:
		return strconv.FormatUint(n, 10), rest, nil
	}
	shift := 64 - 8*widths[c]
	return strconv.FormatInt(int64(n<<shift)>>shift, 10), rest, nil
}

// postgresFloat is the text of a float8 (64) or float4 (32) in JSON.
func postgresFloat(f float64, bits int) string {
	switch {
	case math.IsNaN(f):
		return `"NaN"`
	case math.IsInf(f, 1):
		return `"Infinity"`
	case math.IsInf(f, -1):
		return `"-Infinity"`
	}
	scientific := strconv.FormatFloat(f, 'e', -1, bits)
	mantissa, power, _ := strings.Cut(scientific, "e")
	decimals := max(0, len(strings.TrimPrefix(mantissa, "-"))-2)
	for betweenNeighbours(scientific, f, bits) {
		decimals++
		scientific = strconv.FormatFloat(f, 'e', decimals, bits)
	}
	exponent, err := strconv.Atoi(power)
	if digits := map[int]int{32: 6, 64: 15}[bits]; err != nil || exponent < -4 || exponent >= digits {
		return scientific
	}
	return strconv.FormatFloat(f, 'f', max(0, decimals-exponent), bits)
}

// betweenNeighbours is whether the text is the same distance from f as from the number next to it. It reads as f, and Go
// writes it, but Postgres takes one digit more.
func betweenNeighbours(text string, f float64, bits int) bool {
	exact, _, err := big.ParseFloat(text, 10, 2000, big.ToNearestEven)
	if err != nil {
		return false
	}
	for _, towards := range []float64{math.Inf(1), math.Inf(-1)} {
		next := math.Nextafter(f, towards)
		if bits == 32 {
			next = float64(math.Nextafter32(float32(f), float32(towards)))
		}
		if math.IsInf(next, 0) {
			continue
		}
		middle := new(big.Float).SetPrec(2000).Add(big.NewFloat(f), big.NewFloat(next))
		if exact.Cmp(middle.Quo(middle, big.NewFloat(2))) == 0 {
			return true
		}
	}
	return false
}

func modelString(n uint64, data []byte) (string, []byte, error) {
	body, rest, err := cut(n, data)
	if err != nil {
		return "", nil, err
	}
	if !utf8.Valid(body) {
		return "", nil, errNotUTF8
	}
	return postgresQuote(strings.ReplaceAll(string(body), "\x00", "\ufffd")), rest, nil
}

// postgresQuote is the text of a string in JSON.
func postgresQuote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		if short := strings.IndexRune("\b\f\n\r\t\"\\", r); short >= 0 {
			b.WriteString([]string{`\b`, `\f`, `\n`, `\r`, `\t`, `\"`, `\\`}[short])
		} else if r < ' ' {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func modelBytes(body []byte) string {
	return `{"lc_type":"builtins.bytes","base64":"` + base64.StdEncoding.EncodeToString(body) + `"}`
}

func modelArray(n uint64, data []byte, depth int) (string, []byte, error) {
	items, rest, err := modelItems(n, data, depth)
	return "[" + items + "]", rest, err
}

func modelItems(n uint64, data []byte, depth int) (string, []byte, error) {
	if n > 0 && tooDeep(depth) {
		return "", nil, fmt.Errorf("%w: too deep", errDamaged)
	}
	var b strings.Builder
	for i := range n {
		text, rest, err := modelValue(data, depth+1)
		if err != nil {
			return "", nil, err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(text)
		data = rest
	}
	return b.String(), data, nil
}

func modelMap(n uint64, data []byte, depth int) (string, []byte, error) {
	entries, rest, err := modelEntries(n, data, depth)
	return "{" + entries + "}", rest, err
}

func modelEntries(n uint64, data []byte, depth int) (string, []byte, error) {
	if n > 0 && tooDeep(depth) {
		return "", nil, fmt.Errorf("%w: too deep", errDamaged)
	}
	var b strings.Builder
	for i := range n {
		key, rest, err := modelValue(data, depth+1+keyLevel)
		if err != nil {
			return "", nil, err
		}
		text, rest, err := modelValue(rest, depth+1)
		if err != nil {
			return "", nil, err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		if !strings.HasPrefix(key, `"`) {
			key = postgresQuote(key)
		}
		b.WriteString(key + ":" + text)
		data = rest
	}
	return b.String(), data, nil
}

func modelExtension(n uint64, data []byte, depth int) (string, []byte, error) {
	if len(data) == 0 {
		return "", nil, errDamaged
	}
	code := int8(data[0])
	payload, rest, err := cut(n, data[1:])
	if err != nil {
		return "", nil, err
	}
	text, err := modelConstructor(code, payload, depth)
	return text, rest, err
}

func modelConstructor(code int8, payload []byte, depth int) (string, error) {
	if name, argument, ok, err := modelName(code, payload); ok || err != nil {
		if err != nil {
			return "", err
		}
		return modelCall(code, name, argument, depth)
	}
	if named, ok := map[int8]string{6: "numpy.ndarray", 7: "langgraph.checkpoint.serde.types._DeltaSnapshot"}[code]; ok && len(payload) > 0 {
		argument, _, err := modelItems(1, payload, depth)
		return `{"lc_type":"` + named + `","args":[` + argument + `]}`, err
	}
	return fmt.Sprintf(`{"lc_type":"msgpack.ext","code":%d,"base64":"%s"}`, code, base64.StdEncoding.EncodeToString(payload)), nil
}

// modelName recognizes an array of three or four that begins with a module and a name, with something behind them.
func modelName(code int8, payload []byte) (name string, argument []byte, ok bool, err error) {
	if code < 0 || code > 5 || len(payload) == 0 || payload[0] != 0x93 && payload[0] != 0x94 {
		return "", nil, false, nil
	}
	rest := payload[1:]
	var parts []string
	for range 2 {
		var n uint64
		switch {
		case len(rest) > 0 && rest[0] >= 0xa0 && rest[0] < 0xc0:
			n, rest = uint64(rest[0]&31), rest[1:]
		case len(rest) > 1 && rest[0] == 0xd9:
			n, rest = uint64(rest[1]), rest[2:]
		default:
			return "", nil, false, nil
		}
		if n >= uint64(len(rest)) {
			return "", nil, false, nil
		}
		if !utf8.Valid(rest[:n]) {
			return "", nil, false, errNotUTF8
		}
		parts = append(parts, strings.ReplaceAll(string(rest[:n]), "\x00", "\ufffd"))
		rest = rest[n:]
	}
	return parts[0] + "." + parts[1], rest, true, nil
}

// modelCall writes a constructor with its keyword arguments, its positional arguments, or its one argument.
func modelCall(code int8, name string, argument []byte, depth int) (string, error) {
	c, named := argument[0], `{"lc_type":`+postgresQuote(name)
	n, body, err := modelCount(argument)
	isMap := c >= 0x80 && c < 0x90 || c == 0xde || c == 0xdf
	isArray := c >= 0x90 && c < 0xa0 || c == 0xdc || c == 0xdd
	switch {
	case (code == 2 || code == 4 || code == 5) && isMap:
		if err != nil {
			return "", err
		}
		entries, _, err := modelEntries(n, body, depth)
		if entries != "" {
			named += ","
		}
		return named + entries + "}", err
	case code == 1 && isArray:
		if err != nil {
			return "", err
		}
		items, _, err := modelItems(n, body, depth)
		return named + `,"args":[` + items + "]}", err
	}
	item, _, err := modelItems(1, argument, depth)
	return named + `,"args":[` + item + "]}", err
}

// modelCount reads the header of an array or a map.
func modelCount(data []byte) (n uint64, rest []byte, err error) {
	switch c := data[0]; {
	case c < 0xa0:
		return uint64(c & 15), data[1:], nil
	case c == 0xdc || c == 0xde:
		return modelUint(2, data[1:])
	}
	return modelUint(4, data[1:])
}
