package pgsaver

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/serde"
)

// encodedCheckpoint is a checkpoint as put_checkpoint takes it: JSON, and the values that do not stand in it as parallel
// arrays.
type encodedCheckpoint struct {
	checkpoint, metadata      string
	channels, versions, types []string
	blobs                     [][]byte
}

func (e *encodedCheckpoint) args(config checkpoint.Config, cp *checkpoint.Checkpoint) []any {
	return []any{
		config.ThreadID, config.Namespace, cp.ID, orNull(config.CheckpointID), e.checkpoint, e.metadata,
		e.channels, e.versions, e.types, e.blobs,
	}
}

// argsWithLargest are those of args, with the largest value by itself after them: put_checkpoint copies it less than an element
// of an array.
func (e *encodedCheckpoint) argsWithLargest(config checkpoint.Config, cp *checkpoint.Checkpoint) []any {
	if len(e.blobs) == 0 {
		return append(e.args(config, cp), nil, nil, nil, nil)
	}
	largest := 0
	for i, blob := range e.blobs {
		if len(blob) > len(e.blobs[largest]) {
			largest = i
		}
	}
	byItself := []any{e.channels[largest], e.versions[largest], e.types[largest], e.blobs[largest]}
	e.channels = slices.Delete(e.channels, largest, largest+1)
	e.versions = slices.Delete(e.versions, largest, largest+1)
	e.types = slices.Delete(e.types, largest, largest+1)
	e.blobs = slices.Delete(e.blobs, largest, largest+1)
	return append(e.args(config, cp), byItself...)
}

// encode keeps the values in buffer, until it is released.
func (s *Saver) encode(buffer *serde.Buffer, cp *checkpoint.Checkpoint, metadata checkpoint.Metadata,
	newVersions map[string]checkpoint.Version,
) (*encodedCheckpoint, error) {
	if cp == nil {
		return nil, fmt.Errorf("%w: the checkpoint is nil", checkpoint.ErrInvalidArgument)
	}
	if newVersions == nil {
		newVersions = cp.ChannelVersions
	}
	encoded := &encodedCheckpoint{channels: []string{}, versions: []string{}, types: []string{}, blobs: [][]byte{}}
	inlineValues := make(map[string]any, len(cp.ChannelValues))
	encrypts := serde.Encrypts(s.serde)
	for channel, version := range newVersions {
		if version.IsZero() || version != cp.ChannelVersions[channel] {
			return nil, fmt.Errorf("%w: channel %q is new with version %q, and ChannelVersions has %q, by which its value "+
				"could not be found again", checkpoint.ErrInvalidArgument, channel, version, cp.ChannelVersions[channel])
		}
	}
	for _, channel := range slices.Sorted(maps.Keys(cp.ChannelValues)) {
		value := cp.ChannelValues[channel]
		inline := isInline(value)
		if inline && !encrypts {
			inlineValues[channel] = value
			continue
		}
		if _, isSnapshot := value.(serde.DeltaSnapshot); isSnapshot {
			// Runtimes look for this marker before they look for the value.
			inlineValues[channel] = true
		}
		version := cp.ChannelVersions[channel]
		if version.IsZero() {
			return nil, fmt.Errorf("%w: channel %q has a value but no version, so it could not be found again; "+
				"add it to ChannelVersions and to the new versions", checkpoint.ErrInvalidArgument, channel)
		}
		// An unchanged value is stored already, unless it is a primitive that a saver without encryption kept inline.
		if _, isNew := newVersions[channel]; !isNew && !inline {
			continue
		}
		typed, err := buffer.Dump(s.serde, value)
		if err != nil {
			return nil, fmt.Errorf("%w: channel %q: %w", checkpoint.ErrInvalidArgument, channel, err)
		}
		encoded.channels = append(encoded.channels, channel)
		encoded.versions = append(encoded.versions, version.String())
		encoded.types = append(encoded.types, typed.Type)
		encoded.blobs = append(encoded.blobs, notNil(typed.Data))
	}

	form := *cp
	form.ChannelValues = inlineValues
	var err error
	if encoded.checkpoint, err = encodeJSON(&form); err != nil {
		return nil, err
	}
	encoded.metadata, err = encodeJSON(metadata)
	return encoded, err
}

func encodeJSON(value json.Marshaler) (string, error) {
	encoded, err := value.MarshalJSON()
	if err != nil {
		return "", fmt.Errorf("%w: %w", checkpoint.ErrInvalidArgument, err)
	}
	return unsafe.String(unsafe.SliceData(encoded), len(encoded)), nil //nolint:gosec // nobody else has what was just encoded
}

// isInline says whether a value stands in the checkpoint's JSON, as every saver keeps primitives, rather than in a blob.
// What JSON in Postgres would not give back as it was (NUL, NaN, negative zero) becomes a blob, which every saver reads as
// well.
func isInline(value any) bool {
	switch v := value.(type) {
	case nil, bool, int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64, *big.Int, json.Number:
		return true
	case float32:
		return isInlineFloat(float64(v))
	case float64:
		return isInlineFloat(v)
	case string:
		return utf8.ValidString(v) && !strings.Contains(v, "\x00")
	}
	return false
}

func isInlineFloat(f float64) bool {
	return !math.IsNaN(f) && !math.IsInf(f, 0) && (f != 0 || !math.Signbit(f))
}

// encodedWrites are writes as put_writes and put_step take them: parallel arrays.
type encodedWrites struct {
	taskIDs, taskPaths, channels, types []string
	blobs                               [][]byte
}

func (s *Saver) encodeWrites(buffer *serde.Buffer, writes []checkpoint.Write) (*encodedWrites, error) {
	encoded := &encodedWrites{
		taskIDs:   make([]string, len(writes)),
		taskPaths: make([]string, len(writes)),
		channels:  make([]string, len(writes)),
		types:     make([]string, len(writes)),
		blobs:     make([][]byte, len(writes)),
	}
	for i, write := range writes {
		typed, err := buffer.Dump(s.serde, write.Value)
		if err != nil {
			return nil, fmt.Errorf("%w: write %d to channel %q: %w", checkpoint.ErrInvalidArgument, i, write.Channel, err)
		}
		encoded.taskIDs[i] = write.TaskID
		encoded.taskPaths[i] = write.TaskPath
		encoded.channels[i] = write.Channel
		encoded.types[i] = typed.Type
		encoded.blobs[i] = notNil(typed.Data)
	}
	return encoded, nil
}

// notNil keeps an empty value from becoming a null, which means something else to other clients.
func notNil(data []byte) []byte {
	if data == nil {
		return []byte{}
	}
	return data
}
