package checkpoint_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/serde"
)

// memory is a Saver and nothing more: what works on any Saver is tested on it. Values are kept serialized, so that nothing
// is shared with its callers.
type memory struct {
	mu     sync.Mutex
	states map[checkpoint.Config]state
	blobs  map[blobKey]serde.Typed
	writes map[checkpoint.Config][]savedWrite
}

type state struct {
	checkpoint, metadata []byte
	parent               string
	created              time.Time
}

type blobKey struct{ thread, namespace, channel, version string }

type savedWrite struct {
	checkpoint.Write
	value serde.Typed
}

func newMemory() *memory {
	return &memory{
		states: map[checkpoint.Config]state{},
		blobs:  map[blobKey]serde.Typed{},
		writes: map[checkpoint.Config][]savedWrite{},
	}
}

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %s", checkpoint.ErrInvalidArgument, fmt.Sprintf(format, args...))
}

func (m *memory) Get(ctx context.Context, config checkpoint.Config) (*checkpoint.Tuple, error) {
	if config.ThreadID == "" {
		return nil, refuse("no thread")
	}
	for tuple, err := range m.List(ctx, config, checkpoint.ListOptions{Limit: 1}) {
		return tuple, err
	}
	return nil, fmt.Errorf("%w: %+v", checkpoint.ErrNotFound, config)
}

func (m *memory) List(ctx context.Context, config checkpoint.Config,
	options checkpoint.ListOptions,
) iter.Seq2[*checkpoint.Tuple, error] {
	return func(yield func(*checkpoint.Tuple, error) bool) {
		tuples, err := m.list(ctx, config, options)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, tuple := range tuples {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			if !yield(tuple, nil) {
				return
			}
		}
	}
}

func (m *memory) list(ctx context.Context, config checkpoint.Config,
	options checkpoint.ListOptions,
) ([]*checkpoint.Tuple, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	wanted, err := json.Marshal(options.Filter)
	var filter checkpoint.Metadata
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err != nil || options.Limit < 0 {
		return nil, refuse("filter %v, limit %d: %v", options.Filter, options.Limit, err)
	}
	if err := filter.UnmarshalJSON(wanted); err != nil {
		return nil, err
	}
	keys := slices.SortedFunc(maps.Keys(m.states), func(a, b checkpoint.Config) int {
		return cmp.Or(-strings.Compare(a.CheckpointID, b.CheckpointID), strings.Compare(a.Namespace, b.Namespace),
			strings.Compare(a.ThreadID, b.ThreadID))
	})
	var tuples []*checkpoint.Tuple
	for _, key := range keys {
		if config.ThreadID != "" && config.ThreadID != key.ThreadID || !options.AllNamespaces && config.Namespace != key.Namespace ||
			config.CheckpointID != "" && config.CheckpointID != key.CheckpointID ||
			options.Before != "" && key.CheckpointID >= options.Before {
			continue
		}
		tuple, err := m.tuple(key, options.WithoutState)
		if err != nil {
			return nil, err
		}
		if contains(tuple.Metadata, filter) {
			tuples = append(tuples, tuple)
		}
		if len(tuples) == options.Limit && options.Limit > 0 {
			break
		}
	}
	return tuples, nil
}

func contains(metadata, filter checkpoint.Metadata) bool {
	for key, wanted := range filter {
		if value, ok := metadata[key]; !ok || !reflect.DeepEqual(value, wanted) {
			return false
		}
	}
	return true
}

func (m *memory) tuple(key checkpoint.Config, withoutState bool) (*checkpoint.Tuple, error) {
	saved := m.states[key]
	cp := &checkpoint.Checkpoint{}
	tuple := &checkpoint.Tuple{Config: key, Checkpoint: cp, CreatedAt: saved.created}
	if err := errors.Join(cp.UnmarshalJSON(saved.checkpoint), tuple.Metadata.UnmarshalJSON(saved.metadata)); err != nil {
		return nil, err
	}
	if saved.parent != "" {
		parent := at(key, saved.parent)
		tuple.Parent = &parent
	}
	if withoutState {
		return tuple, nil
	}
	for channel, version := range cp.ChannelVersions {
		typed, ok := m.blobs[blobKey{key.ThreadID, key.Namespace, channel, version.String()}]
		if !ok {
			continue
		}
		value, err := serde.Default().Load(typed)
		if err != nil {
			return nil, err
		}
		cp.ChannelValues[channel] = value
	}
	for _, write := range m.writes[key] {
		value, err := serde.Default().Load(write.value)
		if err != nil {
			return nil, err
		}
		write.Value = value
		tuple.PendingWrites = append(tuple.PendingWrites, write.Write)
	}
	if cp.V < checkpoint.FormatVersion {
		return tuple, m.addPackets(tuple)
	}
	return tuple, nil
}

// addPackets does what a Saver does for older formats: the packets are among the parent's writes.
func (m *memory) addPackets(tuple *checkpoint.Tuple) error {
	if tuple.Parent == nil {
		return nil
	}
	var packets []any
	for _, write := range m.writes[*tuple.Parent] {
		if write.Channel != checkpoint.ChannelTasks {
			continue
		}
		value, err := serde.Default().Load(write.value)
		if err != nil {
			return err
		}
		packets = append(packets, value)
	}
	if packets == nil {
		return nil
	}
	cp := tuple.Checkpoint
	var newest checkpoint.Version
	for _, version := range cp.ChannelVersions {
		if version.Compare(newest) > 0 {
			newest = version
		}
	}
	cp.ChannelValues[checkpoint.ChannelTasks], cp.ChannelVersions[checkpoint.ChannelTasks] = packets, newest
	return nil
}

func at(config checkpoint.Config, id string) checkpoint.Config {
	config.CheckpointID = id
	return config
}

func (m *memory) Put(ctx context.Context, config checkpoint.Config, cp *checkpoint.Checkpoint,
	metadata checkpoint.Metadata, newVersions map[string]checkpoint.Version,
) (checkpoint.Config, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return checkpoint.Config{}, err
	}
	if config.ThreadID == "" || cp == nil || cp.ID == "" || cp.ID == config.CheckpointID {
		return checkpoint.Config{}, refuse("%+v", config)
	}
	if newVersions == nil {
		newVersions = cp.ChannelVersions
	}
	key := at(config, cp.ID)
	blobs, err := m.newBlobs(key, cp, newVersions)
	if err != nil {
		return checkpoint.Config{}, err
	}
	bare := *cp
	bare.ChannelValues = nil
	encoded, err := json.Marshal(&bare)
	encodedMetadata, metadataErr := json.Marshal(metadata)
	if err := errors.Join(err, metadataErr); err != nil {
		return checkpoint.Config{}, refuse("%v", err)
	}
	maps.Copy(m.blobs, blobs)
	saved := state{encoded, encodedMetadata, config.CheckpointID, time.Now()}
	if old, ok := m.states[key]; ok {
		saved.parent, saved.created = old.parent, old.created
	}
	m.states[key] = saved
	return key, nil
}

func (m *memory) newBlobs(key checkpoint.Config, cp *checkpoint.Checkpoint,
	newVersions map[string]checkpoint.Version,
) (map[blobKey]serde.Typed, error) {
	blobs := map[blobKey]serde.Typed{}
	for channel, version := range newVersions {
		value, ok := cp.ChannelValues[channel]
		if !ok {
			continue
		}
		typed, err := serde.Default().Dump(value)
		if err != nil {
			return nil, refuse("channel %q: %v", channel, err)
		}
		place := blobKey{key.ThreadID, key.Namespace, channel, version.String()}
		if held, ok := m.blobs[place]; ok && !sameTyped(held, typed) {
			return nil, fmt.Errorf("%w: channel %q, version %s", checkpoint.ErrVersionCollision, channel, version)
		}
		blobs[place] = typed
	}
	return blobs, nil
}

func sameTyped(a, b serde.Typed) bool { return a.Type == b.Type && bytes.Equal(a.Data, b.Data) }

var reserved = map[string]int{
	checkpoint.ChannelError: -1, checkpoint.ChannelScheduled: -2, checkpoint.ChannelInterrupt: -3, checkpoint.ChannelResume: -4,
}

func (m *memory) PutWrites(ctx context.Context, config checkpoint.Config, writes []checkpoint.Write,
	taskID, taskPath string,
) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if config.ThreadID == "" || config.CheckpointID == "" {
		return refuse("%+v", config)
	}
	replaces := !slices.ContainsFunc(writes, func(w checkpoint.Write) bool { return reserved[w.Channel] == 0 })
	stored := slices.Clone(m.writes[config])
	for i, write := range writes {
		typed, err := serde.Default().Dump(write.Value)
		if err != nil {
			return refuse("write %d: %v", i, err)
		}
		added := savedWrite{checkpoint.Write{
			TaskID: taskID, TaskPath: taskPath, Channel: write.Channel, Index: cmp.Or(reserved[write.Channel], i),
		}, typed}
		place := slices.IndexFunc(stored, func(w savedWrite) bool { return w.TaskID == taskID && w.Index == added.Index })
		switch {
		case place < 0:
			stored = append(stored, added)
		case replaces:
			stored[place] = added
		}
	}
	m.writes[config] = sorted(stored)
	return nil
}

func sorted(writes []savedWrite) []savedWrite {
	slices.SortFunc(writes, func(a, b savedWrite) int {
		return cmp.Or(strings.Compare(a.TaskPath, b.TaskPath), strings.Compare(a.TaskID, b.TaskID), a.Index-b.Index)
	})
	return writes
}

func (m *memory) DeleteThread(ctx context.Context, threadID string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if threadID == "" {
		return refuse("no thread")
	}
	maps.DeleteFunc(m.states, func(key checkpoint.Config, _ state) bool { return key.ThreadID == threadID })
	maps.DeleteFunc(m.writes, func(key checkpoint.Config, _ []savedWrite) bool { return key.ThreadID == threadID })
	maps.DeleteFunc(m.blobs, func(key blobKey, _ serde.Typed) bool { return key.thread == threadID })
	return nil
}
