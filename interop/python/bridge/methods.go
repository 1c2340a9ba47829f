package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/pgsaver"
	"github.com/pgweft/pgweft/serde"
)

// methods are what a client can ask for: the operations of a LangGraph checkpointer, each one call of the saver.
var methods = map[string]func(context.Context, *pgsaver.Saver, json.RawMessage) (any, error){
	"copy_thread":     method(copyThread),
	"delete_for_runs": method(deleteForRuns),
	"delete_thread":   method(deleteThread),
	"delta_history":   method(deltaHistory),
	"get_tuple":       method(getTuple),
	"list":            method(list),
	"next_version":    method(nextVersion),
	"prune":           method(prune),
	"put":             method(put),
	"put_writes":      method(putWrites),
}

// method decodes the parameters of a method.
func method[P any](do func(context.Context, *pgsaver.Saver, P) (any, error),
) func(context.Context, *pgsaver.Saver, json.RawMessage) (any, error) {
	return func(ctx context.Context, saver *pgsaver.Saver, params json.RawMessage) (any, error) {
		var decoded P
		if err := decode(params, &decoded); err != nil {
			return nil, fmt.Errorf("%w: parameters: %w", checkpoint.ErrInvalidArgument, err)
		}
		return do(ctx, saver, decoded)
	}
}

type configParams struct {
	Config config `json:"config"`
}

// getTuple answers null when there is no such checkpoint.
func getTuple(ctx context.Context, saver *pgsaver.Saver, params configParams) (any, error) {
	read, err := saver.Get(ctx, checkpoint.Config(params.Config))
	switch {
	case errors.Is(err, checkpoint.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return newTuple(read), nil
}

// listParams narrow a list by what is not null.
type listParams struct {
	ThreadID     *string             `json:"thread_id"`
	Namespace    *string             `json:"checkpoint_ns"`
	CheckpointID *string             `json:"checkpoint_id"`
	Filter       checkpoint.Metadata `json:"filter"`
	Before       *string             `json:"before"`
	Limit        *int                `json:"limit"`
}

func list(ctx context.Context, saver *pgsaver.Saver, params listParams) (any, error) {
	place, options, err := params.split()
	if err != nil {
		return nil, err
	}
	tuples := []tuple{}
	if params.Limit != nil && *params.Limit == 0 {
		return tuples, nil
	}
	for read, err := range saver.List(ctx, place, options) {
		if err != nil {
			return nil, err
		}
		tuples = append(tuples, newTuple(read))
	}
	return tuples, nil
}

// split refuses what is given and empty, which the saver would take for not given.
func (p *listParams) split() (checkpoint.Config, checkpoint.ListOptions, error) {
	place := checkpoint.Config{}
	options := checkpoint.ListOptions{AllNamespaces: p.Namespace == nil, Filter: p.Filter}
	if p.Namespace != nil {
		place.Namespace = *p.Namespace
	}
	if p.Limit != nil {
		options.Limit = *p.Limit
	}
	for _, field := range []struct {
		name  string
		given *string
		into  *string
	}{
		{"thread_id", p.ThreadID, &place.ThreadID},
		{"checkpoint_id", p.CheckpointID, &place.CheckpointID},
		{"before", p.Before, &options.Before},
	} {
		if field.given == nil {
			continue
		}
		if *field.given == "" {
			return place, options, fmt.Errorf("%w: %s is empty; leave it out to list all", checkpoint.ErrInvalidArgument,
				field.name)
		}
		*field.into = *field.given
	}
	return place, options, nil
}

type putParams struct {
	Config config `json:"config"`
	// Checkpoint has the primitives among the channel values, Values the others.
	Checkpoint *checkpoint.Checkpoint `json:"checkpoint"`
	Values     map[string]typed       `json:"channel_values"`
	// Snapshots are the channels whose value is a snapshot of a delta channel.
	Snapshots   []string                      `json:"snapshots"`
	Metadata    checkpoint.Metadata           `json:"metadata"`
	NewVersions map[string]checkpoint.Version `json:"new_versions"`
}

func put(ctx context.Context, saver *pgsaver.Saver, params putParams) (any, error) {
	if params.Checkpoint == nil || params.NewVersions == nil {
		return nil, fmt.Errorf("%w: put needs a checkpoint and the new versions", checkpoint.ErrInvalidArgument)
	}
	for channel, v := range params.Values {
		params.Checkpoint.ChannelValues[channel] = serde.Typed(v)
	}
	for _, channel := range params.Snapshots {
		params.Checkpoint.ChannelValues[channel] = serde.DeltaSnapshot{Value: params.Checkpoint.ChannelValues[channel]}
	}
	saved, err := saver.Put(ctx, checkpoint.Config(params.Config), params.Checkpoint, params.Metadata, params.NewVersions)
	if err != nil {
		return nil, err
	}
	return config(saved), nil
}

type putWritesParams struct {
	Config config `json:"config"`
	Writes []struct {
		Channel string `json:"channel"`
		Value   typed  `json:"value"`
	} `json:"writes"`
	TaskID   string `json:"task_id"`
	TaskPath string `json:"task_path"`
}

func putWrites(ctx context.Context, saver *pgsaver.Saver, params putWritesParams) (any, error) {
	writes := make([]checkpoint.Write, len(params.Writes))
	for i, w := range params.Writes {
		writes[i] = checkpoint.Write{Channel: w.Channel, Value: serde.Typed(w.Value)}
	}
	return nil, saver.PutWrites(ctx, checkpoint.Config(params.Config), writes, params.TaskID, params.TaskPath)
}

type deleteThreadParams struct {
	ThreadID string `json:"thread_id"`
}

func deleteThread(ctx context.Context, saver *pgsaver.Saver, params deleteThreadParams) (any, error) {
	return nil, saver.DeleteThread(ctx, params.ThreadID)
}

type deleteForRunsParams struct {
	RunIDs []string `json:"run_ids"`
}

func deleteForRuns(ctx context.Context, saver *pgsaver.Saver, params deleteForRunsParams) (any, error) {
	_, err := saver.DeleteForRuns(ctx, params.RunIDs)
	return nil, err
}

type copyThreadParams struct {
	Source string `json:"source_thread_id"`
	Target string `json:"target_thread_id"`
}

func copyThread(ctx context.Context, saver *pgsaver.Saver, params copyThreadParams) (any, error) {
	return nil, saver.CopyThread(ctx, params.Source, params.Target)
}

type pruneParams struct {
	ThreadIDs []string                 `json:"thread_ids"`
	Strategy  checkpoint.PruneStrategy `json:"strategy"`
}

func prune(ctx context.Context, saver *pgsaver.Saver, params pruneParams) (any, error) {
	_, err := saver.Prune(ctx, params.ThreadIDs, checkpoint.PruneOptions{Strategy: params.Strategy})
	return nil, err
}

type deltaHistoryParams struct {
	Config   config   `json:"config"`
	Channels []string `json:"channels"`
}

// deltaHistory answers null when there is no such checkpoint.
func deltaHistory(ctx context.Context, saver *pgsaver.Saver, params deltaHistoryParams) (any, error) {
	read, err := saver.DeltaHistory(ctx, checkpoint.Config(params.Config), params.Channels)
	switch {
	case errors.Is(err, checkpoint.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	histories := make(map[string]history, len(read))
	for channel, h := range read {
		histories[channel] = newHistory(h)
	}
	return histories, nil
}

type nextVersionParams struct {
	Current checkpoint.Version `json:"current"`
}

func nextVersion(_ context.Context, _ *pgsaver.Saver, params nextVersionParams) (any, error) {
	return checkpoint.NextVersion(params.Current), nil
}
