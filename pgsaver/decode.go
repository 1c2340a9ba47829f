package pgsaver

import (
	"fmt"
	"time"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/serde"
)

// tupleRow is a row of get_checkpoint and list_checkpoints, by name.
type tupleRow struct {
	ThreadID           string              `db:"thread_id"`
	CheckpointNS       string              `db:"checkpoint_ns"`
	CheckpointID       string              `db:"checkpoint_id"`
	ParentCheckpointID *string             `db:"parent_checkpoint_id"`
	Checkpoint         []byte              `db:"checkpoint"`
	Metadata           checkpoint.Metadata `db:"metadata"`
	CreatedAt          time.Time           `db:"created_at"`
	ValueChannels      []string            `db:"value_channels"`
	ValueTypes         []string            `db:"value_types"`
	ValueBlobs         [][]byte            `db:"value_blobs"`
	WriteTaskIDs       []string            `db:"write_task_ids"`
	WriteTaskPaths     []string            `db:"write_task_paths"`
	WriteIdxs          []int32             `db:"write_idxs"`
	WriteChannels      []string            `db:"write_channels"`
	WriteTypes         []*string           `db:"write_types"`
	WriteBlobs         [][]byte            `db:"write_blobs"`
	SendTypes          []*string           `db:"send_types"`
	SendBlobs          [][]byte            `db:"send_blobs"`
}

func (s *Saver) tuple(row *tupleRow) (*checkpoint.Tuple, error) {
	config := checkpoint.Config{ThreadID: row.ThreadID, Namespace: row.CheckpointNS, CheckpointID: row.CheckpointID}
	in := func(err error) error {
		return fmt.Errorf("checkpoint %q of thread %q, namespace %q: %w", config.CheckpointID, config.ThreadID,
			config.Namespace, err)
	}
	cp := &checkpoint.Checkpoint{}
	if err := cp.UnmarshalJSON(row.Checkpoint); err != nil {
		return nil, in(fmt.Errorf("%w: %w", checkpoint.ErrCorrupt, err))
	}
	for i, channel := range row.ValueChannels {
		value, err := s.load(&row.ValueTypes[i], row.ValueBlobs[i])
		if err != nil {
			return nil, in(fmt.Errorf("channel %q, version %q: %w", channel, cp.ChannelVersions[channel], err))
		}
		cp.ChannelValues[channel] = value
	}
	if err := s.addSends(cp, row); err != nil {
		return nil, in(err)
	}

	tuple := &checkpoint.Tuple{
		Config:     config,
		Checkpoint: cp,
		Metadata:   row.Metadata,
		CreatedAt:  row.CreatedAt,
	}
	if row.ParentCheckpointID != nil {
		parent := config
		parent.CheckpointID = *row.ParentCheckpointID
		tuple.Parent = &parent
	}
	for i, channel := range row.WriteChannels {
		value, err := s.load(row.WriteTypes[i], row.WriteBlobs[i])
		if err != nil {
			return nil, in(fmt.Errorf("write %d of task %q to channel %q: %w", row.WriteIdxs[i], row.WriteTaskIDs[i], channel,
				err))
		}
		tuple.PendingWrites = append(tuple.PendingWrites, checkpoint.Write{
			TaskID: row.WriteTaskIDs[i], TaskPath: row.WriteTaskPaths[i], Channel: channel, Index: int(row.WriteIdxs[i]),
			Value: value,
		})
	}
	return tuple, nil
}

// addSends gives a checkpoint older than format 4 the packets that its parent's tasks sent, as the channel that newer
// checkpoints keep them in.
func (s *Saver) addSends(cp *checkpoint.Checkpoint, row *tupleRow) error {
	if len(row.SendBlobs) == 0 {
		return nil
	}
	packets := make([]any, len(row.SendBlobs))
	for i := range row.SendBlobs {
		packet, err := s.load(row.SendTypes[i], row.SendBlobs[i])
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

func (s *Saver) load(tag *string, blob []byte) (any, error) {
	typed := serde.Typed{Data: blob}
	if tag != nil {
		typed.Type = *tag
	}
	value, err := serde.LoadOwned(s.serde, typed) // the driver has copied it for nobody else
	if err != nil {
		return nil, fmt.Errorf("%w: %w", checkpoint.ErrCorrupt, err)
	}
	return value, nil
}
