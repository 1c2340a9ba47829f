package checkpointtest

import (
	"context"
	"fmt"

	"github.com/pgweft/pgweft/checkpoint"
)

var putStepTests = []test{
	{"more_put_step_saves_checkpoint_and_writes", putStepSavesBoth},
	{"more_put_step_keeps_the_order_of_each_task", putStepKeepsOrder},
	{"more_put_step_without_writes_is_put", putStepWithoutWrites},
	{"more_put_step_again_changes_no_write", putStepAgain},
	{"more_put_step_replaces_reserved_channels", putStepReplacesReserved},
	{"more_put_step_keeps_every_value", putStepKeepsEveryValue},
	{"more_put_step_saves_nothing_on_version_collision", putStepCollision},
	{"more_put_step_saves_nothing_of_what_cannot_be_saved", putStepRefusesWhatCannotBeSaved},
	{"more_put_step_refuses_cancelled_context", putStepRefusesCancelledContext},
	{"more_put_step_cancelled_midway_is_all_or_nothing", putStepCancelledMidway},
}

func (th *thread) putStep(config checkpoint.Config, cp *checkpoint.Checkpoint, writes ...checkpoint.Write) checkpoint.Config {
	th.Helper()
	saved, err := th.tryPutStep(th.Context(), config, cp, writes...)
	if err != nil {
		th.Fatalf("PutStep %q of thread %q: %v", cp.ID, config.ThreadID, err)
	}
	return saved
}

func (th *thread) tryPutStep(ctx context.Context, config checkpoint.Config, cp *checkpoint.Checkpoint,
	writes ...checkpoint.Write,
) (checkpoint.Config, error) {
	return th.saver.(checkpoint.StepPutter).PutStep(ctx, config, cp, loopMetadata(1), nil, writes)
}

func putStepSavesBoth(th *thread) {
	parent := th.putEmpty(th.root(), loopMetadata(0))
	cp := firstCheckpoint(map[string]any{"list": []any{1}, "text": "x"})
	saved := th.putStep(parent, cp, checkpoint.Write{TaskID: "task", TaskPath: "path", Channel: "ch", Value: "val"})
	th.equal("config", saved, at(parent, cp.ID))
	got := th.get(saved)
	th.equal("tuple", got, &checkpoint.Tuple{
		Config: saved, Checkpoint: cp, Metadata: loopMetadata(1), Parent: &parent, CreatedAt: got.CreatedAt,
		PendingWrites: []checkpoint.Write{{TaskID: "task", TaskPath: "path", Channel: "ch", Value: "val"}},
	})
	th.equal("writes of the parent", th.writes(parent), []checkpoint.Write{})
}

func putStepKeepsOrder(th *thread) {
	var writes []checkpoint.Write
	for i := range 12 {
		for _, task := range []string{"b", "a"} {
			channel := "ch"
			if i == 5 {
				channel = checkpoint.ChannelInterrupt
			}
			writes = append(writes, checkpoint.Write{
				TaskID: task, TaskPath: "path of " + task, Channel: channel, Index: 99, Value: fmt.Sprint(task, i),
			})
		}
	}
	saved := th.putStep(th.root(), firstCheckpoint(nil), writes...)

	var want []checkpoint.Write
	for _, task := range []string{"a", "b"} {
		path := "path of " + task
		want = append(want, checkpoint.Write{
			TaskID: task, TaskPath: path, Channel: checkpoint.ChannelInterrupt, Index: -3, Value: task + "5",
		})
		for i := range 12 {
			if i != 5 {
				want = append(want, checkpoint.Write{TaskID: task, TaskPath: path, Channel: "ch", Index: i, Value: fmt.Sprint(task, i)})
			}
		}
	}
	th.equal("writes", th.writes(saved), want)
}

func putStepWithoutWrites(th *thread) {
	values := map[string]any{"list": []any{1}}
	saved := th.putStep(th.root(), firstCheckpoint(values))
	th.equal("values", th.values(saved), values)
	th.equal("writes", th.writes(saved), []checkpoint.Write{})
}

func putStepAgain(th *thread) {
	cp := firstCheckpoint(map[string]any{"list": []any{1}})
	saved := th.putStep(th.root(), cp, checkpoint.Write{TaskID: "task", Channel: "ch", Value: "first"})
	th.putStep(th.root(), cp, checkpoint.Write{TaskID: "task", Channel: "ch", Value: "second"},
		checkpoint.Write{TaskID: "task", Channel: "late", Value: "second"})
	th.equal("writes", th.writes(saved), []checkpoint.Write{
		{TaskID: "task", Channel: "ch", Index: 0, Value: "first"}, {TaskID: "task", Channel: "late", Index: 1, Value: "second"},
	})
}

// The rule about reserved channels is each task's own: what another task writes beside it does not matter.
func putStepReplacesReserved(th *thread) {
	cp := firstCheckpoint(nil)
	var saved checkpoint.Config
	for _, value := range []string{"first", "second"} {
		saved = th.putStep(th.root(), cp,
			checkpoint.Write{TaskID: "a", Channel: checkpoint.ChannelResume, Value: value},
			checkpoint.Write{TaskID: "b", Channel: "ch", Value: value},
			checkpoint.Write{TaskID: "b", Channel: checkpoint.ChannelResume, Value: value})
	}
	th.equal("writes", th.writes(saved), []checkpoint.Write{
		{TaskID: "a", Channel: checkpoint.ChannelResume, Index: -4, Value: "second"},
		{TaskID: "b", Channel: checkpoint.ChannelResume, Index: -4, Value: "first"},
		{TaskID: "b", Channel: "ch", Index: 0, Value: "first"},
	})
}

func putStepKeepsEveryValue(th *thread) {
	for name, value := range survivors() {
		th.each(name, func(th *thread) {
			values := map[string]any{"channel": value}
			saved := th.putStep(th.root(), firstCheckpoint(values), checkpoint.Write{TaskID: "task", Channel: "ch", Value: value})
			th.equal("values", th.values(saved), values)
			th.equal("writes", th.writes(saved), []checkpoint.Write{{TaskID: "task", Channel: "ch", Value: value}})
		})
	}
}

// The values are lists for the reason that putRefusesVersionCollision gives.
func putStepCollision(th *thread) {
	first := th.putState(th.root(), map[string]any{"list": []any{"first"}})
	late := firstCheckpoint(map[string]any{"list": []any{"second"}})
	late.ID = checkpoint.NewID(1)
	writes := []checkpoint.Write{{TaskID: "task", Channel: "ch", Value: "val"}}
	_, err := th.tryPutStep(th.Context(), first, late, writes...)
	th.fails("PutStep of another value under version 1", err, checkpoint.ErrVersionCollision)
	th.savedNothing(first, late)
}

// savedNothing checks that neither a refused checkpoint nor writes of it are there; the latter show once it is put.
func (th *thread) savedNothing(parent checkpoint.Config, refused *checkpoint.Checkpoint) {
	th.Helper()
	th.absent(at(parent, refused.ID))
	empty := newCheckpoint(nil, nil)
	empty.ID = refused.ID
	th.equal("writes of the refused checkpoint", th.writes(th.put(parent, empty, loopMetadata(1), versions{})),
		[]checkpoint.Write{})
}

func putStepRefusesWhatCannotBeSaved(th *thread) {
	good := []checkpoint.Write{{TaskID: "task", Channel: "ch", Value: "val"}}
	bad := []checkpoint.Write{good[0], {TaskID: "task", Channel: "ch", Value: unserializable()}}
	unstorable := firstCheckpoint(map[string]any{"list": []any{1}, "channel": unserializable()})
	noThread := func(*thread) checkpoint.Config { return checkpoint.Config{} }
	for name, c := range map[string]struct {
		config func(*thread) checkpoint.Config
		cp     *checkpoint.Checkpoint
		writes []checkpoint.Write
	}{
		"no thread":                     {noThread, firstCheckpoint(nil), good},
		"a value that cannot be stored": {(*thread).root, unstorable, good},
		"a write that cannot be stored": {(*thread).root, firstCheckpoint(map[string]any{"list": []any{1}}), bad},
	} {
		th.each(name, func(th *thread) {
			_, err := th.tryPutStep(th.Context(), c.config(th), c.cp, c.writes...)
			th.fails("PutStep", err, checkpoint.ErrInvalidArgument)
			th.savedNothing(th.root(), c.cp)
		})
	}
	_, err := th.tryPutStep(th.Context(), th.root(), nil, good...)
	th.fails("PutStep of no checkpoint", err, checkpoint.ErrInvalidArgument)
}

func putStepRefusesCancelledContext(th *thread) {
	cp := firstCheckpoint(map[string]any{"list": []any{1}})
	_, err := th.tryPutStep(th.cancelled(), th.root(), cp, checkpoint.Write{TaskID: "task", Channel: "ch", Value: 1})
	th.fails("PutStep with a cancelled context", err, context.Canceled)
	th.savedNothing(th.root(), cp)
}

func putStepCancelledMidway(th *thread) {
	values := map[string]any{"a": []any{1}, "b": "text"}
	for attempt := range 24 {
		cp := firstCheckpoint(values)
		config := th.in(fmt.Sprint("attempt:", attempt))
		err := cancelDuring(th.Context(), attempt, func(ctx context.Context) error {
			_, err := th.tryPutStep(ctx, config, cp, checkpoint.Write{TaskID: "a", Channel: "ch", Value: 1},
				checkpoint.Write{TaskID: "b", Channel: "ch", Value: 2})
			return err
		})
		th.allOrNothing(at(config, cp.ID), err, func(tuple *checkpoint.Tuple) {
			th.equal("values", tuple.Checkpoint.ChannelValues, values)
			th.equal("number of writes", len(tuple.PendingWrites), 2)
		})
	}
}
