package checkpoint

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// StateOption tells [GetState] and [StateHistory] about the graph what its checkpoints do not.
type StateOption func(*stateReader)

// WithReducers gives the reducers of the graph's channels; channels that are not named have none, and their last write
// stays. With it, delta channels are rebuilt (by [ReadDeltaHistory]), and Values include what was written since the
// checkpoint as far as the runtime counts it as state: the update of a Command, and for the state as it is now what tasks
// that are done have written. Without it those writes are left out, since adding to a channel and replacing it look alike.
func WithReducers(reducers map[string]Reducer) StateOption {
	return func(r *stateReader) { r.reducers, r.applies = reducers, true }
}

// WithDefaults gives the values of channels that nothing was written to: in LangGraph, those with a reducer hold the empty
// value of their type from the beginning, such as an empty list. Snapshots share them.
func WithDefaults(defaults map[string]any) StateOption {
	return func(r *stateReader) { r.defaults = defaults }
}

// WithNodes gives the nodes of the graph in its order, with what triggers them. Tasks then have the order and the IDs that
// they have in the runtime, whatever the graph looks like, and packets to other nodes count for nothing.
func WithNodes(nodes ...Node) StateOption {
	return func(r *stateReader) { r.nodes = slices.Concat([]Node{}, nodes) }
}

type stateReader struct {
	saver    Saver
	reducers map[string]Reducer
	applies  bool
	defaults map[string]any
	nodes    []Node
}

func newStateReader(saver Saver, options []StateOption) *stateReader {
	r := &stateReader{saver: saver}
	for _, option := range options {
		option(r)
	}
	return r
}

// values are the channels of the state as the checkpoint has them.
func (r *stateReader) values(ctx context.Context, tuple *Tuple) (map[string]any, error) {
	values := make(map[string]any, len(tuple.Checkpoint.ChannelValues))
	for channel, value := range tuple.Checkpoint.ChannelValues {
		if isState(channel) {
			values[channel] = storedValue(value)
		}
	}
	rebuilt, err := rebuildDeltas(ctx, r.saver, tuple, unstored(tuple.Checkpoint, r.reducers), r.reducers, r.defaults)
	if err != nil {
		return nil, err
	}
	for channel, value := range rebuilt {
		values[channel] = value
	}
	for channel, value := range r.defaults {
		if _, ok := values[channel]; !ok {
			values[channel] = value
		}
	}
	return values, nil
}

// unstored are the channels with a reducer that were written and have no value: delta channels.
func unstored(cp *Checkpoint, reducers map[string]Reducer) []string {
	var channels []string
	for _, channel := range sortedKeys(reducers) {
		_, versioned := cp.ChannelVersions[channel]
		_, stored := cp.ChannelValues[channel]
		if versioned && !stored && reducers[channel] != nil {
			channels = append(channels, channel)
		}
	}
	return channels
}

func rebuildDeltas(ctx context.Context, saver Saver, tuple *Tuple, channels []string, reducers map[string]Reducer,
	defaults map[string]any,
) (map[string]any, error) {
	if len(channels) == 0 {
		return nil, nil
	}
	histories, err := readHistories(ctx, saver, tuple, channels)
	if err != nil {
		return nil, err
	}
	values := make(map[string]any, len(channels))
	for _, channel := range channels {
		value, err := replayDelta(histories[channel], reducers[channel], defaults[channel])
		if err != nil {
			return nil, fmt.Errorf("delta channel %q at checkpoint %s: %w", channel, tuple.Config.CheckpointID, err)
		}
		values[channel] = value
	}
	return values, nil
}

// readHistories spares [ReadDeltaHistory] from reading the checkpoint again.
func readHistories(ctx context.Context, saver Saver, tuple *Tuple, channels []string) (map[string]DeltaHistory, error) {
	if historian, ok := saver.(DeltaHistorian); ok {
		return historian.DeltaHistory(ctx, tuple.Config, channels)
	}
	return walkHistory(ctx, saver, tuple.Parent, channels)
}

// withPendingWrites applies what the runtime counts as state although the superstep is not over.
func (r *stateReader) withPendingWrites(values map[string]any, tuple *Tuple, tasks []scheduled, statuses map[string]*status,
	live bool,
) (map[string]any, error) {
	if !r.applies {
		return values, nil
	}
	var own []Write
	for _, write := range tuple.PendingWrites {
		if write.TaskID == nullTaskID {
			own = append(own, write)
		}
	}
	if err := r.apply(values, own); err != nil || !live {
		return values, err
	}
	return values, r.apply(values, outputsOf(tasks, statuses))
}

// outputsOf is what tasks that are done have written, in the order in which it applies.
func outputsOf(tasks []scheduled, statuses map[string]*status) []Write {
	inOrder := slices.SortedStableFunc(slices.Values(tasks), func(a, b scheduled) int {
		return strings.Compare(a.Path, b.Path)
	})
	var writes []Write
	for _, task := range inOrder {
		if s := statuses[task.ID]; s != nil {
			writes = append(writes, s.output...)
		}
	}
	return writes
}

// apply applies the writes of one superstep.
func (r *stateReader) apply(values map[string]any, writes []Write) error {
	order, updates := byChannel(writes)
	for _, channel := range order {
		if !isState(channel) {
			continue
		}
		value, err := reduceStep(values[channel], updates[channel], r.reducers[channel])
		if err != nil {
			return fmt.Errorf("channel %q: %w", channel, err)
		}
		values[channel] = value
	}
	return nil
}

// byChannel groups writes by channel, in the order of each channel's first.
func byChannel(writes []Write) (order []string, updates map[string][]any) {
	updates = map[string][]any{}
	for _, write := range writes {
		if _, ok := updates[write.Channel]; !ok {
			order = append(order, write.Channel)
		}
		updates[write.Channel] = append(updates[write.Channel], write.Value)
	}
	return order, updates
}
