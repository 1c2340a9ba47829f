package checkpointtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/pgweft/pgweft/checkpoint"
)

var putWritesTests = []test{
	{"test_put_writes_basic", putWritesBasic},
	{"test_put_writes_multiple_writes_same_task", putWritesMultipleWritesSameTask},
	{"test_put_writes_multiple_tasks", putWritesMultipleTasks},
	{"test_put_writes_preserves_task_id", putWritesPreservesTaskID},
	{"test_put_writes_preserves_channel_and_value", putWritesPreservesChannelAndValue},
	{"test_put_writes_task_path", putWritesTaskPath},
	{"test_put_writes_idempotent", putWritesIdempotent},
	{"test_put_writes_special_channels", putWritesSpecialChannels},
	{"test_put_writes_across_namespaces", putWritesAcrossNamespaces},
	{"test_put_writes_cleared_on_next_checkpoint", putWritesClearedOnNextCheckpoint},

	{"more_put_writes_keeps_every_value", putWritesKeepsEveryValue},
	{"more_put_writes_takes_any_identifier", putWritesTakesAnyIdentifier},
	{"more_put_writes_numbers_by_position_and_reserved_channel", putWritesNumbers},
	{"more_put_writes_keeps_several_to_one_channel", putWritesKeepsSeveralToOneChannel},
	{"more_put_writes_orders_by_path_task_and_index", putWritesOrders},
	{"more_put_writes_replaces_reserved_channels", putWritesReplacesReserved},
	{"more_put_writes_takes_the_last_of_a_reserved_channel", putWritesTakesLastOfReserved},
	{"more_put_writes_does_not_replace_ordinary_channels", putWritesKeepsOrdinary},
	{"more_put_writes_does_not_replace_in_a_mixed_call", putWritesKeepsInMixedCall},
	{"more_put_writes_ignores_the_writes_own_task", putWritesIgnoresOwnTask},
	{"more_put_writes_may_precede_the_checkpoint", putWritesPrecedeCheckpoint},
	{"more_put_writes_keeps_branches_apart", putWritesKeepsBranchesApart},
	{"more_put_writes_of_nothing_is_no_error", putWritesOfNothing},
	{"more_put_writes_refuses_what_cannot_be_saved", putWritesRefusesWhatCannotBeSaved},
	{"more_put_writes_refuses_cancelled_context", putWritesRefusesCancelledContext},
	{"more_put_writes_cancelled_midway_is_all_or_nothing", putWritesCancelledMidway},
	{"more_put_writes_by_concurrent_tasks_keeps_all", putWritesByConcurrentTasks},
}

func putWritesBasic(th *thread) {
	saved := th.putEmpty(th.root(), loopMetadata(0))
	th.putWrites(saved, "task", "", write("channel1", "value1"))
	th.equal("writes", th.writes(saved), []checkpoint.Write{{TaskID: "task", Channel: "channel1", Value: "value1"}})
}

func putWritesMultipleWritesSameTask(th *thread) {
	saved := th.putEmpty(th.root(), loopMetadata(0))
	th.putWrites(saved, "task", "", write("ch1", "v1"), write("ch2", "v2"), write("ch3", "v3"))
	th.equal("writes", th.writes(saved), []checkpoint.Write{
		{TaskID: "task", Channel: "ch1", Index: 0, Value: "v1"},
		{TaskID: "task", Channel: "ch2", Index: 1, Value: "v2"},
		{TaskID: "task", Channel: "ch3", Index: 2, Value: "v3"},
	})
}

func putWritesMultipleTasks(th *thread) {
	saved := th.putEmpty(th.root(), loopMetadata(0))
	th.putWrites(saved, "task1", "", write("ch", "from task1"))
	th.putWrites(saved, "task2", "", write("ch", "from task2"))
	th.equal("writes", th.writes(saved), []checkpoint.Write{
		{TaskID: "task1", Channel: "ch", Value: "from task1"},
		{TaskID: "task2", Channel: "ch", Value: "from task2"},
	})
}

func putWritesPreservesTaskID(th *thread) {
	saved := th.putEmpty(th.root(), loopMetadata(0))
	taskID := checkpoint.NewID(0)
	th.putWrites(saved, taskID, "", write("ch", "val"))
	th.equal("task ids", taskIDs(th.writes(saved)), []string{taskID})
}

func taskIDs(writes []checkpoint.Write) []string {
	ids := []string{}
	for _, w := range writes {
		ids = append(ids, w.TaskID)
	}
	return ids
}

func putWritesPreservesChannelAndValue(th *thread) {
	saved := th.putEmpty(th.root(), loopMetadata(0))
	th.putWrites(saved, "task", "", write("my_channel", map[string]any{"data": 123}))
	th.equal("writes", th.writes(saved),
		[]checkpoint.Write{{TaskID: "task", Channel: "my_channel", Value: map[string]any{"data": 123}}})
}

func putWritesTaskPath(th *thread) {
	saved := th.putEmpty(th.root(), loopMetadata(0))
	th.putWrites(saved, "task", "a:b:c", write("ch", "v"))
	th.equal("writes", th.writes(saved), []checkpoint.Write{{TaskID: "task", TaskPath: "a:b:c", Channel: "ch", Value: "v"}})
}

func putWritesIdempotent(th *thread) {
	saved := th.putEmpty(th.root(), loopMetadata(0))
	for range 2 {
		th.putWrites(saved, "task", "", write("ch", "val"))
	}
	th.equal("writes", th.writes(saved), []checkpoint.Write{{TaskID: "task", Channel: "ch", Value: "val"}})
}

func putWritesSpecialChannels(th *thread) {
	saved := th.putEmpty(th.root(), loopMetadata(0))
	th.putWrites(saved, "task", "", write(checkpoint.ChannelError, "something went wrong"),
		write(checkpoint.ChannelInterrupt, map[string]any{"reason": "human_input"}))
	byChannel := map[string]any{}
	for _, w := range th.writes(saved) {
		byChannel[w.Channel] = w.Value
	}
	th.equal("number of writes", len(th.writes(saved)), 2)
	th.equal("writes", byChannel, map[string]any{
		checkpoint.ChannelError:     "something went wrong",
		checkpoint.ChannelInterrupt: map[string]any{"reason": "human_input"},
	})
}

func putWritesAcrossNamespaces(th *thread) {
	cp := newCheckpoint(nil, nil)
	root := th.put(th.root(), cp, loopMetadata(0), versions{})
	child := th.put(th.in("child:1"), cp, loopMetadata(0), versions{})
	th.putWrites(root, "task", "", write("ch", "root value"))
	th.putWrites(child, "task", "", write("ch", "child value"))
	th.equal("writes of the root", th.writes(root), []checkpoint.Write{{TaskID: "task", Channel: "ch", Value: "root value"}})
	th.equal("writes of the child", th.writes(child), []checkpoint.Write{{TaskID: "task", Channel: "ch", Value: "child value"}})
}

func putWritesClearedOnNextCheckpoint(th *thread) {
	first := th.putEmpty(th.root(), loopMetadata(0))
	th.putWrites(first, "task", "", write("ch", "old write"))
	second := th.putEmpty(first, loopMetadata(1))
	th.equal("writes of the second", th.writes(second), []checkpoint.Write{})
	th.equal("number of writes of the first", len(th.writes(first)), 1)
}

func putWritesKeepsEveryValue(th *thread) {
	for name, value := range survivors() {
		th.each(name, func(th *thread) {
			saved := th.putEmpty(th.root(), loopMetadata(0))
			th.putWrites(saved, "task", "", write("ch", value), write(checkpoint.ChannelResume, value))
			th.equal("writes", th.writes(saved), []checkpoint.Write{
				{TaskID: "task", Channel: checkpoint.ChannelResume, Index: -4, Value: value},
				{TaskID: "task", Channel: "ch", Index: 0, Value: value},
			})
		})
	}
}

func putWritesTakesAnyIdentifier(th *thread) {
	for name, identifier := range identifiers() {
		th.each(name, func(th *thread) {
			for _, want := range []checkpoint.Write{
				{TaskID: identifier, TaskPath: "path", Channel: "channel", Value: 1},
				{TaskID: "task", TaskPath: identifier, Channel: "channel", Value: 1},
				{TaskID: "task", TaskPath: "path", Channel: identifier, Value: 1},
			} {
				saved := th.putEmpty(th.root(), loopMetadata(0))
				th.putWrites(saved, want.TaskID, want.TaskPath, write(want.Channel, want.Value))
				th.equal("writes", th.writes(saved), []checkpoint.Write{want})
			}
		})
	}
}

func putWritesNumbers(th *thread) {
	saved := th.putEmpty(th.root(), loopMetadata(0))
	th.putWrites(saved, "task", "", write("a", 1), write(checkpoint.ChannelScheduled, 2), write("b", 3),
		write(checkpoint.ChannelError, 4), write(checkpoint.ChannelInterrupt, 5), write(checkpoint.ChannelResume, 6),
		write(checkpoint.ChannelTasks, 7))
	th.equal("writes", th.writes(saved), []checkpoint.Write{
		{TaskID: "task", Channel: checkpoint.ChannelResume, Index: -4, Value: 6},
		{TaskID: "task", Channel: checkpoint.ChannelInterrupt, Index: -3, Value: 5},
		{TaskID: "task", Channel: checkpoint.ChannelScheduled, Index: -2, Value: 2},
		{TaskID: "task", Channel: checkpoint.ChannelError, Index: -1, Value: 4},
		{TaskID: "task", Channel: "a", Index: 0, Value: 1},
		{TaskID: "task", Channel: "b", Index: 2, Value: 3},
		{TaskID: "task", Channel: checkpoint.ChannelTasks, Index: 6, Value: 7},
	})
}

func putWritesKeepsSeveralToOneChannel(th *thread) {
	saved := th.putEmpty(th.root(), loopMetadata(0))
	var writes, want []checkpoint.Write
	// More than ten, so that indexes which are compared as text show.
	for i := range 12 {
		writes = append(writes, write(checkpoint.ChannelTasks, i))
		want = append(want, checkpoint.Write{TaskID: "task", Channel: checkpoint.ChannelTasks, Index: i, Value: i})
	}
	th.putWrites(saved, "task", "", writes...)
	th.equal("writes", th.writes(saved), want)
}

// Paths and task ids sort by bytes, whatever the language of the machine that stores them.
func putWritesOrders(th *thread) {
	saved := th.putEmpty(th.root(), loopMetadata(0))
	var want []checkpoint.Write
	paths := []string{"", "B", "a", "a, 0", "a, 1", "b", "~", "É", "é"}
	for i, path := range paths {
		for _, suffix := range []string{"1", "T", "_", "t"} {
			// The ids fall while the paths rise, so that an order by id alone shows.
			task := fmt.Sprint(len(paths)-i, suffix)
			for index := range 2 {
				want = append(want, checkpoint.Write{
					TaskID: task, TaskPath: path, Channel: "ch", Index: index, Value: fmt.Sprint(task, index),
				})
			}
		}
	}
	for i := len(want) - 2; i >= 0; i -= 2 {
		th.putWrites(saved, want[i].TaskID, want[i].TaskPath, want[i], want[i+1])
	}
	th.equal("writes", th.writes(saved), want)
}

func putWritesReplacesReserved(th *thread) {
	saved := th.putEmpty(th.root(), loopMetadata(0))
	reserved := []string{
		checkpoint.ChannelResume, checkpoint.ChannelInterrupt, checkpoint.ChannelScheduled, checkpoint.ChannelError,
	}
	var want []checkpoint.Write
	for i, channel := range reserved {
		for _, value := range []string{"before", "after"} {
			th.putWrites(saved, "task", "", write(channel, channel+value))
		}
		want = append(want, checkpoint.Write{TaskID: "task", Channel: channel, Index: i - 4, Value: channel + "after"})
	}
	th.putWrites(saved, "other task", "", write(checkpoint.ChannelError, "of another task"))
	other := checkpoint.Write{TaskID: "other task", Channel: checkpoint.ChannelError, Index: -1, Value: "of another task"}
	th.equal("writes", th.writes(saved), append([]checkpoint.Write{other}, want...))
}

func putWritesTakesLastOfReserved(th *thread) {
	saved := th.putEmpty(th.root(), loopMetadata(0))
	th.putWrites(saved, "task", "", write(checkpoint.ChannelResume, "first"), write(checkpoint.ChannelResume, "last"))
	th.equal("writes", th.writes(saved),
		[]checkpoint.Write{{TaskID: "task", Channel: checkpoint.ChannelResume, Index: -4, Value: "last"}})
}

func putWritesKeepsOrdinary(th *thread) {
	saved := th.putEmpty(th.root(), loopMetadata(0))
	th.putWrites(saved, "task", "", write("a", "first"), write("b", "first"))
	th.putWrites(saved, "task", "", write("b", "second"), write("a", "second"), write("c", "second"))
	th.equal("writes", th.writes(saved), []checkpoint.Write{
		{TaskID: "task", Channel: "a", Index: 0, Value: "first"},
		{TaskID: "task", Channel: "b", Index: 1, Value: "first"},
		{TaskID: "task", Channel: "c", Index: 2, Value: "second"},
	})
}

func putWritesKeepsInMixedCall(th *thread) {
	saved := th.putEmpty(th.root(), loopMetadata(0))
	th.putWrites(saved, "task", "", write(checkpoint.ChannelError, "first"))
	th.putWrites(saved, "task", "", write(checkpoint.ChannelError, "second"), write("a", "second"))
	th.equal("writes", th.writes(saved), []checkpoint.Write{
		{TaskID: "task", Channel: checkpoint.ChannelError, Index: -1, Value: "first"},
		{TaskID: "task", Channel: "a", Index: 1, Value: "second"},
	})
}

func putWritesIgnoresOwnTask(th *thread) {
	saved := th.putEmpty(th.root(), loopMetadata(0))
	th.putWrites(saved, "task", "path",
		checkpoint.Write{TaskID: "not this", TaskPath: "nor this", Channel: "a", Index: 7, Value: 1})
	th.equal("writes", th.writes(saved),
		[]checkpoint.Write{{TaskID: "task", TaskPath: "path", Channel: "a", Index: 0, Value: 1}})
}

func putWritesPrecedeCheckpoint(th *thread) {
	cp := newCheckpoint(nil, nil)
	config := at(th.root(), cp.ID)
	th.putWrites(config, "task", "", write("ch", "early"))
	th.absent(config)
	th.put(th.root(), cp, loopMetadata(0), versions{})
	th.equal("writes", th.writes(config), []checkpoint.Write{{TaskID: "task", Channel: "ch", Value: "early"}})
}

func putWritesKeepsBranchesApart(th *thread) {
	parent := th.putEmpty(th.root(), loopMetadata(0))
	left, right := th.putEmpty(parent, loopMetadata(1)), th.putEmpty(parent, loopMetadata(1))
	for branch, config := range map[string]checkpoint.Config{"parent": parent, "left": left, "right": right} {
		th.putWrites(config, "task", "", write("ch", branch))
	}
	for branch, config := range map[string]checkpoint.Config{"parent": parent, "left": left, "right": right} {
		th.equal("writes of "+branch, th.writes(config), []checkpoint.Write{{TaskID: "task", Channel: "ch", Value: branch}})
	}
}

func putWritesOfNothing(th *thread) {
	saved := th.putEmpty(th.root(), loopMetadata(0))
	th.putWrites(saved, "task", "")
	th.equal("writes", th.writes(saved), []checkpoint.Write{})
}

func putWritesRefusesWhatCannotBeSaved(th *thread) {
	saved := th.putEmpty(th.root(), loopMetadata(0))
	for name, c := range map[string]struct {
		config checkpoint.Config
		writes []checkpoint.Write
	}{
		"no thread":                     {at(checkpoint.Config{}, saved.CheckpointID), []checkpoint.Write{write("ch", 1)}},
		"no checkpoint":                 {th.root(), []checkpoint.Write{write("ch", 1)}},
		"a value that cannot be stored": {saved, []checkpoint.Write{write("ch", 1), write("ch", unserializable())}},
	} {
		err := th.saver.PutWrites(th.Context(), c.config, c.writes, "task", "")
		th.fails("PutWrites with "+name, err, checkpoint.ErrInvalidArgument)
	}
	th.equal("writes", th.writes(saved), []checkpoint.Write{})
}

func putWritesRefusesCancelledContext(th *thread) {
	saved := th.putEmpty(th.root(), loopMetadata(0))
	err := th.saver.PutWrites(th.cancelled(), saved, []checkpoint.Write{write("ch", 1)}, "task", "")
	th.fails("PutWrites with a cancelled context", err, context.Canceled)
	th.equal("writes", th.writes(saved), []checkpoint.Write{})
}

func putWritesCancelledMidway(th *thread) {
	for attempt := range 24 {
		saved := th.putEmpty(th.root(), loopMetadata(0))
		err := cancelDuring(th.Context(), attempt, func(ctx context.Context) error {
			return th.saver.PutWrites(ctx, saved, []checkpoint.Write{write("a", 1), write("b", 2), write("c", 3)}, "task", "")
		})
		if err != nil {
			th.fails("PutWrites that was cancelled", err, context.Canceled)
		}
		if n := len(th.writes(saved)); n != 3 && (n != 0 || err == nil) {
			th.Errorf("PutWrites of 3 writes returned %v and saved %d", err, n)
		}
	}
}

func putWritesByConcurrentTasks(th *thread) {
	saved := th.putEmpty(th.root(), loopMetadata(0))
	errs := make([]error, 16)
	var group sync.WaitGroup
	var want []checkpoint.Write
	for i := range errs {
		// Every task runs twice at once, as after a lost lease: the writes are there once.
		task := fmt.Sprintf("task %02d", i/2)
		writes := []checkpoint.Write{write("a", task), write("b", strings.ToUpper(task))}
		if i%2 == 0 {
			want = append(want, checkpoint.Write{TaskID: task, Channel: "a", Index: 0, Value: task},
				checkpoint.Write{TaskID: task, Channel: "b", Index: 1, Value: strings.ToUpper(task)})
		}
		group.Go(func() { errs[i] = th.saver.PutWrites(th.Context(), saved, writes, task, "") })
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		th.Fatalf("PutWrites of several tasks at once: %v", err)
	}
	th.equal("writes", th.writes(saved), want)
}
