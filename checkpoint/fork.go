package checkpoint

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"

	"github.com/google/uuid"
)

// Fork makes a new checkpoint with the state of the one that config names, from which the conversation goes on, and returns
// its config. Nothing is removed. It asks the saver if that is a [Forker], and else does the same in several steps; those
// read the IDs and versions of all checkpoints of the namespace. ErrNotFound when the checkpoint does not exist,
// ErrInvalidArgument when config names none or options.ID does not sort above all others.
//
// The new checkpoint's parent is the one it was made from. Where tasks of that one have written to a delta channel, those
// writes would count for the branch, which then gets the same parent instead, as LangGraph's copies have.
func Fork(ctx context.Context, saver Saver, config Config, options ForkOptions) (Config, error) {
	if forker, ok := saver.(Forker); ok {
		return forker.Fork(ctx, config, options)
	}
	if config.ThreadID == "" || config.CheckpointID == "" {
		return Config{}, fmt.Errorf("%w: a fork needs the thread and the checkpoint to go back to", ErrInvalidArgument)
	}
	target, err := saver.Get(ctx, config)
	if err != nil {
		return Config{}, err
	}
	newest, err := newestID(ctx, saver, config)
	if err != nil {
		return Config{}, err
	}
	step, stepped := target.Metadata.Step()
	if options.ID == "" {
		options.ID = idAfter(newest, step+1)
	}
	if options.ID <= newest {
		return Config{}, fmt.Errorf("%w: %q does not sort above %q, the newest checkpoint of thread %s, and the conversation "+
			"would not go on from it; pass an ID that does", ErrInvalidArgument, options.ID, newest, config.ThreadID)
	}
	parent, err := parentOfFork(ctx, saver, target)
	if err != nil {
		return Config{}, err
	}
	cp := forkedCheckpoint(target.Checkpoint, options.ID)
	newVersions, err := ownVersions(ctx, saver, config, cp, options.CopyBlobs)
	if err != nil {
		return Config{}, err
	}
	keepPackets(cp, newVersions)
	metadata := forkMetadata(target.Metadata)
	if stepped {
		metadata["step"] = step + 1
	}
	maps.Copy(metadata, options.Metadata)
	return saver.Put(ctx, parent, cp, metadata, newVersions)
}

func forkMetadata(target Metadata) Metadata {
	metadata := Metadata{"source": SourceFork, "parents": map[string]any{}}
	for _, key := range []string{"parents", deltaCountersKey} {
		if value, ok := target[key]; ok {
			metadata[key] = value
		}
	}
	return metadata
}

func forkedCheckpoint(target *Checkpoint, id string) *Checkpoint {
	cp := *target
	cp.ID, cp.TS = id, timestamp()
	cp.ChannelVersions = maps.Clone(orEmpty(target.ChannelVersions))
	cp.VersionsSeen = cloneSeen(target.VersionsSeen)
	return &cp
}

// keepPackets saves with a fork the packets that older formats keep with the checkpoint before: for the fork that would be
// its target, whose packets are other ones.
func keepPackets(cp *Checkpoint, own map[string]Version) {
	if version, ok := cp.ChannelVersions[ChannelTasks]; ok && cp.V == 3 {
		cp.V, own[ChannelTasks] = FormatVersion, version
	}
}

// ownVersions gives the values of a fork versions of their own where they have to have them, moves what nodes have seen
// along, and returns what is to be saved.
func ownVersions(ctx context.Context, saver Saver, config Config, cp *Checkpoint, asked bool) (map[string]Version, error) {
	own := map[string]Version{}
	if !asked && !newestVersion(cp.ChannelVersions).number {
		return own, nil
	}
	highest, err := highestVersions(ctx, saver, config)
	if err != nil {
		return nil, err
	}
	above := newestVersion(highest).stride()
	for channel, version := range cp.ChannelVersions {
		_, stored := cp.ChannelValues[channel]
		switch {
		case version.number:
			own[channel] = above
		case stored && asked:
			own[channel] = NextVersion(highest[channel])
		}
	}
	for _, seen := range cp.VersionsSeen {
		for channel, version := range seen {
			if moved, ok := own[channel]; ok && version == cp.ChannelVersions[channel] {
				seen[channel] = moved
			}
		}
	}
	maps.Copy(cp.ChannelVersions, own)
	return own, nil
}

// highestVersions are the highest versions of each channel that any checkpoint of the namespace has.
func highestVersions(ctx context.Context, saver Saver, config Config) (map[string]Version, error) {
	config.CheckpointID = ""
	highest := map[string]Version{}
	for tuple, err := range saver.List(ctx, config, ListOptions{WithoutState: true}) {
		if err != nil {
			return nil, err
		}
		for channel, version := range tuple.Checkpoint.ChannelVersions {
			if version.Compare(highest[channel]) > 0 {
				highest[channel] = version
			}
		}
	}
	return highest, nil
}

// stride is an integer version far above another. How far is chance: of several that branch at once, none knows of the
// others, and each needs versions that no other comes to.
func (v Version) stride() Version {
	counter := v.counter()
	if counter == nil {
		counter = new(big.Int)
	}
	far := branchStride + rand.Int64N(branchSpread) //nolint:gosec // a version is no secret
	return Version{text: counter.Add(counter, big.NewInt(far)).String(), number: true}
}

// parentOfFork is the checkpoint that a fork of another continues from.
func parentOfFork(ctx context.Context, saver Saver, target *Tuple) (Config, error) {
	writes, err := writesDelta(ctx, saver, target)
	if err != nil {
		return Config{}, err
	}
	switch {
	case !writes:
		return target.Config, nil
	case target.Parent != nil:
		return *target.Parent, nil
	}
	parent := target.Config
	parent.CheckpointID = ""
	return parent, nil
}

// writesDelta says whether tasks of a checkpoint have written to a delta channel. That is known from the checkpoint, or
// from a child, which has the channel's version and not its value.
func writesDelta(ctx context.Context, saver Saver, target *Tuple) (bool, error) {
	written := map[string]bool{}
	for _, write := range target.PendingWrites {
		if isState(write.Channel) {
			written[write.Channel] = true
		}
	}
	if len(written) == 0 || hasDelta(target, written) {
		return len(written) > 0, nil
	}
	children, err := childrenOf(ctx, saver, target.Config)
	if err != nil {
		return false, err
	}
	for _, config := range children {
		child, err := saver.Get(ctx, config)
		if err != nil {
			return false, err
		}
		if hasDelta(child, written) {
			return true, nil
		}
	}
	return false, nil
}

func hasDelta(tuple *Tuple, channels map[string]bool) bool {
	counters := countersOf(tuple.Metadata)
	for channel := range channels {
		_, counted := counters[channel]
		_, versioned := tuple.Checkpoint.ChannelVersions[channel]
		value, stored := tuple.Checkpoint.ChannelValues[channel]
		if counted || versioned && !stored || isDeltaSnapshot(value) {
			return true
		}
	}
	return false
}

func childrenOf(ctx context.Context, saver Saver, parent Config) ([]Config, error) {
	namespace := parent
	namespace.CheckpointID = ""
	var children []Config
	for tuple, err := range saver.List(ctx, namespace, ListOptions{WithoutState: true}) {
		if err != nil {
			return nil, err
		}
		if tuple.Config.CheckpointID <= parent.CheckpointID {
			break
		}
		if tuple.Parent != nil && tuple.Parent.CheckpointID == parent.CheckpointID {
			children = append(children, tuple.Config)
		}
	}
	return children, nil
}

// idAfter makes a checkpoint ID that sorts above another, whatever the clock that made that one said.
func idAfter(newest string, step int) string {
	id := NewID(step)
	if id > newest {
		return id
	}
	if later, ok := oneTickLater(newest, id); ok {
		return later
	}
	return newest + "-" + id
}

// oneTickLater is a UUID of version 6 with the time of one and the rest of another.
func oneTickLater(newest, id string) (string, bool) {
	time, err := uuid.Parse(newest)
	if err != nil || time.Version() != 6 || time.String() != newest {
		return "", false
	}
	later, err := uuid.Parse(id)
	if err != nil {
		return "", false
	}
	// The upper half of the last two bytes of the time is the version.
	ticks := binary.BigEndian.Uint64(time[:8])
	ticks = ticks>>16<<12 | ticks&0xfff
	if ticks++; ticks>>60 != 0 {
		return "", false
	}
	binary.BigEndian.PutUint64(later[:8], ticks>>12<<16|0x6000|ticks&0xfff)
	return later.String(), true
}
