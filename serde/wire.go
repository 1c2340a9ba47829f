//nolint:gosec // G115: each conversion keeps the low bytes of a number that was just found to fit them.
package serde

import (
	"encoding/binary"
	"math"
)

// The codes of the MessagePack specification, by their names there.
const (
	codeFixMap   = 0x80
	codeFixArray = 0x90
	codeFixStr   = 0xa0
	codeNil      = 0xc0
	codeFalse    = 0xc2
	codeTrue     = 0xc3
	codeBin8     = 0xc4
	codeBin16    = 0xc5
	codeBin32    = 0xc6
	codeExt8     = 0xc7
	codeExt16    = 0xc8
	codeExt32    = 0xc9
	codeFloat32  = 0xca
	codeFloat64  = 0xcb
	codeUint8    = 0xcc
	codeUint16   = 0xcd
	codeUint32   = 0xce
	codeUint64   = 0xcf
	codeInt8     = 0xd0
	codeInt16    = 0xd1
	codeInt32    = 0xd2
	codeInt64    = 0xd3
	codeFixExt1  = 0xd4
	codeFixExt2  = 0xd5
	codeFixExt4  = 0xd6
	codeFixExt8  = 0xd7
	codeFixExt16 = 0xd8
	codeStr8     = 0xd9
	codeStr16    = 0xda
	codeStr32    = 0xdb
	codeArray16  = 0xdc
	codeArray32  = 0xdd
	codeMap16    = 0xde
	codeMap32    = 0xdf
	codeNegFix   = 0xe0
)

// maxExtHeader is the longest header of an extension: code, 32-bit length, type.
const maxExtHeader = 6

func appendInt(b []byte, i int64) []byte {
	switch {
	case i >= 0:
		return appendUint(b, uint64(i))
	case i >= -32:
		return append(b, byte(i))
	case i >= math.MinInt8:
		return append(b, codeInt8, byte(i))
	case i >= math.MinInt16:
		return binary.BigEndian.AppendUint16(append(b, codeInt16), uint16(i))
	case i >= math.MinInt32:
		return binary.BigEndian.AppendUint32(append(b, codeInt32), uint32(i))
	}
	return binary.BigEndian.AppendUint64(append(b, codeInt64), uint64(i))
}

func appendUint(b []byte, u uint64) []byte {
	switch {
	case u < 0x80:
		return append(b, byte(u))
	case u <= math.MaxUint8:
		return append(b, codeUint8, byte(u))
	case u <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, codeUint16), uint16(u))
	case u <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(b, codeUint32), uint32(u))
	}
	return binary.BigEndian.AppendUint64(append(b, codeUint64), u)
}

// goNaN and pythonNaN are the bits of math.NaN() and of float("nan").
const (
	goNaN     = 0x7ff8000000000001
	pythonNaN = 0x7ff8000000000000
)

func appendFloat64(b []byte, f float64) []byte {
	bits := math.Float64bits(f)
	if bits == goNaN {
		bits = pythonNaN
	}
	return binary.BigEndian.AppendUint64(append(b, codeFloat64), bits)
}

func appendFloat32(b []byte, f float32) []byte {
	return binary.BigEndian.AppendUint32(append(b, codeFloat32), math.Float32bits(f))
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, codeTrue)
	}
	return append(b, codeFalse)
}

// appendLength writes a code with its length in the fewest bytes. fix is the
// code that holds a length below fixLimit itself; small is the 8-bit code, or 0
// where the format has none; the 16- and 32-bit codes follow wide.
func appendLength(b []byte, n int, fix byte, fixLimit int, small, wide byte) []byte {
	switch {
	case n < fixLimit:
		return append(b, fix|byte(n))
	case n <= math.MaxUint8 && small != 0:
		return append(b, small, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, wide), uint16(n))
	}
	return binary.BigEndian.AppendUint32(append(b, wide+1), uint32(n))
}

func appendStringHeader(b []byte, n int) []byte {
	return appendLength(b, n, codeFixStr, 32, codeStr8, codeStr16)
}

func appendBinaryHeader(b []byte, n int) []byte {
	return appendLength(b, n, 0, 0, codeBin8, codeBin16)
}

func appendArrayHeader(b []byte, n int) []byte {
	return appendLength(b, n, codeFixArray, 16, 0, codeArray16)
}

func appendMapHeader(b []byte, n int) []byte {
	return appendLength(b, n, codeFixMap, 16, 0, codeMap16)
}

func appendExtHeader(b []byte, n int, code int8) []byte {
	switch n {
	case 1:
		b = append(b, codeFixExt1)
	case 2:
		b = append(b, codeFixExt2)
	case 4:
		b = append(b, codeFixExt4)
	case 8:
		b = append(b, codeFixExt8)
	case 16:
		b = append(b, codeFixExt16)
	default:
		b = appendLength(b, n, 0, 0, codeExt8, codeExt16)
	}
	return append(b, byte(code))
}

func isBinary(code byte) bool { return code >= codeBin8 && code <= codeBin32 }

// binaryHeader is the length of the header of a bin 8, 16 or 32.
func binaryHeader(code byte) int { return 1 + 1<<(code-codeBin8) }
