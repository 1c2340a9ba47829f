package checkpointtest

import (
	"context"

	"github.com/pgweft/pgweft/checkpoint"
)

var getTupleTests = []test{
	{"test_get_tuple_nonexistent_returns_none", getTupleNonexistent},
	{"test_get_tuple_latest_when_no_checkpoint_id", getTupleLatest},
	{"test_get_tuple_specific_checkpoint_id", getTupleSpecific},
	{"test_get_tuple_config_structure", getTupleConfig},
	{"test_get_tuple_checkpoint_fields", getTupleFields},
	{"test_get_tuple_metadata", getTupleMetadata},
	{"test_get_tuple_parent_config", getTupleParent},
	{"test_get_tuple_pending_writes", getTuplePendingWrites},
	{"test_get_tuple_respects_namespace", getTupleRespectsNamespace},
	{"test_get_tuple_nonexistent_checkpoint_id", getTupleNonexistentID},

	{"more_get_tuple_takes_the_newest_by_id", getTupleNewestByID},
	{"more_get_tuple_finds_exact_ids_only", getTupleExactIDs},
	{"more_get_tuple_keeps_equal_ids_apart", getTupleKeepsEqualIDsApart},
	{"more_get_tuple_says_when_it_was_created", getTupleCreatedAt},
	{"more_get_tuple_follows_the_parent_not_the_order_of_ids", getTupleFollowsParent},
	{"more_get_tuple_gives_old_formats_the_packets_of_their_parent", getTuplePacketsOfOldFormats},
	{"more_get_tuple_refuses_empty_thread_id", getTupleRefusesEmptyThreadID},
	{"more_get_tuple_refuses_cancelled_context", getTupleRefusesCancelledContext},
}

func getTupleNonexistent(th *thread) { th.absent(th.root()) }

func getTupleLatest(th *thread) {
	saved := th.chain(th.root(), 3)
	got := th.get(th.root())
	th.equal("config", got.Config, saved[2])
	step, _ := got.Metadata.Step()
	th.equal("step", step, 2)
}

func getTupleSpecific(th *thread) {
	saved := th.chain(th.root(), 2)
	got := th.get(saved[0])
	th.equal("config", got.Config, saved[0])
	th.equal("id", got.Checkpoint.ID, saved[0].CheckpointID)
}

func getTupleConfig(th *thread) {
	cp := newCheckpoint(nil, nil)
	saved := th.put(th.root(), cp, loopMetadata(0), versions{})
	th.equal("config", th.get(saved).Config, checkpoint.Config{ThreadID: th.id, Namespace: "", CheckpointID: cp.ID})
}

func getTupleFields(th *thread) {
	cp := firstCheckpoint(map[string]any{"k": "v"})
	cp.V = 1
	cp.Extra = map[string]any{"pending_sends": []any{}}
	got := th.get(th.put(th.root(), cp, loopMetadata(0), cp.ChannelVersions)).Checkpoint
	th.equal("format", got.V, 1)
	th.equal("id", got.ID, cp.ID)
	th.equal("time", got.TS, timestamp)
	th.equal("values", got.ChannelValues, map[string]any{"k": "v"})
	th.equal("versions", got.ChannelVersions, versions{"k": checkpoint.IntVersion(1)})
	th.equal("versions seen", got.VersionsSeen, map[string]versions{})
}

func getTupleMetadata(th *thread) {
	saved := th.putEmpty(th.root(), checkpoint.Metadata{"source": checkpoint.SourceInput, "step": -1})
	th.equal("metadata", th.get(saved).Metadata, checkpoint.Metadata{"source": checkpoint.SourceInput, "step": -1})
}

func getTupleParent(th *thread) {
	saved := th.chain(th.root(), 2)
	th.equal("parent of the first", th.get(saved[0]).Parent, (*checkpoint.Config)(nil))
	th.equal("parent of the second", th.get(saved[1]).Parent, &saved[0])
}

func getTuplePendingWrites(th *thread) {
	saved := th.putEmpty(th.root(), loopMetadata(0))
	th.putWrites(saved, "task", "", write("ch", "val"))
	th.equal("writes", th.writes(saved), []checkpoint.Write{{TaskID: "task", Channel: "ch", Value: "val"}})
}

func getTupleRespectsNamespace(th *thread) {
	root := th.putEmpty(th.root(), loopMetadata(0))
	child := th.putEmpty(th.in("child:1"), loopMetadata(0))
	th.equal("newest of the root", th.get(th.root()).Config, root)
	th.equal("newest of the child", th.get(th.in("child:1")).Config, child)
	th.absent(at(th.root(), child.CheckpointID))
}

func getTupleNonexistentID(th *thread) {
	th.putEmpty(th.root(), loopMetadata(0))
	th.absent(at(th.root(), checkpoint.NewID(0)))
}

func getTupleNewestByID(th *thread) {
	older, newer := newCheckpoint(nil, nil), newCheckpoint(nil, nil)
	saved := th.put(th.root(), newer, loopMetadata(1), versions{})
	th.put(th.root(), older, loopMetadata(0), versions{})
	th.equal("newest", th.get(th.root()).Config, saved)

	// Not every client's ids are UUIDs: what counts is the order of their bytes.
	for _, id := range []string{"B", "b", "a", "é", "É", "_", "~"} {
		cp := newCheckpoint(nil, nil)
		cp.ID = id
		th.put(th.in("ids"), cp, loopMetadata(0), versions{})
	}
	th.equal("newest by bytes", th.get(th.in("ids")).Config, at(th.in("ids"), "é"))
}

// A wrong answer by id would be worse than none: whoever asked would continue from another state.
func getTupleExactIDs(th *thread) {
	saved := th.chain(th.root(), 3)
	id := saved[1].CheckpointID
	for _, other := range []string{id[:len(id)-1], id + "0", " " + id, id + " ", "%", id[:8] + "%", "0", "~"} {
		th.absent(at(th.root(), other))
	}
}

func getTupleKeepsEqualIDsApart(th *thread) {
	other := th.another()
	cp := newCheckpoint(nil, nil)
	places := map[string]checkpoint.Config{
		"root": th.root(), "child": th.in("child:1"), "grandchild": th.in("child:1|child:2"), "other": other.root(),
	}
	for name, config := range places {
		cp.ChannelValues = map[string]any{"list": []any{name}}
		cp.ChannelVersions = versions{"list": checkpoint.IntVersion(1)}
		saved := th.put(config, cp, checkpoint.Metadata{"name": name}, nil)
		th.putWrites(saved, "task", "", write("ch", name))
	}
	for name, config := range places {
		got := th.get(at(config, cp.ID))
		th.equal("metadata of "+name, got.Metadata, checkpoint.Metadata{"name": name})
		th.equal("values of "+name, got.Checkpoint.ChannelValues, map[string]any{"list": []any{name}})
		th.equal("writes of "+name, got.PendingWrites, []checkpoint.Write{{TaskID: "task", Channel: "ch", Value: name}})
	}
}

func getTupleCreatedAt(th *thread) {
	cp := newCheckpoint(nil, nil)
	saved := th.put(th.root(), cp, loopMetadata(0), versions{})
	created := th.get(saved).CreatedAt
	if created.IsZero() {
		th.Error("CreatedAt is not set")
	}
	th.put(th.root(), cp, loopMetadata(1), versions{})
	th.putWrites(saved, "task", "", write("ch", 1))
	th.putEmpty(saved, loopMetadata(2))
	if again := th.get(saved).CreatedAt; !again.Equal(created) {
		th.Errorf("CreatedAt moved from %v to %v", created, again)
	}
}

func getTupleFollowsParent(th *thread) {
	saved := th.chain(th.root(), 3)
	branch := th.putEmpty(saved[0], loopMetadata(1))
	next := th.putEmpty(branch, loopMetadata(2))
	th.equal("parent of the branch", th.get(branch).Parent, &saved[0])
	th.equal("parent of its next", th.get(next).Parent, &branch)
	th.equal("parent on the old branch", th.get(saved[2]).Parent, &saved[1])

	// A parent is a name: nothing says that it was saved here.
	orphan := th.putEmpty(at(th.root(), "elsewhere"), loopMetadata(0))
	th.equal("parent that is not here", th.get(orphan).Parent, &checkpoint.Config{ThreadID: th.id, CheckpointID: "elsewhere"})
}

// Runtimes of those formats left the packets for a superstep among the writes of the checkpoint before it.
func getTuplePacketsOfOldFormats(th *thread) {
	parent := th.putEmpty(th.root(), loopMetadata(0))
	th.putWrites(parent, "1", "b", write(checkpoint.ChannelTasks, "third"), write("ch", "no packet"))
	th.putWrites(parent, "2", "a", write(checkpoint.ChannelTasks, "first"), write(checkpoint.ChannelTasks, "second"))
	for format, want := range map[int]map[string]any{
		1: {checkpoint.ChannelTasks: []any{"first", "second", "third"}, "k": "v"},
		3: {checkpoint.ChannelTasks: []any{"first", "second", "third"}, "k": "v"},
		4: {"k": "v"},
	} {
		cp := firstCheckpoint(map[string]any{"k": "v"})
		cp.V = format
		got := th.get(th.put(parent, cp, loopMetadata(1), nil)).Checkpoint
		th.equal("values of a child", got.ChannelValues, want)
		if _, ok := got.ChannelVersions[checkpoint.ChannelTasks]; ok != (format < 4) {
			th.Errorf("format %d: the packets have a version: %v", format, ok)
		}
	}
}

func getTupleRefusesEmptyThreadID(th *thread) {
	_, err := th.saver.Get(th.Context(), checkpoint.Config{})
	th.fails("Get of no thread", err, checkpoint.ErrInvalidArgument)
}

func getTupleRefusesCancelledContext(th *thread) {
	th.putEmpty(th.root(), loopMetadata(0))
	_, err := th.saver.Get(th.cancelled(), th.root())
	th.fails("Get with a cancelled context", err, context.Canceled)
}
