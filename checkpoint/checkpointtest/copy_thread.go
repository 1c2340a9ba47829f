package checkpointtest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/pgweft/pgweft/checkpoint"
)

var copyThreadTests = []test{
	{"test_copy_thread_basic", copyThreadBasic},
	{"test_copy_thread_all_checkpoints", copyThreadAllCheckpoints},
	{"test_copy_thread_preserves_metadata", copyThreadPreservesMetadata},
	{"test_copy_thread_preserves_namespaces", copyThreadPreservesNamespaces},
	{"test_copy_thread_preserves_writes", copyThreadPreservesWrites},
	{"test_copy_thread_preserves_ordering", copyThreadPreservesOrdering},
	{"test_copy_thread_source_unchanged", copyThreadSourceUnchanged},
	{"test_copy_thread_nonexistent_source", copyThreadNonexistent},

	{"more_copy_thread_keeps_every_value", copyThreadKeepsEveryValue},
	{"more_copy_thread_keeps_branches", copyThreadKeepsBranches},
	{"more_copy_thread_keeps_delta_history", copyThreadKeepsDeltaHistory},
	{"more_copy_thread_copies_writes_that_came_early", copyThreadCopiesEarlyWrites},
	{"more_copy_thread_shows_in_lists_of_all_threads", copyThreadShowsInLists},
	{"more_copy_thread_lets_both_go_on", copyThreadLetsBothGoOn},
	{"more_copy_thread_outlives_its_source", copyThreadOutlivesSource},
	{"more_copy_thread_takes_ids_literally", copyThreadTakesIDsLiterally},
	{"more_copy_thread_refuses_a_target_that_is_not_empty", copyThreadRefusesTarget},
	{"more_copy_thread_refuses_itself_and_no_thread", copyThreadRefusesItself},
	{"more_copy_thread_by_concurrent_callers_copies_once", copyThreadByConcurrentCallers},
	{"more_copy_thread_refuses_cancelled_context", copyThreadRefusesCancelledContext},
}

func (th *thread) tryCopyTo(target string) error {
	return th.saver.(checkpoint.ThreadCopier).CopyThread(th.Context(), th.id, target)
}

// copy copies the thread to another that is new.
func (th *thread) copy() *thread {
	th.Helper()
	target := th.another()
	if err := th.tryCopyTo(target.id); err != nil {
		th.Fatalf("CopyThread %q to %q: %v", th.id, target.id, err)
	}
	return target
}

// toCopy puts checkpoints with values and writes in some namespaces.
func (th *thread) toCopy(n int, namespaces ...string) {
	th.Helper()
	for _, namespace := range namespaces {
		config := th.in(namespace)
		for step := range n {
			config = th.putList(config, checkpoint.Metadata{"step": step, "namespace": namespace}, int64(step), true)
			th.putWrites(config, "task", "path", write("ch", step), write(checkpoint.ChannelInterrupt, namespace))
		}
	}
}

// moved is everything a thread has, under another's id.
func (th *thread) moved(id string) []any {
	th.Helper()
	var moved []any
	for _, tuple := range th.list(th.root(), checkpoint.ListOptions{AllNamespaces: true}) {
		read := th.readingOf(tuple)
		content := read.content["tuple"].(*checkpoint.Tuple)
		content.Config.ThreadID = id
		content.CreatedAt = time.Time{} // whether a copy is as old as what was copied is the saver's choice
		if read.parent != nil {
			parent := *read.parent
			parent.ThreadID = id
			content.Parent = &parent
		}
		moved = append(moved, read.content)
	}
	return moved
}

// copied checks that another thread has all that this one has.
func (th *thread) copied(target *thread) {
	th.Helper()
	th.equal("the copy", target.moved(target.id), th.moved(target.id))
}

func copyThreadBasic(th *thread) {
	saved := th.chain(th.root(), 3)
	target := th.copy()
	var want []checkpoint.Config
	for _, config := range reversed(saved) {
		want = append(want, at(target.root(), config.CheckpointID))
	}
	target.lists(target.root(), checkpoint.ListOptions{}, want...)
}

func copyThreadAllCheckpoints(th *thread) {
	th.toCopy(3, "")
	target := th.copy()
	tuples := target.list(target.root(), checkpoint.ListOptions{})
	th.equal("number of checkpoints", len(tuples), 3)
	for i, tuple := range tuples {
		th.equal("values", tuple.Checkpoint.ChannelValues, map[string]any{"list": []any{int64(2 - i)}})
	}
	th.copied(target)
}

func copyThreadPreservesMetadata(th *thread) {
	metadata := checkpoint.Metadata{
		"source": checkpoint.SourceLoop, "step": 4, "run_id": "run", "parents": map[string]any{"": "x"}, "score": 1.0,
		"tags": []any{"a", nil}, "nested": map[string]any{"k": map[string]any{}},
	}
	saved := th.putEmpty(th.root(), metadata)
	target := th.copy()
	th.equal("metadata", target.get(at(target.root(), saved.CheckpointID)).Metadata, metadata)
	th.copied(target)
}

func copyThreadPreservesNamespaces(th *thread) {
	th.toCopy(1, "", "child:1", "child:1|child:2")
	target := th.copy()
	for _, namespace := range []string{"", "child:1", "child:1|child:2"} {
		tuple := target.only(target.in(namespace), checkpoint.ListOptions{})
		th.equal("namespace in the metadata", tuple.Metadata["namespace"], namespace)
	}
	th.copied(target)
}

func copyThreadPreservesWrites(th *thread) {
	saved := th.putEmpty(th.root(), loopMetadata(0))
	th.putWrites(saved, "task", "path", write("ch", "val"), write(checkpoint.ChannelInterrupt, []any{1}))
	target := th.copy()
	th.equal("writes", target.writes(target.root()), []checkpoint.Write{
		{TaskID: "task", TaskPath: "path", Channel: checkpoint.ChannelInterrupt, Index: -3, Value: []any{1}},
		{TaskID: "task", TaskPath: "path", Channel: "ch", Value: "val"},
	})
}

func copyThreadPreservesOrdering(th *thread) {
	th.toCopy(4, "")
	target := th.copy()
	ids := func(th *thread) (ids []string) {
		for _, tuple := range th.list(th.root(), checkpoint.ListOptions{}) {
			ids = append(ids, tuple.Config.CheckpointID)
		}
		return ids
	}
	th.equal("number of ids", len(ids(th)), 4)
	th.equal("ids", ids(target), ids(th))
}

func copyThreadSourceUnchanged(th *thread) {
	th.toCopy(2, "", "child:1")
	before := th.list(th.root(), checkpoint.ListOptions{AllNamespaces: true})
	th.copy()
	th.equal("source", th.list(th.root(), checkpoint.ListOptions{AllNamespaces: true}), before)
}

func copyThreadNonexistent(th *thread) {
	target := th.copy()
	target.lists(target.root(), checkpoint.ListOptions{AllNamespaces: true})
	th.toCopy(1, "")
	if err := th.tryCopyTo(target.id); err != nil {
		th.Fatalf("CopyThread to where nothing was copied: %v", err)
	}
	th.copied(target)
}

func copyThreadKeepsEveryValue(th *thread) {
	values := survivors()
	saved := th.putState(th.root(), values)
	th.putWrites(saved, "task", "", write("ch", values["a list of everything"]), write("ch", values["a map of unusual keys"]))
	target := th.copy()
	th.equal("values", target.values(at(target.root(), saved.CheckpointID)), values)
	th.copied(target)
}

func copyThreadKeepsBranches(th *thread) {
	trunk := th.chain(th.root(), 2)
	left := th.chain(trunk[0], 2)
	th.chain(trunk[1], 1)
	th.chain(left[0], 1)
	target := th.copy()
	parent := at(target.root(), trunk[0].CheckpointID)
	th.equal("parent", target.get(at(target.root(), left[0].CheckpointID)).Parent, &parent)
	th.equal("number of checkpoints", len(target.readings()), 6)
	th.copied(target)
}

func copyThreadKeepsDeltaHistory(th *thread) {
	trunk := th.steps(th.root(), delta("older"), snapshot([]any{0}, 1), delta(2))
	left := th.steps(trunk[1], delta("left"), delta("pending"))
	th.steps(trunk[2], delta("right"), delta("pending"))
	target := th.copy()
	history := target.walked(at(target.root(), left[1].CheckpointID), messages)[messages]
	th.equal("seed", history.Seed, snapshot([]any{0}, nil).value)
	th.equal("values written", valuesOf(history.Writes), []any{1, "left"})
	th.copied(target)
}

func copyThreadCopiesEarlyWrites(th *thread) {
	th.putEmpty(th.root(), loopMetadata(0))
	cp := newCheckpoint(nil, nil)
	th.putWrites(at(th.in("child:1"), cp.ID), "task", "", write("ch", "early"))
	target := th.copy()
	saved := target.put(target.in("child:1"), cp, loopMetadata(0), versions{})
	th.equal("writes", target.writes(saved), []checkpoint.Write{{TaskID: "task", Channel: "ch", Value: "early"}})
}

func copyThreadShowsInLists(th *thread) {
	metadata := checkpoint.Metadata{"mark": th.id}
	root := th.putEmpty(th.root(), metadata)
	child := th.putEmpty(th.in("child:1"), metadata)
	target := th.copy()
	for _, listed := range []struct {
		source  checkpoint.Config
		options checkpoint.ListOptions
		in      checkpoint.Config
	}{
		{root, filter("mark", th.id), checkpoint.Config{}},
		{child, filter("mark", th.id), checkpoint.Config{Namespace: "child:1"}},
	} {
		threads := map[string]bool{}
		tuples := th.list(listed.in, listed.options)
		for _, tuple := range tuples {
			threads[tuple.Config.ThreadID] = true
			th.equal("id", tuple.Config.CheckpointID, listed.source.CheckpointID)
		}
		th.equal("number of checkpoints", len(tuples), 2)
		th.equal("threads", threads, map[string]bool{th.id: true, target.id: true})
	}
	options := filter("mark", th.id)
	options.AllNamespaces = true
	th.equal("checkpoints in all threads and namespaces", len(th.list(checkpoint.Config{}, options)), 4)
	target.lists(target.root(), options, at(target.in("child:1"), child.CheckpointID), at(target.root(), root.CheckpointID))
}

// The versions that both come to next are the same where they are integers.
func copyThreadLetsBothGoOn(th *thread) {
	first := th.startList(checkpoint.IntVersion(1))
	target := th.copy()
	second := at(target.root(), first.CheckpointID)
	for _, item := range []string{"a", "b"} {
		first, second = th.grow(first, "source "+item), target.grow(second, "target "+item)
	}
	th.holds("source", first, "root", "source a", "source b")
	target.holds("target", second, "root", "target a", "target b")
}

func copyThreadOutlivesSource(th *thread) {
	th.toCopy(3, "", "child:1")
	th.steps(th.in("child:2"), snapshot(0, 1), delta(2))
	target := th.copy()
	want := target.readings()
	th.delete()
	th.equal("number of checkpoints", len(want), 8)
	for config, read := range target.readings() {
		th.equal("copy", read.content, want[config].content)
		th.equal("parent", read.parent, want[config].parent)
		delete(want, config)
	}
	th.equal("number of checkpoints lost", len(want), 0)
}

func copyThreadTakesIDsLiterally(th *thread) {
	for name, id := range identifiers() {
		th.each(name, func(th *thread) {
			source, target := th.named(th.id+id), th.named(id+th.id)
			for _, other := range similarTo(source.id) {
				th.named(other).toCopy(1, "")
			}
			source.toCopy(2, "", id)
			if err := source.tryCopyTo(target.id); err != nil {
				th.Fatalf("CopyThread %q to %q: %v", source.id, target.id, err)
			}
			th.equal("number of checkpoints", len(target.readings()), 4)
			source.copied(target)
		})
	}
}

func copyThreadRefusesTarget(th *thread) {
	for name, fill := range map[string]func(target *thread){
		"a checkpoint":                    func(target *thread) { target.putEmpty(target.root(), loopMetadata(0)) },
		"a checkpoint in a subgraph only": func(target *thread) { target.putEmpty(target.in("child:1"), loopMetadata(0)) },
		"writes that came early": func(target *thread) {
			target.putWrites(at(target.root(), checkpoint.NewID(0)), "task", "", write("ch", "early"))
		},
	} {
		th.each(name, func(th *thread) {
			th.toCopy(2, "")
			target := th.another()
			fill(target)
			before, targetBefore := th.readings(), target.readings()
			th.fails("CopyThread", th.tryCopyTo(target.id), checkpoint.ErrInvalidArgument)
			th.equal("source", contentOf(th.readings()), contentOf(before))
			th.equal("target", contentOf(target.readings()), contentOf(targetBefore))
		})
	}
	th.each("a copy of the same", func(th *thread) {
		th.toCopy(2, "")
		target := th.copy()
		th.fails("CopyThread", th.tryCopyTo(target.id), checkpoint.ErrInvalidArgument)
		th.copied(target)
	})
}

// contentOf is comparable by plain.
func contentOf(read readings) map[string]any {
	content := map[string]any{}
	for config, r := range read {
		content[config.Namespace+" "+config.CheckpointID] = r.content
	}
	return content
}

func copyThreadRefusesItself(th *thread) {
	th.toCopy(2, "")
	before := contentOf(th.readings())
	for name, ids := range map[string][2]string{
		"to itself": {th.id, th.id}, "of no thread": {"", th.another().id}, "to no thread": {th.id, ""}, "of nothing": {"", ""},
	} {
		err := th.saver.(checkpoint.ThreadCopier).CopyThread(th.Context(), ids[0], ids[1])
		th.fails("CopyThread "+name, err, checkpoint.ErrInvalidArgument)
	}
	none := th.another()
	th.fails("CopyThread to itself of a thread that does not exist", none.tryCopyTo(none.id), checkpoint.ErrInvalidArgument)
	th.equal("thread", contentOf(th.readings()), before)
}

func copyThreadByConcurrentCallers(th *thread) {
	th.toCopy(3, "", "child:1")
	target := th.another()
	errs := make([]error, 4)
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() { errs[i] = th.tryCopyTo(target.id) })
	}
	group.Wait()
	copies := 0
	for _, err := range errs {
		switch {
		case err == nil:
			copies++
		case !errors.Is(err, checkpoint.ErrInvalidArgument):
			th.Errorf("CopyThread: want an error that is %q, got: %v", checkpoint.ErrInvalidArgument, err)
		}
	}
	th.equal("number of copies", copies, 1)
	th.copied(target)
}

func copyThreadRefusesCancelledContext(th *thread) {
	th.toCopy(2, "")
	target := th.another()
	err := th.saver.(checkpoint.ThreadCopier).CopyThread(th.cancelled(), th.id, target.id)
	th.fails("CopyThread with a cancelled context", err, context.Canceled)
	target.lists(target.root(), checkpoint.ListOptions{AllNamespaces: true})
}
