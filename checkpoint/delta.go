package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// ReplayDelta rebuilds the value of a delta channel: the seed, and what was written after it. A write that overwrites
// (LangGraph's Overwrite) discards everything before it. Without a seed the reducer starts from nil, and without writes
// either the value is nil.
//
// LangGraph gives a delta channel's reducer many writes at once, and ReplayDelta one after the other; the two are the same
// for every reducer that LangGraph allows there.
func ReplayDelta(history DeltaHistory, reducer Reducer) (any, error) {
	return replayDelta(history, reducer, nil)
}

// replayDelta starts from the empty value of the channel where there is no seed, or where it was overwritten by nothing.
func replayDelta(history DeltaHistory, reducer Reducer, empty any) (any, error) {
	if reducer == nil {
		return nil, fmt.Errorf("%w: a delta channel cannot be replayed without its reducer", ErrInvalidArgument)
	}
	value := empty
	if history.HasSeed {
		value = storedValue(history.Seed)
	}
	start := 0
	for i, write := range history.Writes {
		if base, ok := overwriteOf(write.Value); ok {
			if base == nil {
				base = empty
			}
			value, start = base, i+1
		}
	}
	for _, write := range history.Writes[start:] {
		var err error
		if value, err = reducer(value, write.Value); err != nil {
			return nil, fmt.Errorf("replaying the write of task %s: %w", write.TaskID, err)
		}
	}
	return value, nil
}

// ReadDeltaHistory reads what rebuilds delta channels at the checkpoint that config names, or at the newest. It asks the
// saver if that is a [DeltaHistorian]; of any other it reads the ancestors one by one, until each channel has a seed.
// ErrCorrupt when an ancestor that should be there is missing: what it wrote cannot be known.
func ReadDeltaHistory(ctx context.Context, saver Saver, config Config, channels []string) (map[string]DeltaHistory, error) {
	if historian, ok := saver.(DeltaHistorian); ok {
		return historian.DeltaHistory(ctx, config, channels)
	}
	tuple, err := saver.Get(ctx, config)
	if err != nil {
		return nil, err
	}
	return walkHistory(ctx, saver, tuple.Parent, channels)
}

func walkHistory(ctx context.Context, saver Saver, ancestor *Config, channels []string) (map[string]DeltaHistory, error) {
	histories := make(map[string]DeltaHistory, len(channels))
	open := map[string]bool{}
	for _, channel := range channels {
		histories[channel] = DeltaHistory{}
		open[channel] = true
	}
	for ancestor != nil && len(open) > 0 {
		tuple, err := saver.Get(ctx, *ancestor)
		if errors.Is(err, ErrNotFound) {
			return nil, fmt.Errorf("%w: checkpoint %s of thread %s is missing, and delta channels %q cannot be rebuilt without it",
				ErrCorrupt, ancestor.CheckpointID, ancestor.ThreadID, sortedKeys(open))
		}
		if err != nil {
			return nil, err
		}
		addAncestor(histories, open, tuple)
		ancestor = tuple.Parent
	}
	for channel, history := range histories {
		slices.Reverse(history.Writes)
		histories[channel] = history
	}
	return histories, nil
}

// addAncestor collects writes newest first. An ancestor's own writes came after the value it stores.
func addAncestor(histories map[string]DeltaHistory, open map[string]bool, tuple *Tuple) {
	for _, write := range slices.Backward(tuple.PendingWrites) {
		if open[write.Channel] {
			history := histories[write.Channel]
			history.Writes = append(history.Writes, write)
			histories[write.Channel] = history
		}
	}
	for channel := range open {
		if value, ok := tuple.Checkpoint.ChannelValues[channel]; ok {
			history := histories[channel]
			history.Seed, history.HasSeed = value, true
			histories[channel] = history
			delete(open, channel)
		}
	}
}
