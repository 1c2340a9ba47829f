package checkpoint

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/big"
	"reflect"
	"strconv"
	"strings"
)

// checkpointJSON is the JSON form of a Checkpoint, as every runtime stores it.
type checkpointJSON struct {
	V               int                           `json:"v"`
	ID              string                        `json:"id"`
	TS              string                        `json:"ts"`
	ChannelValues   map[string]any                `json:"channel_values"`
	ChannelVersions map[string]Version            `json:"channel_versions"`
	VersionsSeen    map[string]map[string]Version `json:"versions_seen"`
	UpdatedChannels []string                      `json:"updated_channels"`
}

// MarshalJSON implements [json.Marshaler]. ChannelValues have to be what JSON can hold: a saver takes the others out
// first. Floats keep their fraction (1.0, not 1), so that a Python client reads a float again.
func (c *Checkpoint) MarshalJSON() ([]byte, error) {
	form := checkpointJSON{
		V: c.V, ID: c.ID, TS: c.TS,
		ChannelValues:   orEmpty(c.ChannelValues),
		ChannelVersions: orEmpty(c.ChannelVersions),
		VersionsSeen:    orEmpty(c.VersionsSeen),
		UpdatedChannels: c.UpdatedChannels,
	}
	if form.V == 0 {
		form.V = FormatVersion
	}
	values, err := keepFractions(form.ChannelValues)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: channel values: %w", err)
	}
	form.ChannelValues = values.(map[string]any)
	if len(c.Extra) == 0 {
		return encodeJSON(form)
	}

	extra, err := keepFractions(c.Extra)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: extra fields: %w", err)
	}
	fields := extra.(map[string]any)
	encoded, err := encodeJSON(form)
	if err != nil {
		return nil, err
	}
	var known map[string]json.RawMessage
	if err := json.Unmarshal(encoded, &known); err != nil {
		return nil, err
	}
	for name, value := range known {
		fields[name] = value
	}
	return encodeJSON(fields)
}

// UnmarshalJSON implements [json.Unmarshaler]. Numbers without a fraction become int64, uint64 or *big.Int, the first that
// fits; others float64, or [json.Number] where a float64 cannot hold them.
func (c *Checkpoint) UnmarshalJSON(data []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	var form checkpointJSON
	// One by one, because encoding/json would take a field "ID" for "id".
	for name, into := range map[string]any{
		"v": &form.V, "id": &form.ID, "ts": &form.TS,
		"channel_values": &form.ChannelValues, "channel_versions": &form.ChannelVersions,
		"versions_seen": &form.VersionsSeen, "updated_channels": &form.UpdatedChannels,
	} {
		if raw, ok := fields[name]; ok {
			if err := decodeJSON(raw, into); err != nil {
				return fmt.Errorf("checkpoint: %s: %w", name, err)
			}
			delete(fields, name)
		}
	}
	decoded := Checkpoint{
		V: form.V, ID: form.ID, TS: form.TS,
		ChannelValues:   plainNumbers(orEmpty(form.ChannelValues)).(map[string]any),
		ChannelVersions: orEmpty(form.ChannelVersions),
		VersionsSeen:    orEmpty(form.VersionsSeen),
		UpdatedChannels: form.UpdatedChannels,
	}
	for name, raw := range fields {
		var value any
		if err := decodeJSON(raw, &value); err != nil {
			return fmt.Errorf("checkpoint: %s: %w", name, err)
		}
		if decoded.Extra == nil {
			decoded.Extra = map[string]any{}
		}
		decoded.Extra[name] = plainNumbers(value)
	}
	*c = decoded
	return nil
}

// MarshalJSON implements [json.Marshaler]. NUL characters are removed, and floats keep their fraction.
func (m Metadata) MarshalJSON() ([]byte, error) {
	fields, err := keepFractions(orEmpty(map[string]any(m)))
	if err != nil {
		return nil, fmt.Errorf("checkpoint: metadata: %w", err)
	}
	encoded, err := encodeJSON(fields)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: metadata: %w", err)
	}
	return withoutNUL(encoded), nil
}

// UnmarshalJSON implements [json.Unmarshaler]. Numbers are those of [Checkpoint.UnmarshalJSON].
func (m *Metadata) UnmarshalJSON(data []byte) error {
	var fields map[string]any
	if err := decodeJSON(data, &fields); err != nil {
		return fmt.Errorf("checkpoint: metadata: %w", err)
	}
	*m = Metadata(plainNumbers(orEmpty(fields)).(map[string]any))
	return nil
}

// DecodeValue reads a value that stands inline in the JSON of a checkpoint. Numbers are those of
// [Checkpoint.UnmarshalJSON].
func DecodeValue(data []byte) (any, error) {
	var value any
	if err := decodeJSON(data, &value); err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	return plainNumbers(value), nil
}

func orEmpty[M ~map[K]V, K comparable, V any](m M) M {
	if m == nil {
		return M{}
	}
	return m
}

func encodeJSON(value any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n")), nil
}

func decodeJSON(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return fmt.Errorf("more than one JSON value")
	}
	return nil
}

// keepFractions copies a JSON-like value, with every float as a number that shows it is one.
func keepFractions(value any) (any, error) {
	switch v := value.(type) {
	case float64:
		return jsonFloat(v)
	case float32:
		return jsonFloat(float64(v))
	case map[string]any:
		copied := make(map[string]any, len(v))
		for key, element := range v {
			kept, err := keepFractions(element)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
			copied[key] = kept
		}
		return copied, nil
	case []any:
		copied := make([]any, len(v))
		for i, element := range v {
			kept, err := keepFractions(element)
			if err != nil {
				return nil, fmt.Errorf("element %d: %w", i, err)
			}
			copied[i] = kept
		}
		return copied, nil
	}
	return keepFractionsOf(reflect.ValueOf(value), value)
}

// keepFractionsOf does the same for Go's other slices and maps, such as []float64. What encodes itself, and bytes, which
// JSON holds as text, stay as they are.
func keepFractionsOf(v reflect.Value, value any) (any, error) {
	switch value.(type) {
	case nil, []byte, json.Marshaler, encoding.TextMarshaler:
		return value, nil
	}
	switch {
	case v.CanFloat():
		return jsonFloat(v.Float())
	case v.Kind() == reflect.Slice && !v.IsNil(), v.Kind() == reflect.Array:
		elements := make([]any, v.Len())
		for i := range elements {
			elements[i] = v.Index(i).Interface()
		}
		return keepFractions(elements)
	case v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String && !v.IsNil():
		elements := make(map[string]any, v.Len())
		for key, element := range v.Seq2() {
			elements[key.String()] = element.Interface()
		}
		return keepFractions(elements)
	}
	return value, nil
}

func jsonFloat(f float64) (any, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("JSON has no %v: %w", f, ErrInvalidArgument)
	}
	return json.Number(decimalText(f)), nil
}

// decimalText writes a float without an exponent and with a fraction, the one form that JSON and Postgres's numeric text
// share.
func decimalText(f float64) string {
	text := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// plainNumbers replaces, in place, every json.Number by a Go number.
func plainNumbers(value any) any {
	switch v := value.(type) {
	case json.Number:
		return plainNumber(v)
	case map[string]any:
		for key, element := range v {
			v[key] = plainNumbers(element)
		}
	case []any:
		for i, element := range v {
			v[i] = plainNumbers(element)
		}
	}
	return value
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

// withoutNUL takes the escape of NUL out of encoded JSON. A backslash that is itself escaped does not begin one.
func withoutNUL(encoded []byte) []byte {
	escape := []byte(`\u0000`)
	if !bytes.Contains(encoded, escape) {
		return encoded
	}
	kept := make([]byte, 0, len(encoded))
	for i := 0; i < len(encoded); {
		switch {
		case bytes.HasPrefix(encoded[i:], escape):
			i += len(escape)
		case encoded[i] == '\\' && i+1 < len(encoded):
			kept = append(kept, encoded[i], encoded[i+1])
			i += 2
		default:
			kept = append(kept, encoded[i])
			i++
		}
	}
	return kept
}
