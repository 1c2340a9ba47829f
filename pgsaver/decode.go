package pgsaver

import (
	"fmt"
	"time"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/serde"
)

// tupleRow is a tuple whose values are still serialized.
type tupleRow struct {
	config     checkpoint.Config
	parent     string
	hasParent  bool
	checkpoint *checkpoint.Checkpoint
	metadata   checkpoint.Metadata
	jsonErr    error // of these two
	createdAt  time.Time
	values     []namedValue
	writes     []writeRow
	sends      []serde.Typed
}

type namedValue struct {
	channel string
	value   serde.Typed
}

type writeRow struct {
	namedValue
	taskID, taskPath string
	idx              int32
}

func (s *Saver) tuple(row *tupleRow) (*checkpoint.Tuple, error) {
	in := func(err error) error {
		return fmt.Errorf("checkpoint %q of thread %q, namespace %q: %w", row.config.CheckpointID, row.config.ThreadID,
			row.config.Namespace, err)
	}
	if row.jsonErr != nil {
		return nil, in(fmt.Errorf("%w: %w", checkpoint.ErrCorrupt, row.jsonErr))
	}
	cp := row.checkpoint
	for _, v := range row.values {
		value, err := s.load(v.value)
		if err != nil {
			return nil, in(fmt.Errorf("channel %q, version %q: %w", v.channel, cp.ChannelVersions[v.channel], err))
		}
		cp.ChannelValues[v.channel] = value
	}
	if err := s.addSends(cp, row.sends); err != nil {
		return nil, in(err)
	}

	tuple := &checkpoint.Tuple{Config: row.config, Checkpoint: cp, Metadata: row.metadata, CreatedAt: row.createdAt}
	if row.hasParent {
		parent := row.config
		parent.CheckpointID = row.parent
		tuple.Parent = &parent
	}
	if len(row.writes) > 0 {
		tuple.PendingWrites = make([]checkpoint.Write, len(row.writes))
	}
	for i, w := range row.writes {
		value, err := s.load(w.value)
		if err != nil {
			return nil, in(fmt.Errorf("write %d of task %q to channel %q: %w", w.idx, w.taskID, w.channel, err))
		}
		tuple.PendingWrites[i] = checkpoint.Write{
			TaskID: w.taskID, TaskPath: w.taskPath, Channel: w.channel, Index: int(w.idx), Value: value,
		}
	}
	return tuple, nil
}

// addSends gives a checkpoint older than format 4 the packets that its parent's tasks sent, as the channel that newer
// checkpoints keep them in.
func (s *Saver) addSends(cp *checkpoint.Checkpoint, sends []serde.Typed) error {
	if len(sends) == 0 {
		return nil
	}
	packets := make([]any, len(sends))
	for i, send := range sends {
		packet, err := s.load(send)
		if err != nil {
			return fmt.Errorf("packet %d of its parent: %w", i, err)
		}
		packets[i] = packet
	}
	var newest checkpoint.Version
	for _, version := range cp.ChannelVersions {
		if version.Compare(newest) > 0 {
			newest = version
		}
	}
	if newest.IsZero() {
		newest = checkpoint.NextVersion(newest)
	}
	cp.ChannelValues[checkpoint.ChannelTasks] = packets
	cp.ChannelVersions[checkpoint.ChannelTasks] = newest
	return nil
}

func (s *Saver) load(typed serde.Typed) (any, error) {
	value, err := serde.LoadOwned(s.serde, typed) // the driver has copied it for nobody else
	if err != nil {
		return nil, fmt.Errorf("%w: %w", checkpoint.ErrCorrupt, err)
	}
	return value, nil
}
