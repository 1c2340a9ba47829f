package checkpointtest_test

import (
	"context"
	"maps"
	"slices"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/serde"
)

const deltaCounters = "counters_since_delta_snapshot"

// rules say what may be removed. Those of a broken saver are wrong.
type rules struct {
	needs     func(*memory, checkpoint.Config) []checkpoint.Config
	isDelta   func(m *memory, in checkpoint.Config, channel string) bool
	isWaiting func(*memory, checkpoint.Config) bool
}

// DeltaHistory follows the parents, for one channel after the other.
func (m *memory) DeltaHistory(ctx context.Context, config checkpoint.Config,
	channels []string,
) (map[string]checkpoint.DeltaHistory, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	target, err := m.get(ctx, config)
	if err != nil {
		return nil, err
	}
	histories := map[string]checkpoint.DeltaHistory{}
	for _, channel := range channels {
		histories[channel], _ = m.history(target.Config, channel)
	}
	return histories, nil
}

// ancestors are the parents, the nearest first.
func (m *memory) ancestors(key checkpoint.Config) []checkpoint.Config {
	var path []checkpoint.Config
	for ancestor, ok := m.parent(key); ok; ancestor, ok = m.parent(ancestor) {
		path = append(path, ancestor)
	}
	return path
}

// history also returns the ancestors from the nearest to the last that contributed.
func (m *memory) history(key checkpoint.Config, channel string) (checkpoint.DeltaHistory, []checkpoint.Config) {
	var history checkpoint.DeltaHistory
	path := m.ancestors(key)
	contributed := 0
	for i, ancestor := range path {
		writes := m.writesTo(ancestor, channel)
		history.Writes = append(writes, history.Writes...)
		history.Seed, history.HasSeed = m.stored(ancestor, channel)
		if history.HasSeed || len(writes) > 0 {
			contributed = i + 1
		}
		if history.HasSeed {
			break
		}
	}
	return history, path[:contributed]
}

// parent is false where there is none, or none any more.
func (m *memory) parent(key checkpoint.Config) (checkpoint.Config, bool) {
	parent := key
	parent.CheckpointID = m.checkpoints[key].parent
	_, ok := m.checkpoints[parent]
	return parent, ok
}

func (m *memory) writesTo(key checkpoint.Config, channel string) []checkpoint.Write {
	return slices.DeleteFunc(cloneWrites(m.writes[key]), func(w checkpoint.Write) bool { return w.Channel != channel })
}

// stored is the value that a checkpoint has itself.
func (m *memory) stored(key checkpoint.Config, channel string) (any, bool) {
	value, ok := m.blob(key, channel)
	return mustClone(value), ok && value != nil
}

func (m *memory) blob(key checkpoint.Config, channel string) (any, bool) {
	version, ok := m.decoded(key).Checkpoint.ChannelVersions[channel]
	if !ok {
		return nil, false
	}
	value, ok := m.blobs[blobKey{key.ThreadID, key.Namespace, channel, version.String()}]
	return value, ok
}

// decoded is a checkpoint without its values. It is kept, and nobody may change it.
func (m *memory) decoded(key checkpoint.Config) *checkpoint.Tuple {
	r := m.checkpoints[key]
	if r.decoded == nil {
		tuple, err := r.decode()
		if err != nil {
			panic(err) // it was encoded on its way in
		}
		r.decoded = tuple
	}
	return r.decoded
}

// isDelta says whether any checkpoint of the namespace counts a channel's updates since a snapshot, or has a snapshot of it.
func (m *memory) isDelta(in checkpoint.Config, channel string) bool {
	return slices.Contains(m.deltaChannels(in), channel)
}

func (m *memory) deltaChannels(in checkpoint.Config) []string {
	found := map[string]bool{}
	for _, key := range m.inNamespace(in) {
		tuple := m.decoded(key)
		counters, _ := tuple.Metadata[deltaCounters].(map[string]any)
		for channel := range counters {
			found[channel] = true
		}
		for channel := range tuple.Checkpoint.ChannelVersions {
			value, _ := m.blob(key, channel)
			if _, ok := value.(serde.DeltaSnapshot); ok {
				found[channel] = true
			}
		}
	}
	return slices.Collect(maps.Keys(found))
}

// inNamespace are the checkpoints of a thread and namespace, newest first.
func (m *memory) inNamespace(in checkpoint.Config) []checkpoint.Config {
	return m.find(func(key checkpoint.Config) bool {
		return key.ThreadID == in.ThreadID && key.Namespace == in.Namespace
	})
}

func (m *memory) inThread(id string) []checkpoint.Config {
	return m.find(func(key checkpoint.Config) bool { return key.ThreadID == id })
}

// needs are the ancestors without which a checkpoint would read back differently.
func (m *memory) needs(key checkpoint.Config) []checkpoint.Config {
	return append(m.needsForDelta(key), m.needsForPackets(key)...)
}

func (m *memory) needsForDelta(key checkpoint.Config) []checkpoint.Config {
	var needed []checkpoint.Config
	for _, channel := range m.deltaChannels(key) {
		if _, ok := m.stored(key, channel); !ok && m.rules.isDelta(m, key, channel) {
			_, path := m.history(key, channel)
			needed = append(needed, path...)
		}
	}
	return needed
}

func (m *memory) needsForPackets(key checkpoint.Config) []checkpoint.Config {
	parent, ok := m.parent(key)
	if ok && m.decoded(key).Checkpoint.V < checkpoint.FormatVersion && len(m.writesTo(parent, checkpoint.ChannelTasks)) > 0 {
		return []checkpoint.Config{parent}
	}
	return nil
}

func (m *memory) isHead(key checkpoint.Config) bool {
	return !slices.ContainsFunc(m.inNamespace(key), func(other checkpoint.Config) bool {
		return m.checkpoints[other].parent == key.CheckpointID
	})
}

func (m *memory) isWaiting(key checkpoint.Config) bool {
	return m.isHead(key) && len(m.writesTo(key, checkpoint.ChannelInterrupt)) > 0
}

// staying are the checkpoints that are not condemned, and what they need, and what that needs.
func (m *memory) staying(threadID string, condemned map[checkpoint.Config]bool) map[checkpoint.Config]bool {
	stays := map[checkpoint.Config]bool{}
	var stay func(key checkpoint.Config)
	stay = func(key checkpoint.Config) {
		if !stays[key] {
			stays[key] = true
			for _, needed := range m.rules.needs(m, key) {
				stay(needed)
			}
		}
	}
	for _, key := range m.inThread(threadID) {
		if !condemned[key] {
			stay(key)
		}
	}
	return stays
}

// remove takes the condemned checkpoints of a thread, except those that others need.
func (m *memory) remove(threadID string, condemned map[checkpoint.Config]bool) checkpoint.Removed {
	stays := m.staying(threadID, condemned)
	removed := checkpoint.Removed{ThreadID: threadID}
	for key := range condemned {
		if stays[key] {
			removed.Kept++
			continue
		}
		removed.Checkpoints++
		removed.Bytes += int64(len(m.checkpoints[key].cp) + len(m.checkpoints[key].metadata))
		delete(m.checkpoints, key)
		m.removeWrites(key, &removed)
	}
	m.removeParents(threadID)
	m.removeBlobs(threadID, &removed)
	return removed
}

func (m *memory) removeWrites(key checkpoint.Config, removed *checkpoint.Removed) {
	for _, w := range m.writes[key] {
		removed.Writes++
		removed.Bytes += int64(len(fingerprint(w.Value)))
	}
	delete(m.writes, key)
}

func (m *memory) removeThreadsWrites(threadID string, removed *checkpoint.Removed) {
	for key := range m.writes {
		if key.ThreadID == threadID {
			m.removeWrites(key, removed)
		}
	}
}

// removeParents makes null the parents that are gone. Rows are shared with copies of the tables.
func (m *memory) removeParents(threadID string) {
	for _, key := range m.inThread(threadID) {
		if _, ok := m.parent(key); !ok {
			orphan := *m.checkpoints[key]
			orphan.parent = ""
			m.checkpoints[key] = &orphan
		}
	}
}

func (m *memory) removeBlobs(threadID string, removed *checkpoint.Removed) {
	referenced := m.referencedBlobs(threadID)
	for key, value := range m.blobs {
		if key.thread == threadID && !referenced[key] {
			removed.Blobs++
			removed.Bytes += int64(len(fingerprint(value)))
			delete(m.blobs, key)
		}
	}
}

func (m *memory) referencedBlobs(threadID string) map[blobKey]bool {
	referenced := map[blobKey]bool{}
	for _, key := range m.inThread(threadID) {
		for channel, version := range m.decoded(key).Checkpoint.ChannelVersions {
			referenced[blobKey{threadID, key.Namespace, channel, version.String()}] = true
		}
	}
	return referenced
}

// DeleteForRuns condemns what the runs made, in one thread after the other.
func (m *memory) DeleteForRuns(ctx context.Context, runIDs []string) ([]checkpoint.Removed, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	condemned := map[string]map[checkpoint.Config]bool{}
	for key := range m.checkpoints {
		if run, ok := m.decoded(key).Metadata["run_id"].(string); ok && slices.Contains(runIDs, run) {
			if condemned[key.ThreadID] == nil {
				condemned[key.ThreadID] = map[checkpoint.Config]bool{}
			}
			condemned[key.ThreadID][key] = true
		}
	}
	var removed []checkpoint.Removed
	for _, threadID := range slices.Sorted(maps.Keys(condemned)) {
		removed = append(removed, m.remove(threadID, condemned[threadID]))
	}
	return removed, nil
}

// Prune makes a dry run on a copy of the tables.
func (m *memory) Prune(ctx context.Context, threadIDs []string,
	options checkpoint.PruneOptions,
) ([]checkpoint.Removed, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if options.Strategy == "" {
		options.Strategy = checkpoint.KeepLatest
	}
	if options.Keep < 0 || (options.Strategy != checkpoint.KeepLatest && options.Strategy != checkpoint.PruneAll) {
		return nil, invalid("%+v", options)
	}
	tables := m
	if options.DryRun {
		tables = m.clone()
	}
	var removed []checkpoint.Removed
	for _, threadID := range slices.Compact(slices.Sorted(slices.Values(threadIDs))) {
		removed = append(removed, tables.pruneThread(threadID, options))
	}
	return removed, nil
}

// clone copies the tables.
func (m *memory) clone() *memory {
	return &memory{
		checkpoints: maps.Clone(m.checkpoints), blobs: maps.Clone(m.blobs), writes: maps.Clone(m.writes), rules: m.rules,
	}
}

func (m *memory) pruneThread(threadID string, options checkpoint.PruneOptions) checkpoint.Removed {
	condemned := map[checkpoint.Config]bool{}
	if options.Strategy == checkpoint.PruneAll {
		for _, key := range m.inThread(threadID) {
			condemned[key] = true
		}
		removed := m.remove(threadID, condemned)
		m.removeThreadsWrites(threadID, &removed)
		return removed
	}
	place := map[string]int{}
	for _, key := range m.inThread(threadID) {
		place[key.Namespace]++
		condemned[key] = place[key.Namespace] > max(options.Keep, 1) && !m.rules.isWaiting(m, key) &&
			(!options.KeepHeads || !m.isHead(key))
	}
	maps.DeleteFunc(condemned, func(_ checkpoint.Config, goes bool) bool { return !goes })
	return m.remove(threadID, condemned)
}

// CopyThread copies what the three tables have of a thread.
func (m *memory) CopyThread(ctx context.Context, sourceThreadID, targetThreadID string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if sourceThreadID == "" || targetThreadID == "" || sourceThreadID == targetThreadID || !m.isEmpty(targetThreadID) {
		return invalid("copy of %q to %q", sourceThreadID, targetThreadID)
	}
	m.copyThread(sourceThreadID, targetThreadID)
	return nil
}

func (m *memory) isEmpty(threadID string) bool {
	for key := range m.blobs {
		if key.thread == threadID {
			return false
		}
	}
	for key := range m.writes {
		if key.ThreadID == threadID {
			return false
		}
	}
	return len(m.inThread(threadID)) == 0
}

func (m *memory) copyThread(source, target string) {
	for _, key := range m.inThread(source) {
		m.checkpoints[checkpoint.Config{ThreadID: target, Namespace: key.Namespace, CheckpointID: key.CheckpointID}] = m.checkpoints[key]
	}
	for key, value := range maps.Clone(m.blobs) {
		if key.thread == source {
			m.blobs[blobKey{target, key.namespace, key.channel, key.version}] = value
		}
	}
	for key, writes := range maps.Clone(m.writes) {
		if key.ThreadID == source {
			key.ThreadID = target
			m.writes[key] = cloneWrites(writes)
		}
	}
}
