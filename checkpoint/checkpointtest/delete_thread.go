package checkpointtest

import (
	"context"

	"github.com/pgweft/pgweft/checkpoint"
)

var deleteThreadTests = []test{
	{"test_delete_thread_removes_checkpoints", deleteThreadRemovesCheckpoints},
	{"test_delete_thread_removes_writes", deleteThreadRemovesWrites},
	{"test_delete_thread_removes_all_namespaces", deleteThreadRemovesAllNamespaces},
	{"test_delete_thread_preserves_other_threads", deleteThreadPreservesOtherThreads},
	{"test_delete_thread_nonexistent_noop", deleteThreadNonexistent},

	{"more_delete_thread_leaves_nothing_to_collide_with", deleteThreadLeavesNothing},
	{"more_delete_thread_removes_writes_without_checkpoint", deleteThreadRemovesEarlyWrites},
	{"more_delete_thread_takes_the_id_literally", deleteThreadTakesIDLiterally},
	{"more_delete_thread_refuses_empty_thread_id", deleteThreadRefusesEmptyThreadID},
	{"more_delete_thread_refuses_cancelled_context", deleteThreadRefusesCancelledContext},
}

func (th *thread) delete() {
	th.Helper()
	if err := th.saver.DeleteThread(th.Context(), th.id); err != nil {
		th.Fatalf("DeleteThread %q: %v", th.id, err)
	}
}

func deleteThreadRemovesCheckpoints(th *thread) {
	saved := th.chain(th.root(), 3)
	th.equal("newest before", th.get(th.root()).Config, saved[2])
	th.delete()
	th.absent(th.root())
	for _, config := range saved {
		th.absent(config)
	}
	th.lists(th.root(), checkpoint.ListOptions{})
}

func deleteThreadRemovesWrites(th *thread) {
	cp := newCheckpoint(nil, nil)
	saved := th.put(th.root(), cp, loopMetadata(0), versions{})
	th.putWrites(saved, "task", "", write("ch", "val"))
	th.equal("number of writes before", len(th.writes(saved)), 1)
	th.delete()
	th.absent(saved)
	th.put(th.root(), cp, loopMetadata(0), versions{})
	th.equal("writes of the checkpoint put again", th.writes(saved), []checkpoint.Write{})
}

func deleteThreadRemovesAllNamespaces(th *thread) {
	namespaces := []string{"", "child:1", "child:1|child:2"}
	for _, namespace := range namespaces {
		saved := th.putState(th.in(namespace), map[string]any{"list": []any{namespace}})
		th.equal("newest before", th.get(th.in(namespace)).Config, saved)
	}
	th.delete()
	for _, namespace := range namespaces {
		th.absent(th.in(namespace))
	}
	th.lists(th.root(), checkpoint.ListOptions{AllNamespaces: true})
}

func deleteThreadPreservesOtherThreads(th *thread) {
	other := th.another()
	values := map[string]any{"list": []any{1}, "text": "x"}
	th.putState(th.root(), values)
	kept := other.putState(other.root(), values)
	other.putWrites(kept, "task", "", write("ch", "val"))
	before := other.get(kept)
	th.delete()
	th.absent(th.root())
	th.equal("other thread", other.get(other.root()), before)
}

func deleteThreadNonexistent(th *thread) {
	th.delete()
	th.absent(th.root())
}

func deleteThreadLeavesNothing(th *thread) {
	for _, value := range []string{"first life", "second life"} {
		values := map[string]any{"list": []any{value}}
		saved := th.putState(th.root(), values)
		th.equal("values", th.values(saved), values)
		th.delete()
	}
}

func deleteThreadRemovesEarlyWrites(th *thread) {
	cp := newCheckpoint(nil, nil)
	config := at(th.in("child:1"), cp.ID)
	th.putWrites(config, "task", "", write("ch", "early"))
	th.delete()
	th.put(th.in("child:1"), cp, loopMetadata(0), versions{})
	th.equal("writes", th.writes(config), []checkpoint.Write{})
}

func deleteThreadTakesIDLiterally(th *thread) {
	var kept []checkpoint.Config
	for _, id := range []string{th.id + "-1", "x" + th.id, th.id + " ", th.id + "%", th.id + "_"} {
		kept = append(kept, th.putEmpty(checkpoint.Config{ThreadID: id}, loopMetadata(0)))
	}
	for _, id := range []string{th.id, th.id[:len(th.id)-1] + "_", th.id[:8] + "%", "%"} {
		if err := th.saver.DeleteThread(th.Context(), id); err != nil {
			th.Fatalf("DeleteThread %q: %v", id, err)
		}
	}
	for _, config := range kept {
		th.equal("kept", th.get(config).Config, config)
	}
}

func deleteThreadRefusesEmptyThreadID(th *thread) {
	saved := th.putEmpty(th.root(), loopMetadata(0))
	th.fails("DeleteThread of no thread", th.saver.DeleteThread(th.Context(), ""), checkpoint.ErrInvalidArgument)
	th.equal("another thread", th.get(saved).Config, saved)
}

func deleteThreadRefusesCancelledContext(th *thread) {
	saved := th.putEmpty(th.root(), loopMetadata(0))
	th.fails("DeleteThread with a cancelled context", th.saver.DeleteThread(th.cancelled(), th.id), context.Canceled)
	th.equal("checkpoint", th.get(saved).Config, saved)
}
