package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/pgsaver"
)

// thread is what a runtime keeps of a conversation between supersteps.
type thread struct {
	saver    *pgsaver.Saver
	clock    *clock
	config   checkpoint.Config
	now      time.Time
	step     int
	version  int
	ids      int
	messages []any
	values   map[string]any
	versions map[string]checkpoint.Version
	seen     map[string]map[string]checkpoint.Version
	// running is the task of the next superstep.
	running string
}

func newThread(saver *pgsaver.Saver, clock *clock, id string, at time.Time) *thread {
	return &thread{
		saver: saver, clock: clock, config: checkpoint.Config{ThreadID: id}, now: at, step: -1,
		values: map[string]any{}, versions: map[string]checkpoint.Version{}, seen: map[string]map[string]checkpoint.Version{},
	}
}

// ticksTo1970 are the steps of 100 ns that UUIDs of version 6 count from 1582 on.
const ticksTo1970 = 0x01b21dd213814000

// nextID makes UUIDs that sort by time, as LangGraph's do, and are the same every time.
func (t *thread) nextID() string {
	t.ids++
	ticks := t.now.UnixNano()/100 + ticksTo1970
	return fmt.Sprintf("%08x-%04x-6%03x-8000-%012x", ticks>>28, ticks>>12&0xffff, ticks&0xfff, t.ids)
}

func (t *thread) nextVersion() checkpoint.Version {
	t.version++
	return checkpoint.StringVersion(fmt.Sprintf("%032d.%016d", t.version, 0))
}

// input begins a run with what somebody said.
func (t *thread) input(ctx context.Context, message any) error {
	input := map[string]any{"__start__": map[string]any{"messages": []any{message}}}
	if err := t.save(ctx, checkpoint.SourceInput, input); err != nil {
		return err
	}
	t.running = "__start__"
	return t.superstep(ctx, 0, []any{message}, "model")
}

// superstep runs the node that is next: it takes so long, adds messages, and another node follows, or none.
func (t *thread) superstep(ctx context.Context, took time.Duration, messages []any, next string) error {
	writes := []checkpoint.Write{{Channel: "messages", Value: messages}}
	if next != "" {
		writes = append(writes, checkpoint.Write{Channel: "branch:to:" + next})
	}
	if err := t.write(ctx, took, writes...); err != nil {
		return err
	}
	t.now = t.now.Add(50 * time.Millisecond)
	t.messages = slices.Concat(t.messages, messages)
	changed := map[string]any{"messages": t.messages}
	trigger := "branch:to:" + t.running
	if t.running == "__start__" {
		trigger = "__start__"
	}
	t.seen[t.running] = map[string]checkpoint.Version{trigger: t.versions[trigger]}
	delete(t.values, trigger)
	if next != "" {
		changed["branch:to:"+next] = nil
	}
	t.running = next
	return t.save(ctx, checkpoint.SourceLoop, changed, trigger)
}

// write saves what the running task wrote.
func (t *thread) write(ctx context.Context, took time.Duration, writes ...checkpoint.Write) error {
	t.now = t.now.Add(took)
	task := uuid.NewSHA1(uuid.NameSpaceOID, []byte(t.config.ThreadID+t.config.CheckpointID+t.running)).String()
	t.clock.wrote(t.config.ThreadID, t.config.CheckpointID, task, t.now)
	return t.saver.PutWrites(ctx, t.config, writes, task, "~__pregel_pull, "+t.running)
}

// save saves a checkpoint: some channels changed, some are empty again.
func (t *thread) save(ctx context.Context, source string, changed map[string]any, emptied ...string) error {
	maps.Copy(t.values, changed)
	versions := map[string]checkpoint.Version{}
	for _, channel := range slices.Concat(slices.Sorted(maps.Keys(changed)), emptied) {
		t.versions[channel] = t.nextVersion()
		versions[channel] = t.versions[channel]
	}
	id := t.nextID()
	config, err := t.saver.Put(ctx, t.config, &checkpoint.Checkpoint{
		ID: id, TS: t.now.Format(timestamp), ChannelValues: maps.Clone(t.values), ChannelVersions: maps.Clone(t.versions),
		VersionsSeen: maps.Clone(t.seen), UpdatedChannels: slices.Sorted(maps.Keys(changed)),
	}, checkpoint.Metadata{"source": source, "step": t.step, "parents": map[string]any{}}, versions)
	t.config = config
	t.step++
	return err
}

// fork goes back to an earlier state and on from there.
func (t *thread) fork(ctx context.Context, back checkpoint.Config) error {
	config, err := t.saver.Fork(ctx, back, checkpoint.ForkOptions{ID: t.nextID()})
	t.config = config
	t.clock.forked(config, t.now)
	return err
}
