package serde

import (
	"encoding/hex"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/pgweft/pgweft/serde/messages"
	"github.com/pgweft/pgweft/serde/ordered"
)

// NaiveTime is Python's datetime without a time zone. Time holds the wall clock
// as UTC; its own zone is not looked at.
type NaiveTime struct{ Time time.Time }

// Date is Python's date, of the years 1 to 9999.
type Date struct {
	Year  int
	Month time.Month
	Day   int
}

// Decimal is Python's decimal.Decimal as its text: "1.50", "1E+3", "NaN". The
// text is written as it is; Python writes str(value), so the number 1e3 is the
// same bytes only as "1E+3".
type Decimal string

// Set is Python's set, in the order in which it was written. Python's own order
// is arbitrary.
type Set []any

// FrozenSet is Python's frozenset.
type FrozenSet []any

// Deque is Python's collections.deque. Its maxlen is not stored by LangGraph.
type Deque []any

// NDArray is a NumPy array.
type NDArray struct {
	// DType is NumPy's array protocol type, such as "<f8".
	DType string
	// Shape is the length of each dimension.
	Shape []int64
	// Order is "C" for rows first, "F" for columns first.
	Order string
	// Data are the elements as they lie in memory.
	Data []byte
}

// builtins read the Python classes that have a Go type. They return false for
// what the type cannot hold exactly, which then stays an Object.
var builtins map[class]func(constructor) (any, bool)

func init() {
	// Assigned here because the readers refer to the map through the registry.
	builtins = map[class]func(constructor) (any, bool){
		{"datetime", "datetime"}:          readDatetime,
		{"datetime", "date"}:              readDate,
		{"datetime", "timedelta"}:         readTimedelta,
		{"uuid", "UUID"}:                  readUUID,
		{"decimal", "Decimal"}:            readDecimal,
		{"builtins", "set"}:               readItems(func(items []any) any { return Set(items) }),
		{"builtins", "frozenset"}:         readItems(func(items []any) any { return FrozenSet(items) }),
		{"collections", "deque"}:          readItems(func(items []any) any { return Deque(items) }),
		{langgraphTypes, "Send"}:          readSend,
		{langgraphTypes, "Interrupt"}:     readInterrupt,
		{langgraphTypes, "Overwrite"}:     readOverwrite,
		{langgraphTypes, "TimeoutPolicy"}: readTimeoutPolicy,
	}
}

func messageOf(c constructor) (messages.Message, bool) {
	fields, ok := c.payload.(*ordered.Map)
	if !ok {
		return nil, false
	}
	return messages.FromFields(c.module, c.name, fields)
}

// isoLayouts are what datetime.isoformat writes: the time zone only where there
// is one, fractions and seconds of the offset only where they are not zero.
const (
	isoLayout         = "2006-01-02T15:04:05"
	isoMicroseconds   = ".000000"
	isoOffset         = "-07:00"
	isoOffsetSeconds  = "-07:00:00"
	longestISOLayout  = len(isoLayout + isoMicroseconds + isoOffsetSeconds)
	microsecondDigits = len(isoMicroseconds)
)

func readDatetime(c constructor) (any, bool) {
	text, ok := c.payload.(string)
	if c.kind != KindMethod || c.method != "fromisoformat" || !ok {
		return nil, false
	}
	return parseISO(text)
}

// parseISO reads what isoformat writes, and nothing that would not be written
// back the same, such as an offset with microseconds.
func parseISO(text string) (any, bool) {
	if len(text) < len(isoLayout) || len(text) > longestISOLayout {
		return nil, false
	}
	layout, rest := isoLayout, text[len(isoLayout):]
	if len(rest) > 0 && rest[0] == '.' {
		if len(rest) < microsecondDigits {
			return nil, false
		}
		layout, rest = layout+isoMicroseconds, rest[microsecondDigits:]
	}
	switch len(rest) {
	case 0:
		t, err := time.Parse(layout, text)
		naive := NaiveTime{t}
		written, _ := naive.format()
		return naive, err == nil && written == text
	case len(isoOffset):
		layout += isoOffset
	case len(isoOffsetSeconds):
		layout += isoOffsetSeconds
	default:
		return nil, false
	}
	t, err := time.Parse(layout, text)
	if err != nil {
		return nil, false
	}
	t = fixZone(t)
	written, err := formatTime(t)
	return t, err == nil && written == text
}

// fixZone replaces the zone time.Parse chose, which depends on the machine's
// own, by UTC or the bare offset.
func fixZone(t time.Time) time.Time {
	_, offset := t.Zone()
	if offset == 0 {
		return t.UTC()
	}
	return t.In(time.FixedZone("", offset))
}

// formatTime writes an aware datetime as isoformat does. Python has
// microseconds: what is below is cut off.
func formatTime(t time.Time) (string, error) {
	text, err := formatWallClock(t)
	if err != nil {
		return "", err
	}
	_, offset := t.Zone()
	if offset <= -secondsPerDay || offset >= secondsPerDay {
		return "", fmt.Errorf("the time zone is %d seconds from UTC, Python allows less than a day", offset)
	}
	layout := isoOffset
	if offset%60 != 0 {
		layout = isoOffsetSeconds
	}
	return text + t.Format(layout), nil
}

func (n NaiveTime) format() (string, error) { return formatWallClock(n.Time) }

func formatWallClock(t time.Time) (string, error) {
	if t.Year() < 1 || t.Year() > 9999 {
		return "", fmt.Errorf("the year %d is outside of what Python's datetime holds, 1 to 9999", t.Year())
	}
	if t.Nanosecond() < int(time.Microsecond) {
		return t.Format(isoLayout), nil
	}
	return t.Format(isoLayout + isoMicroseconds), nil
}

// String is the text that Python's isoformat gives.
func (n NaiveTime) String() string { return n.Time.Format(isoLayout + ".999999") }

// MarshalText writes the text that Python's isoformat gives.
func (n NaiveTime) MarshalText() ([]byte, error) {
	text, err := n.format()
	return []byte(text), err
}

func (e *encoder) datetime(text string, err error) error {
	if err != nil {
		return err
	}
	return e.constructor(KindMethod, "datetime", "datetime", text, "fromisoformat")
}

func readDate(c constructor) (any, bool) {
	numbers, ok := integersOf(c, 3)
	if !ok {
		return nil, false
	}
	date := Date{int(numbers[0]), time.Month(numbers[1]), int(numbers[2])}
	_, err := date.format()
	return date, err == nil
}

// integersOf returns the positional arguments of a constructor that takes n
// integers.
func integersOf(c constructor, n int) ([]int64, bool) {
	args, ok := c.payload.([]any)
	if c.kind != KindArgs || !ok || len(args) != n {
		return nil, false
	}
	numbers := make([]int64, n)
	for i, arg := range args {
		if numbers[i], ok = arg.(int64); !ok {
			return nil, false
		}
	}
	return numbers, true
}

// String is the date in ISO form, such as 2025-03-09.
func (d Date) String() string { return fmt.Sprintf("%04d-%02d-%02d", d.Year, d.Month, d.Day) }

// MarshalText writes the date in ISO form.
func (d Date) MarshalText() ([]byte, error) {
	text, err := d.format()
	return []byte(text), err
}

func (d Date) format() (string, error) {
	t := time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, time.UTC)
	if d.Year < 1 || d.Year > 9999 || t.Month() != d.Month || t.Day() != d.Day {
		return "", fmt.Errorf("%v is not a date of the years 1 to 9999", d)
	}
	return d.String(), nil
}

func (e *encoder) date(d Date) error {
	if _, err := d.format(); err != nil {
		return err
	}
	args := []any{int64(d.Year), int64(d.Month), int64(d.Day)}
	return e.constructor(KindArgs, "datetime", "date", args, "")
}

const (
	microsecondsPerSecond = int64(time.Second / time.Microsecond)
	secondsPerDay         = 24 * 60 * 60
)

// timedeltaArgs are days, seconds and microseconds; only days can be negative.
// Python has microseconds: what is below is cut off towards zero.
func timedeltaArgs(d time.Duration) []any {
	microseconds := d.Microseconds()
	seconds, microseconds := floorDivide(microseconds, microsecondsPerSecond)
	days, seconds := floorDivide(seconds, secondsPerDay)
	return []any{days, seconds, microseconds}
}

func floorDivide(a, b int64) (quotient, remainder int64) {
	quotient, remainder = a/b, a%b
	if remainder < 0 {
		return quotient - 1, remainder + b
	}
	return quotient, remainder
}

// readTimedelta reads a timedelta of up to 292 years, the most a Duration holds.
func readTimedelta(c constructor) (any, bool) {
	numbers, ok := integersOf(c, 3)
	if !ok {
		return nil, false
	}
	days, seconds, microseconds := numbers[0], numbers[1], numbers[2]
	const mostDays = math.MaxInt64/int64(time.Second)/secondsPerDay - 1
	normal := seconds >= 0 && seconds < secondsPerDay && microseconds >= 0 && microseconds < microsecondsPerSecond
	if !normal || days > mostDays || days < -mostDays {
		return nil, false
	}
	return time.Duration(days*secondsPerDay+seconds)*time.Second + time.Duration(microseconds)*time.Microsecond, true
}

func uuidHex(id uuid.UUID) string { return hex.EncodeToString(id[:]) }

func readUUID(c constructor) (any, bool) {
	text, ok := c.payload.(string)
	if c.kind != KindArg || !ok || len(text) != 2*len(uuid.UUID{}) {
		return nil, false
	}
	id, err := uuid.Parse(text)
	return id, err == nil && uuidHex(id) == text
}

// decimalText is the grammar of decimal.Decimal, without the blanks and
// underscores it also takes.
var decimalText = regexp.MustCompile(`^[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[Ii]nf(?:inity)?|s?NaN[0-9]*)$`)

func readDecimal(c constructor) (any, bool) {
	text, ok := c.payload.(string)
	return Decimal(text), c.kind == KindArg && ok && decimalText.MatchString(text)
}

func (e *encoder) decimal(d Decimal) error {
	if !decimalText.MatchString(string(d)) {
		return fmt.Errorf("serde.Decimal %s is not a number Python's Decimal reads", strconv.Quote(string(d)))
	}
	return e.constructor(KindArg, "decimal", "Decimal", string(d), "")
}

func readItems(wrap func([]any) any) func(constructor) (any, bool) {
	return func(c constructor) (any, bool) {
		items, ok := c.payload.([]any)
		if c.kind != KindArg || !ok {
			return nil, false
		}
		return wrap(items), true
	}
}

func (e *encoder) ndarray(a NDArray) error {
	start, err := e.beginExt()
	if err != nil {
		return err
	}
	shape := make([]any, len(a.Shape))
	for i, n := range a.Shape {
		shape[i] = n
	}
	data := a.Data
	if data == nil {
		data = []byte{}
	}
	if err := e.array([]any{a.DType, shape, a.Order, data}); err != nil {
		return err
	}
	return e.endExt(start, kindNDArray)
}

func (d *decoder) ndarray() (any, error) {
	parts, ok, err := d.arrayOf(4)
	if err != nil || !ok {
		return nil, err
	}
	var a NDArray
	dims, isArray := parts[1].([]any)
	a.Shape = make([]int64, len(dims))
	for i, n := range dims {
		dim, isInt := n.(int64)
		isArray = isArray && isInt
		a.Shape[i] = dim
	}
	var isType, isOrder, isData bool
	a.DType, isType = parts[0].(string)
	a.Order, isOrder = parts[2].(string)
	a.Data, isData = parts[3].([]byte)
	if !isArray || !isType || !isOrder || !isData {
		return nil, nil
	}
	return a, nil
}

// arrayOf reads a payload that is an array of n elements, n below 16, and
// reports whether it is one.
func (d *decoder) arrayOf(n int) ([]any, bool, error) {
	if d.pos >= d.end || d.src[d.pos] != codeFixArray|byte(n) { //nolint:gosec // G115: n is below 16
		return nil, false, nil
	}
	value, err := d.value()
	if err != nil || d.pos != d.end {
		return nil, false, err
	}
	items, ok := value.([]any)
	return items, ok, nil
}
