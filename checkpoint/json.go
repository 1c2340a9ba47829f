package checkpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
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

var knownFields = []string{
	"v", "id", "ts", "channel_values", "channel_versions", "versions_seen", "updated_channels",
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

// UnmarshalJSON implements [json.Unmarshaler]. Numbers become int64 where they are whole and fit, otherwise float64.
func (c *Checkpoint) UnmarshalJSON(data []byte) error {
	var form checkpointJSON
	if err := decodeJSON(data, &form); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	*c = Checkpoint{
		V: form.V, ID: form.ID, TS: form.TS,
		ChannelValues:   plainNumbers(orEmpty(form.ChannelValues)).(map[string]any),
		ChannelVersions: orEmpty(form.ChannelVersions),
		VersionsSeen:    orEmpty(form.VersionsSeen),
		UpdatedChannels: form.UpdatedChannels,
	}
	for _, name := range knownFields {
		delete(all, name)
	}
	for name, raw := range all {
		var value any
		if err := decodeJSON(raw, &value); err != nil {
			return fmt.Errorf("checkpoint: %s: %w", name, err)
		}
		if c.Extra == nil {
			c.Extra = map[string]any{}
		}
		c.Extra[name] = plainNumbers(value)
	}
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

// UnmarshalJSON implements [json.Unmarshaler]. Numbers become int64 where they are whole and fit, otherwise float64.
func (m *Metadata) UnmarshalJSON(data []byte) error {
	var fields map[string]any
	if err := decodeJSON(data, &fields); err != nil {
		return fmt.Errorf("checkpoint: metadata: %w", err)
	}
	*m = Metadata(plainNumbers(orEmpty(fields)).(map[string]any))
	return nil
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

// plainNumbers replaces, in place, every json.Number by an int64 or a float64.
func plainNumbers(value any) any {
	switch v := value.(type) {
	case json.Number:
		if i, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return i
		}
		if f, err := v.Float64(); err == nil {
			return f
		}
		return v.String()
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
