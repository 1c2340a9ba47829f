package checkpointtest_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pgweft/pgweft/checkpoint"
)

// memory is a Saver that does everything the suite checks, so that the suite can be checked. It keeps what a database
// keeps, in the same three tables, and copies whatever goes in or out.
type memory struct {
	mu          sync.Mutex
	checkpoints map[checkpoint.Config]*row
	blobs       map[blobKey]any
	writes      map[checkpoint.Config][]checkpoint.Write
	// stride is how far a copy's integer versions are above all others, so that the old branch has as many before it meets
	// them.
	stride int64
	// newID makes the id of a fork.
	newID func(newest string) string
	// rules are what a removal goes by.
	rules rules
}

type row struct {
	// cp has no values: they are blobs.
	cp       []byte
	metadata []byte
	parent   string
	created  time.Time
	// decoded is the row as it was first read.
	decoded *checkpoint.Tuple
}

func (r *row) decode() (*checkpoint.Tuple, error) {
	tuple := &checkpoint.Tuple{Checkpoint: &checkpoint.Checkpoint{}, CreatedAt: r.created}
	return tuple, errors.Join(tuple.Checkpoint.UnmarshalJSON(r.cp), tuple.Metadata.UnmarshalJSON(r.metadata))
}

type blobKey struct{ thread, namespace, channel, version string }

func newMemory() *memory {
	m := &memory{
		checkpoints: map[checkpoint.Config]*row{},
		blobs:       map[blobKey]any{},
		writes:      map[checkpoint.Config][]checkpoint.Write{},
		stride:      1 << 20,
		newID:       func(newest string) string { return max(checkpoint.NewID(0), newest+checkpoint.NewID(0)) },
	}
	m.rules = rules{needs: (*memory).needs, isDelta: (*memory).isDelta, isWaiting: (*memory).isWaiting}
	return m
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", checkpoint.ErrInvalidArgument, fmt.Sprintf(format, args...))
}

func (m *memory) Get(ctx context.Context, config checkpoint.Config) (*checkpoint.Tuple, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.get(ctx, config)
}

func (m *memory) get(ctx context.Context, config checkpoint.Config) (*checkpoint.Tuple, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if config.ThreadID == "" {
		return nil, invalid("no thread")
	}
	found := m.find(func(key checkpoint.Config) bool {
		return key.ThreadID == config.ThreadID && key.Namespace == config.Namespace &&
			(config.CheckpointID == "" || config.CheckpointID == key.CheckpointID)
	})
	if len(found) == 0 {
		return nil, fmt.Errorf("%w: %+v", checkpoint.ErrNotFound, config)
	}
	return m.tuple(found[0])
}

// find returns the configs that match, newest first.
func (m *memory) find(matches func(checkpoint.Config) bool) []checkpoint.Config {
	var found []checkpoint.Config
	for key := range m.checkpoints {
		if matches(key) {
			found = append(found, key)
		}
	}
	slices.SortFunc(found, func(a, b checkpoint.Config) int { return -strings.Compare(a.CheckpointID, b.CheckpointID) })
	return found
}

func (m *memory) tuple(key checkpoint.Config) (*checkpoint.Tuple, error) {
	r := m.checkpoints[key]
	tuple, err := r.decode()
	if err != nil {
		return nil, err
	}
	tuple.Config = key
	cp := tuple.Checkpoint
	for channel, version := range cp.ChannelVersions {
		if value, ok := m.blobs[blobKey{key.ThreadID, key.Namespace, channel, version.String()}]; ok {
			cp.ChannelValues[channel] = mustClone(value)
		}
	}
	if r.parent != "" {
		parent := key
		parent.CheckpointID = r.parent
		tuple.Parent = &parent
		m.addPackets(cp, parent)
	}
	tuple.PendingWrites = cloneWrites(m.writes[key])
	return tuple, nil
}

func (m *memory) addPackets(cp *checkpoint.Checkpoint, parent checkpoint.Config) {
	var packets []any
	for _, w := range cloneWrites(m.writes[parent]) {
		if cp.V < checkpoint.FormatVersion && w.Channel == checkpoint.ChannelTasks {
			packets = append(packets, w.Value)
		}
	}
	if packets == nil {
		return
	}
	var newest checkpoint.Version
	for _, version := range cp.ChannelVersions {
		if version.Compare(newest) > 0 {
			newest = version
		}
	}
	cp.ChannelValues[checkpoint.ChannelTasks] = packets
	cp.ChannelVersions[checkpoint.ChannelTasks] = newest
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
			if ctx.Err() != nil {
				yield(nil, ctx.Err())
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
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	wanted, err := json.Marshal(options.Filter)
	if err != nil || options.Limit < 0 {
		return nil, invalid("filter %v, limit %d: %v", options.Filter, options.Limit, err)
	}
	var filter checkpoint.Metadata
	if err := filter.UnmarshalJSON(wanted); err != nil {
		return nil, err
	}
	var tuples []*checkpoint.Tuple
	for _, key := range m.find(func(key checkpoint.Config) bool {
		return (config.ThreadID == "" || config.ThreadID == key.ThreadID) &&
			(options.AllNamespaces || config.Namespace == key.Namespace) &&
			(config.CheckpointID == "" || config.CheckpointID == key.CheckpointID) &&
			(options.Before == "" || key.CheckpointID < options.Before)
	}) {
		tuple, err := m.tuple(key)
		if err != nil {
			return nil, err
		}
		if !contains(tuple.Metadata, filter) {
			continue
		}
		if options.WithoutState {
			tuple.Checkpoint.ChannelValues = nil
			tuple.PendingWrites = nil
		}
		tuples = append(tuples, tuple)
		if len(tuples) == options.Limit {
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

func (m *memory) Put(ctx context.Context, config checkpoint.Config, cp *checkpoint.Checkpoint,
	metadata checkpoint.Metadata, newVersions map[string]checkpoint.Version,
) (checkpoint.Config, error) {
	return m.PutStep(ctx, config, cp, metadata, newVersions, nil)
}

func (m *memory) PutStep(ctx context.Context, config checkpoint.Config, cp *checkpoint.Checkpoint,
	metadata checkpoint.Metadata, newVersions map[string]checkpoint.Version, writes []checkpoint.Write,
) (checkpoint.Config, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.putStep(ctx, config, cp, metadata, newVersions, writes)
}

// putStep prepares everything before it changes anything.
func (m *memory) putStep(ctx context.Context, config checkpoint.Config, cp *checkpoint.Checkpoint,
	metadata checkpoint.Metadata, newVersions map[string]checkpoint.Version, writes []checkpoint.Write,
) (checkpoint.Config, error) {
	if err := ctx.Err(); err != nil {
		return checkpoint.Config{}, err
	}
	if config.ThreadID == "" || cp == nil || cp.ID == "" || cp.ID == config.CheckpointID {
		return checkpoint.Config{}, invalid("%+v", config)
	}
	if newVersions == nil {
		newVersions = cp.ChannelVersions
	}
	key := config
	key.CheckpointID = cp.ID
	blobs, err := m.newBlobs(key, cp, newVersions)
	if err != nil {
		return checkpoint.Config{}, err
	}
	bare := *cp
	bare.ChannelValues = nil
	encoded, err := json.Marshal(&bare)
	encodedMetadata, metadataErr := json.Marshal(metadata)
	if err := errors.Join(err, metadataErr); err != nil {
		return checkpoint.Config{}, invalid("%v", err)
	}
	merged, err := mergeByTask(m.writes[key], writes)
	if err != nil {
		return checkpoint.Config{}, err
	}

	maps.Copy(m.blobs, blobs)
	m.writes[key] = merged
	if old, ok := m.checkpoints[key]; ok {
		m.checkpoints[key] = &row{cp: encoded, metadata: encodedMetadata, parent: old.parent, created: old.created}
	} else {
		m.checkpoints[key] = &row{cp: encoded, metadata: encodedMetadata, parent: config.CheckpointID, created: time.Now()}
	}
	return key, nil
}

func (m *memory) newBlobs(key checkpoint.Config, cp *checkpoint.Checkpoint,
	newVersions map[string]checkpoint.Version,
) (map[blobKey]any, error) {
	blobs := map[blobKey]any{}
	for channel, version := range newVersions {
		value, ok := cp.ChannelValues[channel]
		if !ok {
			continue
		}
		copied, err := clone(value)
		if err != nil {
			return nil, err
		}
		at := blobKey{key.ThreadID, key.Namespace, channel, version.String()}
		if stored, exists := m.blobs[at]; exists && fingerprint(stored) != fingerprint(copied) {
			return nil, fmt.Errorf("%w: channel %q, version %s", checkpoint.ErrVersionCollision, channel, version)
		}
		blobs[at] = copied
	}
	return blobs, nil
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
		return invalid("%+v", config)
	}
	var named []checkpoint.Write
	for _, w := range writes {
		named = append(named, checkpoint.Write{TaskID: taskID, TaskPath: taskPath, Channel: w.Channel, Value: w.Value})
	}
	merged, err := mergeByTask(m.writes[config], named)
	if err != nil {
		return err
	}
	m.writes[config] = merged
	return nil
}

var reservedIndexes = map[string]int{
	checkpoint.ChannelError: -1, checkpoint.ChannelScheduled: -2, checkpoint.ChannelInterrupt: -3, checkpoint.ChannelResume: -4,
}

func mergeByTask(stored, added []checkpoint.Write) ([]checkpoint.Write, error) {
	byTask := map[string][]checkpoint.Write{}
	for _, w := range added {
		byTask[w.TaskID] = append(byTask[w.TaskID], w)
	}
	for _, writes := range byTask {
		var err error
		if stored, err = mergeTask(stored, writes); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(stored, func(a, b checkpoint.Write) int {
		return cmp.Or(strings.Compare(a.TaskPath, b.TaskPath), strings.Compare(a.TaskID, b.TaskID), a.Index-b.Index)
	})
	return stored, nil
}

func mergeTask(stored, added []checkpoint.Write) ([]checkpoint.Write, error) {
	stored = slices.Clone(stored)
	replaces := !slices.ContainsFunc(added, func(w checkpoint.Write) bool { return reservedIndexes[w.Channel] == 0 })
	for i, w := range added {
		value, err := clone(w.Value)
		if err != nil {
			return nil, err
		}
		w.Value, w.Index = value, cmp.Or(reservedIndexes[w.Channel], i)
		at := slices.IndexFunc(stored, func(s checkpoint.Write) bool { return s.TaskID == w.TaskID && s.Index == w.Index })
		switch {
		case at < 0:
			stored = append(stored, w)
		case replaces:
			stored[at] = w
		}
	}
	return stored, nil
}

func (m *memory) DeleteThread(ctx context.Context, threadID string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if threadID == "" {
		return invalid("no thread")
	}
	maps.DeleteFunc(m.checkpoints, func(key checkpoint.Config, _ *row) bool { return key.ThreadID == threadID })
	maps.DeleteFunc(m.writes, func(key checkpoint.Config, _ []checkpoint.Write) bool { return key.ThreadID == threadID })
	maps.DeleteFunc(m.blobs, func(key blobKey, _ any) bool { return key.thread == threadID })
	return nil
}

func (m *memory) Fork(ctx context.Context, config checkpoint.Config,
	options checkpoint.ForkOptions,
) (checkpoint.Config, error) {
	if config.CheckpointID == "" {
		return checkpoint.Config{}, invalid("no checkpoint")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	target, err := m.get(ctx, config)
	if err != nil {
		return checkpoint.Config{}, err
	}
	newest := m.find(func(key checkpoint.Config) bool {
		return key.ThreadID == config.ThreadID && key.Namespace == config.Namespace
	})[0].CheckpointID
	versions := m.versionsOfCopy(target, options.CopyBlobs)

	cp := target.Checkpoint
	cp.ID = options.ID
	if cp.ID == "" {
		cp.ID = m.newID(newest)
	} else if cp.ID <= newest {
		return checkpoint.Config{}, invalid("%q is not above %q", cp.ID, newest)
	}
	for _, seen := range cp.VersionsSeen {
		for channel, version := range seen {
			if moved, ok := versions[channel]; ok && version == cp.ChannelVersions[channel] {
				seen[channel] = moved
			}
		}
	}
	maps.Copy(cp.ChannelVersions, versions)

	metadata := checkpoint.Metadata{"source": checkpoint.SourceFork, "parents": target.Metadata["parents"]}
	if counters, ok := target.Metadata[deltaCounters]; ok {
		metadata[deltaCounters] = counters
	}
	if step, ok := target.Metadata.Step(); ok {
		metadata["step"] = step + 1
	}
	maps.Copy(metadata, options.Metadata)
	// The target's own writes to a delta channel are part of the state of whatever continues from it.
	parent := config
	if slices.ContainsFunc(target.PendingWrites, func(w checkpoint.Write) bool { return m.rules.isDelta(m, config, w.Channel) }) {
		parent.CheckpointID = m.checkpoints[config].parent
	}
	return m.putStep(ctx, parent, cp, metadata, nil, nil)
}

func (m *memory) versionsOfCopy(target *checkpoint.Tuple, asked bool) map[string]checkpoint.Version {
	highest := map[string]checkpoint.Version{}
	for key := range m.blobs {
		if key.thread != target.Config.ThreadID || key.namespace != target.Config.Namespace {
			continue
		}
		version := checkpoint.StringVersion(key.version)
		if target.Checkpoint.ChannelVersions[key.channel].IsNumber() {
			version = checkpoint.IntVersion(integer(key.version))
		}
		if version.Compare(highest[key.channel]) > 0 {
			highest[key.channel] = version
		}
	}
	copied := map[string]checkpoint.Version{}
	for channel := range target.Checkpoint.ChannelValues {
		switch version := highest[channel]; {
		case version.IsNumber():
			copied[channel] = checkpoint.IntVersion(integer(version.String()) + m.stride)
		case asked:
			copied[channel] = checkpoint.NextVersion(version)
		}
	}
	return copied
}

func integer(text string) int64 {
	var i int64
	_, _ = fmt.Sscan(text, &i) // a version that is no integer counts as 0
	return i
}

// clone copies a value, and refuses what could not be stored.
func clone(value any) (any, error) {
	switch v := value.(type) {
	case []any:
		copied := make([]any, len(v))
		for i, element := range v {
			var err error
			if copied[i], err = clone(element); err != nil {
				return nil, err
			}
		}
		return copied, nil
	case map[string]any:
		copied := make(map[string]any, len(v))
		for key, element := range v {
			var err error
			if copied[key], err = clone(element); err != nil {
				return nil, err
			}
		}
		return copied, nil
	case []byte:
		return append([]byte{}, v...), nil
	}
	if reflect.ValueOf(value).Kind() == reflect.Chan {
		return nil, invalid("a %T cannot be stored", value)
	}
	return value, nil
}

func mustClone(value any) any {
	copied, err := clone(value)
	if err != nil {
		panic(err) // it was cloned on its way in
	}
	return copied
}

func cloneWrites(writes []checkpoint.Write) []checkpoint.Write {
	copied := slices.Clone(writes)
	for i := range copied {
		copied[i].Value = mustClone(copied[i].Value)
	}
	return copied
}

// fingerprint is the same for equal values, NaN included, and different for 0.0 and -0.0.
func fingerprint(value any) string {
	switch v := value.(type) {
	case float64:
		return fmt.Sprint("float ", math.Float64bits(v))
	case []any:
		var parts []string
		for _, element := range v {
			parts = append(parts, fingerprint(element))
		}
		return fmt.Sprintf("list %q", parts)
	case map[string]any:
		var parts []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, key, fingerprint(v[key]))
		}
		return fmt.Sprintf("map %q", parts)
	}
	return fmt.Sprintf("%#v", value)
}
