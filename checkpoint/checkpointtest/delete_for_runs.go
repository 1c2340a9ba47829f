package checkpointtest

import (
	"context"

	"github.com/pgweft/pgweft/checkpoint"
)

var deleteForRunsTests = []test{
	{"test_delete_for_runs_single", deleteForRunsSingle},
	{"test_delete_for_runs_multiple", deleteForRunsMultiple},
	{"test_delete_for_runs_preserves_other_runs", deleteForRunsPreservesOthers},
	{"test_delete_for_runs_removes_writes", deleteForRunsRemovesWrites},
	{"test_delete_for_runs_empty_list_noop", deleteForRunsNone},
	{"test_delete_for_runs_nonexistent_noop", deleteForRunsNonexistent},
	{"test_delete_for_runs_across_namespaces", deleteForRunsAcrossNamespaces},

	{"more_delete_for_runs_across_threads", deleteForRunsAcrossThreads},
	{"more_delete_for_runs_counts_what_went", deleteForRunsCounts},
	{"more_delete_for_runs_keeps_values_that_others_share", deleteForRunsKeepsSharedValues},
	{"more_delete_for_runs_leaves_nothing_to_collide_with", deleteForRunsLeavesNothing},
	{"more_delete_for_runs_makes_parents_that_went_null", deleteForRunsNullsParents},
	{"more_delete_for_runs_keeps_what_live_delta_channels_need", deleteForRunsKeepsDelta},
	{"more_delete_for_runs_keeps_what_branches_need", deleteForRunsKeepsBranches},
	{"more_delete_for_runs_takes_what_a_snapshot_replaces", deleteForRunsBehindSnapshot},
	{"more_delete_for_runs_keeps_the_packets_of_old_formats", deleteForRunsKeepsPackets},
	{"more_delete_for_runs_again_removes_nothing", deleteForRunsAgain},
	{"more_delete_for_runs_takes_ids_literally", deleteForRunsTakesIDsLiterally},
	{"more_delete_for_runs_leaves_what_no_run_made", deleteForRunsLeavesRunless},
	{"more_delete_for_runs_refuses_cancelled_context", deleteForRunsRefusesCancelledContext},
}

func (th *thread) deleteForRuns(runIDs ...string) []checkpoint.Removed {
	th.Helper()
	removed, err := th.saver.(checkpoint.RunDeleter).DeleteForRuns(th.Context(), runIDs)
	if err != nil {
		th.Fatalf("DeleteForRuns %q: %v", runIDs, err)
	}
	return removed
}

// run is the id of a run that no other test has.
func (th *thread) run(name string) string { return name + " of " + th.id }

func (th *thread) byRun(name string) checkpoint.Metadata {
	metadata := loopMetadata(0)
	metadata["run_id"] = th.run(name)
	return metadata
}

func deleteForRunsSingle(th *thread) {
	saved := th.chain(th.root(), 2, th.byRun("first"), th.byRun("second"))
	before := th.readings()
	th.deleteForRuns(th.run("first"))
	th.unharmed(before, saved[1])
	th.absent(saved[0])
}

func deleteForRunsMultiple(th *thread) {
	saved := th.chain(th.root(), 3, th.byRun("first"), th.byRun("second"), th.byRun("third"))
	before := th.readings()
	th.deleteForRuns(th.run("first"), th.run("second"))
	th.unharmed(before, saved[2])
}

func deleteForRunsPreservesOthers(th *thread) {
	kept := th.putEmpty(th.root(), th.byRun("kept"))
	th.putWrites(kept, "task", "", write("ch", "val"))
	th.putEmpty(th.root(), th.byRun("deleted"))
	before := th.readings()
	th.deleteForRuns(th.run("deleted"))
	th.unharmed(before, kept)
}

func deleteForRunsRemovesWrites(th *thread) {
	cp := newCheckpoint(nil, nil)
	saved := th.put(th.root(), cp, th.byRun("deleted"), versions{})
	th.putWrites(saved, "task", "", write("ch", "val"))
	th.equal("number of writes before", len(th.writes(saved)), 1)
	th.deleteForRuns(th.run("deleted"))
	th.absent(saved)
	th.put(th.root(), cp, loopMetadata(0), versions{})
	th.equal("writes of the checkpoint put again", th.writes(saved), []checkpoint.Write{})
}

func deleteForRunsNone(th *thread) {
	saved := th.putEmpty(th.root(), th.byRun("kept"))
	before := th.readings()
	th.equal("report", len(th.deleteForRuns()), 0)
	th.unharmed(before, saved)
}

func deleteForRunsNonexistent(th *thread) {
	saved := th.putEmpty(th.root(), th.byRun("kept"))
	before := th.readings()
	th.reports(th.deleteForRuns(th.run("nonexistent")), 0, 0, 0, 0)
	th.unharmed(before, saved)
}

func deleteForRunsAcrossNamespaces(th *thread) {
	kept := th.putEmpty(th.in("child:1"), th.byRun("kept"))
	for _, namespace := range []string{"", "child:1", "child:1|child:2"} {
		th.putEmpty(th.in(namespace), th.byRun("deleted"))
	}
	before := th.readings()
	th.reports(th.deleteForRuns(th.run("deleted")), 3, 0, 0, 0)
	th.unharmed(before, kept)
}

func deleteForRunsAcrossThreads(th *thread) {
	other, third := th.another(), th.another()
	th.chain(th.root(), 2, th.byRun("first"), th.byRun("first"))
	otherLeft := other.chain(other.root(), 2, th.byRun("second"), th.byRun("kept"))[1]
	thirdLeft := third.putEmpty(third.root(), th.byRun("kept"))
	before, otherBefore, thirdBefore := th.readings(), other.readings(), third.readings()
	removed := th.deleteForRuns(th.run("first"), th.run("second"))
	th.reports(removed, 2, 0, 0, 0)
	other.reports(removed, 1, 0, 0, 0)
	third.reports(removed, 0, 0, 0, 0)
	th.unharmed(before)
	other.unharmed(otherBefore, otherLeft)
	third.unharmed(thirdBefore, thirdLeft)
}

func deleteForRunsCounts(th *thread) {
	first := th.putList(th.root(), th.byRun("deleted"), 1, true)
	second := th.putList(first, th.byRun("deleted"), 2, true)
	third := th.putList(second, th.byRun("kept"), 3, true)
	th.putWrites(first, "task", "", write("a", 1), write("b", 2))
	th.putWrites(second, "task", "", write("a", 1))
	th.putWrites(third, "task", "", write("a", 1))
	before := th.readings()
	th.reports(th.deleteForRuns(th.run("deleted")), 2, 2, 3, 0)
	th.unharmed(before, third)
}

func deleteForRunsKeepsSharedValues(th *thread) {
	first := th.putList(th.root(), th.byRun("deleted"), 1, true)
	second := th.putList(first, th.byRun("kept"), 1, false)
	before := th.readings()
	th.reports(th.deleteForRuns(th.run("deleted")), 1, 0, 0, 0)
	th.unharmed(before, second)
	th.equal("values", th.values(second), map[string]any{"list": []any{1}})
}

func deleteForRunsLeavesNothing(th *thread) {
	th.putList(th.in("child:1"), th.byRun("deleted"), 1, true)
	th.deleteForRuns(th.run("deleted"))
	th.takes("child:1", []any{"second life"})
}

func deleteForRunsNullsParents(th *thread) {
	saved := th.chain(th.root(), 4, th.byRun("kept"), th.byRun("deleted"), th.byRun("kept"), th.byRun("kept"))
	before := th.readings()
	th.deleteForRuns(th.run("deleted"))
	th.unharmed(before, saved[0], saved[2], saved[3])
	th.equal("parent", th.get(saved[2]).Parent, (*checkpoint.Config)(nil))
}

// LangGraph's documentation warns that deleting runs corrupts a live delta channel. Here what it needs stays.
func deleteForRunsKeepsDelta(th *thread) {
	forms := map[string]deltaStep{
		"a snapshot": snapshot([]any{0}, 1), "a plain value": stored([]any{0}, 1), "an inline value": stored("0", 1),
	}
	for name, seed := range forms {
		th.each("back to "+name, func(th *thread) {
			first := th.step(th.root(), deltaState{messages: delta("older")}, th.byRun("deleted"))
			second := th.step(first, deltaState{messages: seed}, th.byRun("deleted"))
			third := th.step(second, deltaState{messages: delta(2)}, th.byRun("deleted"))
			fourth := th.step(third, deltaState{messages: delta(3)}, th.byRun("kept"))
			before := th.readings()
			removed := th.removedFrom(th.deleteForRuns(th.run("deleted")))
			th.equal("checkpoints removed", removed.Checkpoints, 1)
			th.equal("checkpoints kept", removed.Kept, 2)
			th.unharmed(before, second, third, fourth)
		})
	}
	th.each("back to the first", func(th *thread) {
		first := th.step(th.root(), deltaState{messages: delta(1)}, th.byRun("deleted"))
		second := th.step(first, deltaState{messages: delta(2)}, th.byRun("kept"))
		before := th.readings()
		th.reports(th.deleteForRuns(th.run("deleted")), 0, 0, 0, 1)
		th.unharmed(before, first, second)
	})
}

// The run's own branch goes; the trunk that it shares with another stays.
func deleteForRunsKeepsBranches(th *thread) {
	trunk := th.step(th.root(), deltaState{messages: snapshot(0, 1)}, th.byRun("deleted"))
	left := th.step(trunk, deltaState{messages: delta("left")}, th.byRun("deleted"))
	th.step(left, deltaState{messages: delta("left")}, th.byRun("deleted"))
	right := th.step(trunk, deltaState{messages: delta("right")}, th.byRun("kept"))
	before := th.readings()
	th.reports(th.deleteForRuns(th.run("deleted")), 2, 0, 2, 1)
	th.unharmed(before, trunk, right)
}

func deleteForRunsBehindSnapshot(th *thread) {
	first := th.step(th.root(), deltaState{messages: snapshot([]any{0}, 1)}, th.byRun("deleted"))
	second := th.step(first, deltaState{messages: delta(2)}, th.byRun("deleted"))
	third := th.step(second, deltaState{messages: snapshot([]any{0, 1, 2}, 3)}, th.byRun("kept"))
	fourth := th.step(third, deltaState{messages: delta(4)}, th.byRun("kept"))
	before := th.readings()
	th.reports(th.deleteForRuns(th.run("deleted")), 2, 1, 2, 0)
	th.unharmed(before, third, fourth)
}

func deleteForRunsKeepsPackets(th *thread) {
	saved := th.putOldFormat(th.byRun("deleted"), th.byRun("deleted"), th.byRun("kept"))
	before := th.readings()
	th.reports(th.deleteForRuns(th.run("deleted")), 1, 0, 1, 1)
	th.unharmed(before, saved[1], saved[2])
}

// putOldFormat puts a chain of checkpoints, the last of a format whose packets are read from the parent's writes.
func (th *thread) putOldFormat(metadata ...checkpoint.Metadata) []checkpoint.Config {
	th.Helper()
	var saved []checkpoint.Config
	parent := th.root()
	last := len(metadata) - 1
	for i, md := range metadata {
		cp := newCheckpoint(nil, versions{"ch": checkpoint.IntVersion(1)})
		if i == last {
			cp.V = 2
		}
		parent = th.put(parent, cp, md, versions{})
		th.putWrites(parent, "task", "", write(checkpoint.ChannelTasks, i))
		saved = append(saved, parent)
	}
	th.equal("packets", th.values(saved[last]), map[string]any{checkpoint.ChannelTasks: []any{last - 1}})
	return saved
}

func deleteForRunsAgain(th *thread) {
	saved := th.chain(th.root(), 2, th.byRun("deleted"), th.byRun("kept"))
	before := th.readings()
	th.reports(th.deleteForRuns(th.run("deleted"), th.run("deleted")), 1, 0, 0, 0)
	th.reports(th.deleteForRuns(th.run("deleted")), 0, 0, 0, 0)
	th.unharmed(before, saved[1])
}

func deleteForRunsTakesIDsLiterally(th *thread) {
	for name, id := range identifiers() {
		th.each(name, func(th *thread) {
			var kept []checkpoint.Config
			for _, other := range similarTo(th.run(id)) {
				kept = append(kept, th.putEmpty(th.root(), checkpoint.Metadata{"run_id": other}))
			}
			th.putEmpty(th.root(), th.byRun(id))
			before := th.readings()
			th.reports(th.deleteForRuns(th.run(id)), 1, 0, 0, 0)
			th.unharmed(before, kept...)
		})
	}
}

func deleteForRunsLeavesRunless(th *thread) {
	saved := th.putEmpty(th.root(), loopMetadata(0))
	null := loopMetadata(0)
	null["run_id"] = nil
	alsoSaved := th.putEmpty(th.root(), null)
	before := th.readings()
	th.reports(th.deleteForRuns("", "null"), 0, 0, 0, 0)
	th.unharmed(before, saved, alsoSaved)
}

func deleteForRunsRefusesCancelledContext(th *thread) {
	saved := th.putEmpty(th.root(), th.byRun("deleted"))
	before := th.readings()
	_, err := th.saver.(checkpoint.RunDeleter).DeleteForRuns(th.cancelled(), []string{th.run("deleted")})
	th.fails("DeleteForRuns with a cancelled context", err, context.Canceled)
	th.unharmed(before, saved)
}
