package checkpoint

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
)

// Version is the version of a channel's value: text, as Python runtimes write it, or a number, as JavaScript runtimes do.
// The kind survives a round trip. Versions compare equal with == when they are of one kind and have the same text; the
// zero Version is no version.
type Version struct {
	text   string
	number bool
}

// StringVersion is a version that is text.
func StringVersion(s string) Version { return Version{text: s} }

// IntVersion is a version that is an integer.
func IntVersion(i int64) Version { return Version{text: strconv.FormatInt(i, 10), number: true} }

// FloatVersion is a version that is a floating-point number. Infinities and NaN are not versions, and give the zero
// Version.
func FloatVersion(f float64) Version {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return Version{}
	}
	// JSON in a database has no negative zero, and the value would not be found under another text.
	return Version{text: decimalText(f + 0), number: true}
}

// String is the version as text, as a saver keys the channel's value by it.
func (v Version) String() string { return v.text }

// IsZero says whether v is no version.
func (v Version) IsZero() bool { return v == Version{} }

// IsNumber says whether the version is a number rather than text.
func (v Version) IsNumber() bool { return v.number }

// MarshalJSON implements [json.Marshaler].
func (v Version) MarshalJSON() ([]byte, error) {
	switch {
	case v.IsZero():
		return []byte("null"), nil
	case v.number:
		return []byte(v.text), nil
	}
	return json.Marshal(v.text)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (v *Version) UnmarshalJSON(data []byte) error {
	var version Version
	err := readJSON(data, func(r *jsonReader) (err error) {
		version, err = r.version()
		return err
	})
	if err != nil {
		return err
	}
	*v = version
	return nil
}

// numberVersion writes a number as a database writes it back: a value is found again by the text of its version.
func numberVersion(number json.Number) (Version, error) {
	text := number.String()
	f, err := number.Float64()
	switch {
	case err != nil:
		return Version{}, fmt.Errorf("checkpoint: a channel version is a number that a float holds, not %.40s", text)
	case strings.ContainsAny(text, "eE"):
		return FloatVersion(f), nil
	case f == 0:
		text = strings.TrimPrefix(text, "-")
	}
	return Version{text: text, number: true}, nil
}

// Compare returns a negative number when v is older than other, 0 when neither is, and a positive number when v is newer.
// Numbers compare by value and text by bytes, as runtimes do; between a number and text the counters compare. The zero
// Version is older than any other.
func (v Version) Compare(other Version) int {
	switch {
	case v == other:
		return 0
	case v.IsZero():
		return -1
	case other.IsZero():
		return 1
	case v.number && other.number:
		a, _ := new(big.Rat).SetString(v.text)
		b, _ := new(big.Rat).SetString(other.text)
		if a != nil && b != nil {
			return a.Cmp(b)
		}
	case v.number != other.number:
		if a, b := v.counter(), other.counter(); a != nil && b != nil {
			return a.Cmp(b)
		}
	}
	return strings.Compare(v.text, other.text)
}

// NextVersion is the version that follows current, of the same kind; the zero Version begins at 1, as text. Text versions
// are a zero-padded counter and a random fraction, so that two writers that continue from one checkpoint do not choose
// the same version; integers have no such guard.
func NextVersion(current Version) Version {
	counter := new(big.Int)
	if !current.IsZero() {
		if c := current.counter(); c != nil {
			counter = c
		}
	}
	counter.Add(counter, big.NewInt(1))
	if current.number {
		return Version{text: counter.String(), number: true}
	}
	// A fraction only has to differ between two writers; it is no secret.
	fraction := strconv.FormatFloat(rand.Float64(), 'f', -1, 64) //nolint:gosec // see above
	return Version{text: fmt.Sprintf("%032s.%016s", counter, fraction)}
}

// counter is the whole number a version begins with; nil if it begins with none.
func (v Version) counter() *big.Int {
	whole, _, _ := strings.Cut(v.text, ".")
	counter, ok := new(big.Int).SetString(whole, 10)
	if !ok {
		return nil
	}
	return counter
}
