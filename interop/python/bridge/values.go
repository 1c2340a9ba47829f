package main

import (
	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/serde"
)

// typed is a value as the client's serializer made it.
type typed struct {
	Type string `json:"type"`
	Data []byte `json:"data"`
}

// passThrough is the saver's serializer. What the client serialized passes as it is, as with serde.Raw. The client's
// primitives come as they are, so that the saver decides which of them stand in the checkpoint's JSON; those that may not
// are serialized here.
type passThrough struct{}

func (passThrough) Dump(v any) (serde.Typed, error) {
	switch v := v.(type) {
	case serde.Typed:
		return serde.Raw.Dump(v)
	case serde.DeltaSnapshot:
		return serde.Raw.Dump(v.Value)
	}
	return serde.Default().Dump(v)
}

func (passThrough) Load(v serde.Typed) (any, error) { return serde.Raw.Load(v) }

// value is what such a saver reads; one of the fields is set.
type value struct {
	Typed *typed `json:"typed,omitempty"`
	// Items are the packets that a saver gathers for checkpoints older than format 4.
	Items []value `json:"items,omitempty"`
	// Inline is, under "value", one that another client keeps in the checkpoint's JSON. Metadata writes 1.0 as it is.
	Inline checkpoint.Metadata `json:"inline,omitempty"`
}

func newValue(read any) value {
	switch v := read.(type) {
	case serde.Typed:
		blob := typed(v)
		if blob.Data == nil {
			blob.Data = []byte{}
		}
		return value{Typed: &blob}
	case []any:
		items := make([]value, len(v))
		for i, item := range v {
			items[i] = newValue(item)
		}
		return value{Items: items}
	}
	return value{Inline: checkpoint.Metadata{"value": read}}
}

// config is a checkpoint.Config in JSON.
type config struct {
	ThreadID     string `json:"thread_id"`
	Namespace    string `json:"checkpoint_ns"`
	CheckpointID string `json:"checkpoint_id,omitempty"`
}

// tuple is a checkpoint.Tuple in JSON, its channel values beside the checkpoint.
type tuple struct {
	Config        config                 `json:"config"`
	Checkpoint    *checkpoint.Checkpoint `json:"checkpoint"`
	Values        map[string]value       `json:"channel_values"`
	Metadata      checkpoint.Metadata    `json:"metadata"`
	Parent        *config                `json:"parent_config"`
	PendingWrites []pendingWrite         `json:"pending_writes"`
}

type pendingWrite struct {
	TaskID  string `json:"task_id"`
	Channel string `json:"channel"`
	Value   value  `json:"value"`
}

// newTuple takes the values out of the checkpoint it is given.
func newTuple(read *checkpoint.Tuple) tuple {
	values := make(map[string]value, len(read.Checkpoint.ChannelValues))
	for channel, v := range read.Checkpoint.ChannelValues {
		values[channel] = newValue(v)
	}
	read.Checkpoint.ChannelValues = nil
	return tuple{
		Config:        config(read.Config),
		Checkpoint:    read.Checkpoint,
		Values:        values,
		Metadata:      read.Metadata,
		Parent:        (*config)(read.Parent),
		PendingWrites: newPendingWrites(read.PendingWrites),
	}
}

func newPendingWrites(read []checkpoint.Write) []pendingWrite {
	writes := make([]pendingWrite, len(read))
	for i, w := range read {
		writes[i] = pendingWrite{TaskID: w.TaskID, Channel: w.Channel, Value: newValue(w.Value)}
	}
	return writes
}

// history is a checkpoint.DeltaHistory in JSON; without a seed when no ancestor stores a value.
type history struct {
	Seed   *value         `json:"seed,omitempty"`
	Writes []pendingWrite `json:"writes"`
}

func newHistory(read checkpoint.DeltaHistory) history {
	converted := history{Writes: newPendingWrites(read.Writes)}
	if read.HasSeed {
		seed := newValue(read.Seed)
		converted.Seed = &seed
	}
	return converted
}
