package checkpointtest

import (
	"context"

	"github.com/pgweft/pgweft/checkpoint"
)

var pruneTests = []test{
	{"test_prune_keep_latest_single_thread", pruneSingleThread},
	{"test_prune_keep_latest_multiple_threads", pruneMultipleThreads},
	{"test_prune_keep_latest_across_namespaces", pruneAcrossNamespaces},
	{"test_prune_keep_latest_preserves_writes", prunePreservesWrites},
	{"test_prune_delete_all", pruneDeleteAll},
	{"test_prune_preserves_other_threads", prunePreservesOthers},
	{"test_prune_empty_list_noop", pruneNone},
	{"test_prune_nonexistent_noop", pruneNonexistent},

	{"more_prune_by_default_keeps_the_newest", pruneByDefault},
	{"more_prune_keeps_as_many_as_asked", pruneKeepsAsMany},
	{"more_prune_keeps_the_newest_by_id_not_by_time_of_put", pruneKeepsNewestByID},
	{"more_prune_keeps_heads", pruneKeepsHeads},
	{"more_prune_keeps_interrupted_heads", pruneKeepsInterrupted},
	{"more_prune_takes_interrupts_that_were_answered", pruneTakesAnswered},
	{"more_prune_counts_what_went", pruneCounts},
	{"more_prune_dry_run_counts_the_same_and_removes_nothing", pruneDryRun},
	{"more_prune_keeps_values_that_others_share", pruneKeepsSharedValues},
	{"more_prune_leaves_nothing_to_collide_with", pruneLeavesNothing},
	{"more_prune_makes_parents_that_went_null", pruneNullsParents},
	{"more_prune_lets_the_thread_go_on", pruneLetsGoOn},
	{"more_prune_keeps_what_delta_channels_need", pruneKeepsDelta},
	{"more_prune_knows_delta_channels_by_their_snapshots", pruneKnowsSnapshots},
	{"more_prune_keeps_what_each_delta_channel_needs", pruneKeepsSeveralDelta},
	{"more_prune_keeps_what_branches_need", pruneKeepsBranches},
	{"more_prune_takes_what_a_snapshot_replaces", pruneBehindSnapshot},
	{"more_prune_keeps_the_packets_of_old_formats", pruneKeepsPackets},
	{"more_prune_keeps_writes_that_came_early", pruneKeepsEarlyWrites},
	{"more_prune_delete_takes_whatever_there_is", pruneDeleteTakesAll},
	{"more_prune_again_removes_nothing", pruneAgain},
	{"more_prune_takes_a_thread_named_twice_once", pruneTwice},
	{"more_prune_takes_ids_literally", pruneTakesIDsLiterally},
	{"more_prune_refuses_what_it_cannot_do", pruneRefuses},
	{"more_prune_refuses_cancelled_context", pruneRefusesCancelledContext},
}

var (
	keepLatest = checkpoint.PruneOptions{Strategy: checkpoint.KeepLatest}
	pruneAll   = checkpoint.PruneOptions{Strategy: checkpoint.PruneAll}
)

func (th *thread) pruneThreads(options checkpoint.PruneOptions, threads ...*thread) []checkpoint.Removed {
	th.Helper()
	var ids []string
	for _, thread := range threads {
		ids = append(ids, thread.id)
	}
	removed, err := th.saver.(checkpoint.Pruner).Prune(th.Context(), ids, options)
	if err != nil {
		th.Fatalf("Prune %q, %+v: %v", ids, options, err)
	}
	return removed
}

func (th *thread) prune(options checkpoint.PruneOptions) []checkpoint.Removed {
	th.Helper()
	return th.pruneThreads(options, th)
}

func pruneSingleThread(th *thread) {
	saved := th.chain(th.root(), 4)
	before := th.readings()
	th.prune(keepLatest)
	th.unharmed(before, saved[3])
	th.absent(saved[2])
}

func pruneMultipleThreads(th *thread) {
	other := th.another()
	saved, otherSaved := th.chain(th.root(), 3), other.chain(other.root(), 2)
	before, otherBefore := th.readings(), other.readings()
	removed := th.pruneThreads(keepLatest, th, other)
	th.reports(removed, 2, 0, 0, 0)
	other.reports(removed, 1, 0, 0, 0)
	th.unharmed(before, saved[2])
	other.unharmed(otherBefore, otherSaved[1])
}

func pruneAcrossNamespaces(th *thread) {
	root, child := th.chain(th.root(), 3), th.chain(th.in("child:1"), 2)
	before := th.readings()
	th.reports(th.prune(keepLatest), 3, 0, 0, 0)
	th.unharmed(before, root[2], child[1])
}

func prunePreservesWrites(th *thread) {
	saved := th.chain(th.root(), 3)
	th.putWrites(saved[2], "task", "path", write("ch", "val"))
	before := th.readings()
	th.prune(keepLatest)
	th.unharmed(before, saved[2])
	th.equal("writes", th.writes(th.root()), []checkpoint.Write{{TaskID: "task", TaskPath: "path", Channel: "ch", Value: "val"}})
}

func pruneDeleteAll(th *thread) {
	th.chain(th.root(), 3)
	th.chain(th.in("child:1"), 2)
	th.reports(th.prune(pruneAll), 5, 0, 0, 0)
	th.lists(th.root(), checkpoint.ListOptions{AllNamespaces: true})
}

func prunePreservesOthers(th *thread) {
	other := th.another()
	th.toCopy(3, "")
	other.toCopy(2, "", "child:1")
	before := other.list(other.root(), checkpoint.ListOptions{AllNamespaces: true})
	for _, options := range []checkpoint.PruneOptions{keepLatest, pruneAll} {
		other.reports(th.prune(options), 0, 0, 0, 0)
		th.equal("other thread", other.list(other.root(), checkpoint.ListOptions{AllNamespaces: true}), before)
	}
}

func pruneNone(th *thread) {
	saved := th.chain(th.root(), 2)
	before := th.readings()
	th.equal("report", len(th.pruneThreads(keepLatest)), 0)
	th.equal("report", len(th.pruneThreads(pruneAll)), 0)
	th.unharmed(before, saved...)
}

func pruneNonexistent(th *thread) {
	th.reports(th.prune(keepLatest), 0, 0, 0, 0)
	th.reports(th.prune(pruneAll), 0, 0, 0, 0)
}

func pruneByDefault(th *thread) {
	saved := th.chain(th.root(), 3)
	before := th.readings()
	th.reports(th.prune(checkpoint.PruneOptions{}), 2, 0, 0, 0)
	th.unharmed(before, saved[2])
}

func pruneKeepsAsMany(th *thread) {
	root, child := th.chain(th.root(), 5), th.chain(th.in("child:1"), 2)
	before := th.readings()
	th.reports(th.prune(checkpoint.PruneOptions{Keep: 10}), 0, 0, 0, 0)
	th.unharmed(before, append(root, child...)...)
	th.reports(th.prune(checkpoint.PruneOptions{Keep: 3}), 2, 0, 0, 0)
	th.unharmed(before, append(root[2:], child...)...)
	th.reports(th.prune(checkpoint.PruneOptions{Keep: 1}), 3, 0, 0, 0)
	th.unharmed(before, root[4], child[1])
}

func pruneKeepsNewestByID(th *thread) {
	older, newer := newCheckpoint(nil, nil), newCheckpoint(nil, nil)
	saved := th.put(th.root(), newer, loopMetadata(1), versions{})
	th.put(th.root(), older, loopMetadata(0), versions{})
	before := th.readings()
	th.prune(keepLatest)
	th.unharmed(before, saved)
}

func pruneKeepsHeads(th *thread) {
	trunk := th.chain(th.root(), 2)
	left := th.chain(trunk[0], 2)
	right := th.chain(trunk[1], 2)
	child := th.chain(th.in("child:1"), 2)
	alone := th.chain(th.in("child:1"), 1)
	before := th.readings()
	th.reports(th.prune(checkpoint.PruneOptions{KeepHeads: true}), 5, 0, 0, 0)
	th.unharmed(before, left[1], right[1], child[1], alone[0])
	th.reports(th.prune(keepLatest), 2, 0, 0, 0)
	th.unharmed(before, right[1], alone[0])
}

// A branch that waits for a human can still be answered.
func pruneKeepsInterrupted(th *thread) {
	trunk := th.chain(th.root(), 2)
	waiting := th.chain(trunk[0], 2)
	th.putWrites(waiting[1], "task", "", write(checkpoint.ChannelInterrupt, []any{"sure?"}))
	idle := th.chain(trunk[0], 1)
	th.putWrites(idle[0], "task", "", write("ch", 1))
	newest := th.chain(trunk[1], 1)
	before := th.readings()
	th.prune(keepLatest)
	th.unharmed(before, waiting[1], newest[0])
}

func pruneTakesAnswered(th *thread) {
	saved := th.chain(th.root(), 3)
	th.putWrites(saved[1], "task", "", write(checkpoint.ChannelInterrupt, []any{"sure?"}))
	th.putWrites(saved[1], "null task", "", write(checkpoint.ChannelResume, "yes"))
	before := th.readings()
	th.reports(th.prune(keepLatest), 2, 0, 2, 0)
	th.unharmed(before, saved[2])
}

func pruneCounts(th *thread) {
	first := th.putList(th.root(), loopMetadata(0), 1, true)
	second := th.putList(first, loopMetadata(1), 2, true)
	third := th.putList(second, loopMetadata(2), 3, true)
	th.putWrites(first, "task", "", write("a", 1), write("b", 2))
	th.putWrites(second, "task", "", write("a", 1))
	th.putWrites(third, "task", "", write("a", 1))
	before := th.readings()
	th.reports(th.prune(checkpoint.PruneOptions{Keep: 2}), 1, 1, 2, 0)
	th.unharmed(before, second, third)
	th.reports(th.prune(pruneAll), 2, 2, 2, 0)
	th.unharmed(before)
}

func pruneDryRun(th *thread) {
	trunk := th.steps(th.root(), delta("older"), snapshot([]any{0}, 1), delta(2), delta(3))
	th.steps(trunk[1], delta("left"), snapshot([]any{"left"}, "left"))
	th.toCopy(3, "child:1")
	other := th.another()
	other.toCopy(2, "")
	before, otherBefore := th.readings(), other.readings()
	for _, options := range []checkpoint.PruneOptions{
		{Keep: 2, KeepHeads: true}, {KeepHeads: true}, keepLatest, pruneAll,
	} {
		dry := options
		dry.DryRun = true
		would := th.pruneThreads(dry, th, other)
		th.equal("checkpoints after a dry run", contentOf(th.readings()), contentOf(before))
		other.equal("other checkpoints after a dry run", contentOf(other.readings()), contentOf(otherBefore))
		th.equal("second dry run", th.pruneThreads(dry, th, other), would)

		th.equal("real run", th.pruneThreads(options, th, other), would)
		after, otherAfter := th.readings(), other.readings()
		th.equal("checkpoints removed", int(th.removedFrom(would).Checkpoints), len(before)-len(after))
		th.equal("other checkpoints removed", int(other.removedFrom(would).Checkpoints), len(otherBefore)-len(otherAfter))
		before, otherBefore = after, otherAfter
	}
	th.equal("checkpoints left in the end", len(before)+len(otherBefore), 0)
}

func pruneKeepsSharedValues(th *thread) {
	first := th.putList(th.root(), loopMetadata(0), 1, true)
	second := th.putList(first, loopMetadata(1), 2, true)
	third := th.putList(second, loopMetadata(2), 1, false)
	before := th.readings()
	th.reports(th.prune(keepLatest), 2, 1, 0, 0)
	th.unharmed(before, third)
	th.equal("values", th.values(third), map[string]any{"list": []any{1}})
}

func pruneLeavesNothing(th *thread) {
	for _, namespace := range []string{"", "child:1"} {
		first := th.putList(th.in(namespace), loopMetadata(0), 1, true)
		th.putList(first, loopMetadata(1), 2, true)
	}
	th.reports(th.prune(keepLatest), 2, 2, 0, 0)
	th.takes("", []any{"second life"})
	th.takes("child:1", []any{"second life"})
}

func pruneNullsParents(th *thread) {
	saved := th.chain(th.root(), 4)
	before := th.readings()
	th.prune(checkpoint.PruneOptions{Keep: 2})
	th.unharmed(before, saved[2], saved[3])
	th.equal("parent of the older", th.get(saved[2]).Parent, (*checkpoint.Config)(nil))
	th.equal("parent of the newer", th.get(saved[3]).Parent, &saved[2])
}

func pruneLetsGoOn(th *thread) {
	config := th.grow(th.startList(checkpoint.IntVersion(1)), "a")
	th.prune(keepLatest)
	next := th.grow(config, "b")
	th.holds("next", next, "root", "a", "b")
	th.equal("parent", th.get(next).Parent, &config)

	grown := th.steps(th.in("child:1"), snapshot(0, 1), delta(2), delta(3))
	th.prune(keepLatest)
	grown = th.steps(grown[2], delta(4))
	history := th.walked(grown[0], messages)[messages]
	th.equal("values written", valuesOf(history.Writes), []any{1, 2, 3})
}

// What the newest checkpoint has of a delta channel is spread over its ancestors, back to the last that stores its value.
func pruneKeepsDelta(th *thread) {
	for name, seed := range map[string]deltaStep{
		"a snapshot": snapshot([]any{0}, 1), "a snapshot without writes": snapshot([]any{0}, nil),
		"a plain value": stored([]any{0}, 1), "an inline value": stored("0", 1), "an inline true": stored(true, 1),
	} {
		th.each("back to "+name, func(th *thread) {
			saved := th.steps(th.root(), snapshot([]any{"older"}, "older"), delta("old"), seed, delta(2), delta(3))
			before := th.readings()
			removed := th.removedFrom(th.prune(keepLatest))
			th.equal("checkpoints removed", removed.Checkpoints, 2)
			th.equal("checkpoints kept", removed.Kept, 2)
			th.unharmed(before, saved[2:]...)
		})
	}
	th.each("back to the first", func(th *thread) {
		saved := th.steps(th.root(), delta(0), delta(1), delta(2))
		before := th.readings()
		th.reports(th.prune(keepLatest), 0, 0, 0, 2)
		th.unharmed(before, saved...)
	})
	th.each("in a subgraph", func(th *thread) {
		root := th.chain(th.root(), 3)
		saved := th.steps(th.in("child:1"), delta("older"), snapshot([]any{0}, 1), delta(2))
		before := th.readings()
		th.reports(th.prune(keepLatest), 3, 0, 1, 1)
		th.unharmed(before, root[2], saved[1], saved[2])
	})
}

// Metadata may lack counters, where another runtime wrote it.
func pruneKnowsSnapshots(th *thread) {
	var saved []checkpoint.Config
	parent := th.root()
	for i, s := range []deltaStep{delta("older"), snapshot([]any{0}, 1), delta(2), delta(3)} {
		none := checkpoint.Metadata{"step": i, "counters_since_delta_snapshot": nil}
		parent = th.step(parent, deltaState{messages: s}, none)
		saved = append(saved, parent)
	}
	before := th.readings()
	th.reports(th.prune(keepLatest), 1, 0, 1, 2)
	th.unharmed(before, saved[1:]...)
}

// What is kept for the sake of another has to read back as before, too.
func pruneKeepsSeveralDelta(th *thread) {
	var saved []checkpoint.Config
	parent := th.root()
	for _, state := range []deltaState{
		{messages: snapshot([]any{"m"}, "older"), files: snapshot([]any{"f"}, "older")},
		{messages: snapshot([]any{"m", 0}, 1), files: snapshot([]any{"f", 0}, 1)},
		{messages: delta(2), files: snapshot([]any{"f", 0, 1}, 2)},
		{messages: snapshot([]any{"m", 0, 1, 2}, 3), files: delta(3)},
		{messages: delta(4), files: delta(4)},
	} {
		parent = th.step(parent, state)
		saved = append(saved, parent)
	}
	before := th.readings()
	th.reports(th.prune(keepLatest), 1, 2, 2, 3)
	th.unharmed(before, saved[1:]...)
}

func pruneKeepsBranches(th *thread) {
	trunk := th.steps(th.root(), delta("older"), snapshot([]any{0}, 1), delta(2), delta(3))
	left := th.steps(trunk[1], delta("left"), delta("left"))
	right := th.steps(trunk[3], snapshot([]any{"right"}, 4), delta("right"))
	before := th.readings()
	th.reports(th.prune(checkpoint.PruneOptions{KeepHeads: true}), 3, 0, 3, 3)
	th.unharmed(before, trunk[1], left[0], left[1], right[0], right[1])
	th.reports(th.prune(keepLatest), 3, 1, 3, 1)
	th.unharmed(before, right[0], right[1])
}

func pruneBehindSnapshot(th *thread) {
	saved := th.steps(th.root(), snapshot([]any{0}, 1), delta(2), snapshot([]any{0, 1, 2}, 3))
	before := th.readings()
	th.reports(th.prune(keepLatest), 2, 1, 2, 0)
	th.unharmed(before, saved[2])
}

func pruneKeepsPackets(th *thread) {
	saved := th.putOldFormat(loopMetadata(0), loopMetadata(1), loopMetadata(2))
	before := th.readings()
	removed := th.removedFrom(th.prune(keepLatest))
	th.equal("checkpoints removed", removed.Checkpoints, 1)
	th.equal("checkpoints kept", removed.Kept, 1)
	th.unharmed(before, saved[1], saved[2])
}

// Runtimes may save the writes of tasks before their checkpoint.
func pruneKeepsEarlyWrites(th *thread) {
	saved := th.chain(th.root(), 2)
	cp := newCheckpoint(nil, nil)
	th.putWrites(at(th.root(), cp.ID), "task", "", write("ch", "early"))
	th.reports(th.prune(keepLatest), 1, 0, 0, 0)
	next := th.put(saved[1], cp, loopMetadata(2), versions{})
	th.equal("writes", th.writes(next), []checkpoint.Write{{TaskID: "task", Channel: "ch", Value: "early"}})
}

func pruneDeleteTakesAll(th *thread) {
	th.steps(th.root(), snapshot([]any{0}, 1), delta(2))
	waiting := th.putList(th.in("child:1"), loopMetadata(0), 1, true)
	th.putWrites(waiting, "task", "", write(checkpoint.ChannelInterrupt, []any{"sure?"}))
	cp := newCheckpoint(nil, nil)
	early := at(th.in("child:2"), cp.ID)
	th.putWrites(early, "task", "", write("ch", "early"))
	options := pruneAll
	options.Keep, options.KeepHeads = 10, true
	th.reports(th.prune(options), 3, 2, 4, 0)
	th.lists(th.root(), checkpoint.ListOptions{AllNamespaces: true})
	th.takes("child:1", []any{"second life"})
	th.put(th.in("child:2"), cp, loopMetadata(0), versions{})
	th.equal("writes", th.writes(early), []checkpoint.Write{})
}

func pruneAgain(th *thread) {
	saved := th.steps(th.root(), delta("older"), snapshot([]any{0}, 1), delta(2), delta(3))
	before := th.readings()
	th.reports(th.prune(keepLatest), 1, 0, 1, 2)
	th.reports(th.prune(keepLatest), 0, 0, 0, 2)
	th.unharmed(before, saved[1:]...)
}

func pruneTwice(th *thread) {
	saved := th.chain(th.root(), 3)
	before := th.readings()
	th.reports(th.pruneThreads(keepLatest, th, th), 2, 0, 0, 0)
	th.unharmed(before, saved[2])
}

func pruneTakesIDsLiterally(th *thread) {
	for name, id := range identifiers() {
		th.each(name, func(th *thread) {
			pruned := th.named(th.id + id)
			kept := map[string][]checkpoint.Config{}
			for _, other := range similarTo(pruned.id) {
				kept[other] = th.named(other).chain(th.named(other).in(id), 2)
			}
			saved := pruned.chain(pruned.in(id), 2)
			before := pruned.readings()
			pruned.reports(pruned.prune(keepLatest), 1, 0, 0, 0)
			pruned.unharmed(before, saved[1])
			for other, configs := range kept {
				th.lists(th.named(other).in(id), checkpoint.ListOptions{}, reversed(configs)...)
			}
		})
	}
}

func pruneRefuses(th *thread) {
	saved := th.chain(th.root(), 3)
	before := th.readings()
	for name, options := range map[string]checkpoint.PruneOptions{
		"an unknown strategy":               {Strategy: "keep_oldest"},
		"a strategy in capitals":            {Strategy: "DELETE"},
		"an unknown strategy in a dry run":  {Strategy: "keep_oldest", DryRun: true},
		"a negative number to keep":         {Keep: -1},
		"a negative number in a dry run":    {Keep: -1, DryRun: true},
		"a name that the strategy ends in":  {Strategy: "latest"},
		"a name that another suite uses":    {Strategy: "delete_all"},
		"a strategy with space around":      {Strategy: " keep_latest "},
		"a negative number where all go":    {Keep: -1, Strategy: checkpoint.PruneAll},
		"an unknown strategy to keep heads": {Strategy: "keep_heads", KeepHeads: true},
	} {
		removed, err := th.saver.(checkpoint.Pruner).Prune(th.Context(), []string{th.id}, options)
		th.fails("Prune with "+name, err, checkpoint.ErrInvalidArgument)
		th.equal("report with "+name, len(removed), 0)
	}
	th.unharmed(before, saved...)
}

func pruneRefusesCancelledContext(th *thread) {
	saved := th.chain(th.root(), 3)
	before := th.readings()
	_, err := th.saver.(checkpoint.Pruner).Prune(th.cancelled(), []string{th.id}, keepLatest)
	th.fails("Prune with a cancelled context", err, context.Canceled)
	th.unharmed(before, saved...)
}
