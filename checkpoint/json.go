package checkpoint

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// The fields of a Checkpoint in JSON, as every runtime stores them.
const (
	fieldV               = "v"
	fieldID              = "id"
	fieldTS              = "ts"
	fieldChannelValues   = "channel_values"
	fieldChannelVersions = "channel_versions"
	fieldVersionsSeen    = "versions_seen"
	fieldUpdatedChannels = "updated_channels"
)

func isField(name string) bool {
	switch name {
	case fieldV, fieldID, fieldTS, fieldChannelValues, fieldChannelVersions, fieldVersionsSeen, fieldUpdatedChannels:
		return true
	}
	return false
}

// MarshalJSON implements [json.Marshaler]. ChannelValues have to be what JSON can hold: a saver takes the others out
// first. Floats keep their fraction (1.0, not 1), so that a Python client reads a float again.
func (c *Checkpoint) MarshalJSON() ([]byte, error) {
	return writeJSON(func(w *jsonWriter) error {
		format := c.V
		if format == 0 {
			format = FormatVersion
		}
		w.raw("{")
		w.name(fieldV)
		_ = w.value(format)
		w.name(fieldID)
		w.text(c.ID)
		w.name(fieldTS)
		w.text(c.TS)
		w.name(fieldChannelValues)
		if err := writeObject(w, c.ChannelValues, w.value); err != nil {
			return fmt.Errorf("checkpoint: channel values: %w", err)
		}
		w.name(fieldChannelVersions)
		_ = writeObject(w, c.ChannelVersions, w.version)
		w.name(fieldVersionsSeen)
		_ = writeObject(w, c.VersionsSeen, w.versions)
		w.name(fieldUpdatedChannels)
		w.texts(c.UpdatedChannels)
		if err := writeMembers(w, c.unknownFields(), w.value); err != nil {
			return fmt.Errorf("checkpoint: extra fields: %w", err)
		}
		w.raw("}")
		return nil
	})
}

// unknownFields are Extra without what would replace a field.
func (c *Checkpoint) unknownFields() map[string]any {
	fields := c.Extra
	for name := range c.Extra {
		if isField(name) {
			fields = maps.Clone(c.Extra)
			maps.DeleteFunc(fields, func(name string, _ any) bool { return isField(name) })
			break
		}
	}
	return fields
}

// UnmarshalJSON implements [json.Unmarshaler]. Numbers without a fraction become int64, uint64 or *big.Int, the first that
// fits; others float64, or [json.Number] where a float64 cannot hold them. All texts share the memory of one copy of data.
func (c *Checkpoint) UnmarshalJSON(data []byte) error {
	var decoded Checkpoint
	if err := readJSON(data, decoded.readFields); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	decoded.ChannelValues = orEmpty(decoded.ChannelValues)
	decoded.ChannelVersions = orEmpty(decoded.ChannelVersions)
	decoded.VersionsSeen = orEmpty(decoded.VersionsSeen)
	*c = decoded
	return nil
}

// readFields reads the object that comes next, or null. Of a field that comes more than once the last counts, and an error in
// another does not.
func (c *Checkpoint) readFields(r *jsonReader) error {
	if isObject, err := r.isObject(reflect.TypeFor[Checkpoint]()); !isObject {
		return err
	}
	var failed map[string]error
	for name := range r.members() {
		start := *r
		err := c.readField(name, r)
		if err == nil {
			delete(failed, name)
			continue
		}
		failed = orEmpty(failed)
		failed[name] = err
		*r = start
		r.value()
	}
	if len(failed) == 0 {
		return nil
	}
	first := slices.Sorted(maps.Keys(failed))[0]
	return fmt.Errorf("%s: %w", first, failed[first])
}

// readField reads the value of a field that comes next.
func (c *Checkpoint) readField(name string, r *jsonReader) (err error) {
	switch name {
	case fieldV:
		c.V, err = r.int()
	case fieldID:
		c.ID, err = r.string()
	case fieldTS:
		c.TS, err = r.string()
	case fieldChannelValues:
		c.ChannelValues, err = r.values()
	case fieldChannelVersions:
		c.ChannelVersions, err = r.versions()
	case fieldVersionsSeen:
		c.VersionsSeen, err = readObject(r, r.versions)
	case fieldUpdatedChannels:
		c.UpdatedChannels, err = r.strings()
	default:
		if c.Extra == nil {
			c.Extra = map[string]any{}
		}
		c.Extra[name] = r.value()
	}
	return err
}

// MarshalJSON implements [json.Marshaler]. NUL characters are removed, and floats keep their fraction.
func (m Metadata) MarshalJSON() ([]byte, error) {
	encoded, err := writeJSON(func(w *jsonWriter) error { return writeObject(w, m, w.value) })
	if err != nil {
		return nil, fmt.Errorf("checkpoint: metadata: %w", err)
	}
	return withoutNUL(encoded), nil
}

// UnmarshalJSON implements [json.Unmarshaler]. Numbers and texts are those of [Checkpoint.UnmarshalJSON].
func (m *Metadata) UnmarshalJSON(data []byte) error {
	var fields map[string]any
	err := readJSON(data, func(r *jsonReader) (err error) {
		fields, err = r.values()
		return err
	})
	if err != nil {
		return fmt.Errorf("checkpoint: metadata: %w", err)
	}
	*m = orEmpty(fields)
	return nil
}

// DecodeValue reads a value that stands inline in the JSON of a checkpoint. Numbers and texts are those of
// [Checkpoint.UnmarshalJSON].
func DecodeValue(data []byte) (any, error) {
	var value any
	err := readJSON(data, func(r *jsonReader) error {
		value = r.value()
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	return value, nil
}

func orEmpty[M ~map[K]V, K comparable, V any](m M) M {
	if m == nil {
		return M{}
	}
	return m
}
