package checkpointtest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/pgweft/pgweft/checkpoint"
)

var putTests = []test{
	{"test_put_returns_config", putReturnsConfig},
	{"test_put_roundtrip", putRoundtrip},
	{"test_put_preserves_channel_values", putPreservesChannelValues},
	{"test_put_preserves_channel_versions", putPreservesChannelVersions},
	{"test_put_preserves_versions_seen", putPreservesVersionsSeen},
	{"test_put_preserves_metadata", putPreservesMetadata},
	{"test_put_root_namespace", putRootNamespace},
	{"test_put_child_namespace", putChildNamespace},
	{"test_put_default_namespace", putDefaultNamespace},
	{"test_put_multiple_checkpoints_same_thread", putMultipleCheckpointsSameThread},
	{"test_put_multiple_threads_isolated", putMultipleThreadsIsolated},
	{"test_put_parent_config", putParentConfig},
	{"test_put_incremental_channel_update", putIncrementalChannelUpdate},
	{"test_put_new_channel_added", putNewChannelAdded},
	{"test_put_channel_removed", putChannelRemoved},
	{"test_put_preserves_run_id", putPreservesRunID},
	{"test_put_preserves_versions_seen_values", putPreservesVersionsSeenValues},

	{"more_put_keeps_every_value", putKeepsEveryValue},
	{"more_put_keeps_values_that_did_not_change", putKeepsUnchangedValues},
	{"more_put_keeps_every_field", putKeepsEveryField},
	{"more_put_keeps_the_kind_of_versions", putKeepsKindOfVersions},
	{"more_put_keeps_every_metadata_key", putKeepsEveryMetadataKey},
	{"more_put_removes_nul_from_metadata", putRemovesNULFromMetadata},
	{"more_put_takes_nil_new_versions_for_all", putTakesNilNewVersionsForAll},
	{"more_put_takes_any_identifier", putTakesAnyIdentifier},
	{"more_put_again_replaces", putAgainReplaces},
	{"more_put_again_keeps_writes", putAgainKeepsWrites},
	{"more_put_does_not_keep_the_callers_maps", putDoesNotKeepCallersMaps},
	{"more_put_refuses_version_collision", putRefusesVersionCollision},
	{"more_put_refuses_what_cannot_be_saved", putRefusesWhatCannotBeSaved},
	{"more_put_refuses_cancelled_context", putRefusesCancelledContext},
	{"more_put_cancelled_midway_is_all_or_nothing", putCancelledMidway},
	{"more_put_by_concurrent_writers_keeps_both_branches", putByConcurrentWriters},
	{"more_put_by_concurrent_retries_succeeds", putByConcurrentRetries},
}

func putReturnsConfig(th *thread) {
	cp := firstCheckpoint(map[string]any{"k": "v"})
	saved := th.put(th.root(), cp, loopMetadata(0), cp.ChannelVersions)
	th.equal("config", saved, checkpoint.Config{ThreadID: th.id, Namespace: "", CheckpointID: cp.ID})
}

func putRoundtrip(th *thread) {
	cp := firstCheckpoint(map[string]any{"msg": "hello"})
	saved := th.put(th.root(), cp, checkpoint.Metadata{"source": checkpoint.SourceInput, "step": -1}, cp.ChannelVersions)
	got := th.get(saved).Checkpoint
	th.equal("id", got.ID, cp.ID)
	th.equal("values", got.ChannelValues, map[string]any{"msg": "hello"})
}

func putPreservesChannelValues(th *thread) {
	values := map[string]any{"text": "hello", "integer": 42, "list": []any{1, 2, 3}, "map": map[string]any{"nested": true}}
	saved := th.putState(th.root(), values)
	th.equal("values", th.values(saved), values)
}

func putPreservesChannelVersions(th *thread) {
	cp := newCheckpoint(map[string]any{"a": "x", "b": "y"},
		versions{"a": checkpoint.IntVersion(1), "b": checkpoint.IntVersion(2)})
	saved := th.put(th.root(), cp, loopMetadata(0), cp.ChannelVersions)
	th.equal("versions", th.get(saved).Checkpoint.ChannelVersions,
		versions{"a": checkpoint.IntVersion(1), "b": checkpoint.IntVersion(2)})
}

func putPreservesVersionsSeen(th *thread) {
	cp := newCheckpoint(nil, nil)
	cp.VersionsSeen = map[string]versions{"node1": {"ch": checkpoint.IntVersion(1)}, "node2": {"ch": checkpoint.IntVersion(2)}}
	seen := th.get(th.put(th.root(), cp, loopMetadata(0), versions{})).Checkpoint.VersionsSeen
	th.equal("number of nodes", len(seen), 2)
	for _, node := range []string{"node1", "node2"} {
		if _, ok := seen[node]; !ok {
			th.Errorf("versions seen by %s are missing", node)
		}
	}
}

func putPreservesMetadata(th *thread) {
	metadata := loopMetadata(3)
	metadata["custom_key"] = "custom_value"
	got := th.get(th.putEmpty(th.root(), metadata)).Metadata
	th.equal("source", got.Source(), checkpoint.SourceLoop)
	step, noted := got.Step()
	th.equal("step", []any{step, noted}, []any{3, true})
	th.equal("parents", got.Parents(), map[string]string{})
	th.equal("custom key", got["custom_key"], "custom_value")
}

func putRootNamespace(th *thread) {
	saved := th.putEmpty(th.in(""), loopMetadata(0))
	th.equal("config", th.get(saved).Config, saved)
	th.equal("namespace", saved.Namespace, "")
}

func putChildNamespace(th *thread) {
	saved := th.putEmpty(th.in("child:abc"), loopMetadata(0))
	th.equal("config", th.get(saved).Config, saved)
	th.equal("namespace", saved.Namespace, "child:abc")
	th.absent(th.root())
}

func putDefaultNamespace(th *thread) {
	saved := th.putEmpty(checkpoint.Config{ThreadID: th.id}, loopMetadata(0))
	th.equal("newest of the root graph", th.get(th.in("")).Config, saved)
}

func putMultipleCheckpointsSameThread(th *thread) {
	for step, saved := range th.chain(th.root(), 3) {
		got := th.get(saved)
		th.equal("id", got.Checkpoint.ID, saved.CheckpointID)
		gotStep, _ := got.Metadata.Step()
		th.equal("step", gotStep, step)
	}
}

func putMultipleThreadsIsolated(th *thread) {
	other := th.another()
	th.putState(th.root(), map[string]any{"x": "thread1"})
	th.putState(other.root(), map[string]any{"x": "thread2"})
	th.equal("values of the first thread", th.values(th.root()), map[string]any{"x": "thread1"})
	th.equal("values of the second thread", th.values(other.root()), map[string]any{"x": "thread2"})
}

func putParentConfig(th *thread) {
	saved := th.chain(th.root(), 2)
	th.equal("parent", th.get(saved[1]).Parent, &saved[0])
}

func putIncrementalChannelUpdate(th *thread) {
	one, two := checkpoint.IntVersion(1), checkpoint.IntVersion(2)
	first := th.putState(th.root(), map[string]any{"a": "v1", "b": "v2"})
	cp := newCheckpoint(map[string]any{"a": "v1_updated", "b": "v2"}, versions{"a": two, "b": one})
	second := th.put(first, cp, loopMetadata(1), versions{"a": two})
	th.equal("values of the second", th.values(second), map[string]any{"a": "v1_updated", "b": "v2"})
	th.equal("values of the first", th.values(first), map[string]any{"a": "v1", "b": "v2"})
}

func putNewChannelAdded(th *thread) {
	one := checkpoint.IntVersion(1)
	first := th.putState(th.root(), map[string]any{"a": "v1"})
	cp := newCheckpoint(map[string]any{"a": "v1", "b": "new_channel"}, versions{"a": one, "b": one})
	second := th.put(first, cp, loopMetadata(1), versions{"b": one})
	th.equal("values", th.values(second), map[string]any{"a": "v1", "b": "new_channel"})
}

func putChannelRemoved(th *thread) {
	two := checkpoint.IntVersion(2)
	first := th.putState(th.root(), map[string]any{"a": "v1", "b": "v2"})
	second := th.put(first, newCheckpoint(map[string]any{"a": "v1_updated"}, versions{"a": two}), loopMetadata(1),
		versions{"a": two})
	th.equal("values", th.values(second), map[string]any{"a": "v1_updated"})
}

func putPreservesRunID(th *thread) {
	metadata := loopMetadata(0)
	metadata["run_id"] = "run-" + th.id
	th.equal("run", th.get(th.putEmpty(th.root(), metadata)).Metadata.RunID(), "run-"+th.id)
}

func putPreservesVersionsSeenValues(th *thread) {
	seen := map[string]versions{
		"node1": {"ch_a": checkpoint.IntVersion(1), "ch_b": checkpoint.IntVersion(2)},
		"node2": {"ch_a": checkpoint.IntVersion(3)},
	}
	cp := newCheckpoint(nil, nil)
	cp.VersionsSeen = seen
	th.equal("versions seen", th.get(th.put(th.root(), cp, loopMetadata(0), versions{})).Checkpoint.VersionsSeen, seen)
}

func putKeepsEveryValue(th *thread) {
	for name, value := range survivors() {
		th.each(name, func(th *thread) {
			values := map[string]any{"channel": value}
			th.equal("values", th.values(th.putState(th.root(), values)), values)
		})
	}
}

func putKeepsUnchangedValues(th *thread) {
	for name, value := range survivors() {
		th.each(name, func(th *thread) {
			values := map[string]any{"channel": value}
			first := firstCheckpoint(values)
			parent := th.put(th.root(), first, loopMetadata(0), first.ChannelVersions)
			child := th.put(parent, newCheckpoint(values, first.ChannelVersions), loopMetadata(1), versions{})
			th.equal("values of a child that changed none", th.values(child), values)
		})
	}
}

func putKeepsEveryField(th *thread) {
	for name, updated := range map[string][]string{
		"channels updated": {"b", "a"}, "no channels updated": {}, "updated channels not recorded": nil,
	} {
		th.each(name, func(th *thread) {
			cp := &checkpoint.Checkpoint{
				V:               2,
				ID:              checkpoint.NewID(-1),
				TS:              "2024-02-29T23:59:59.999999-03:30",
				ChannelValues:   map[string]any{"a": []any{1}, "b": "x"},
				ChannelVersions: versions{"a": checkpoint.IntVersion(3), "b": checkpoint.IntVersion(1), "c": checkpoint.IntVersion(2)},
				VersionsSeen:    map[string]versions{"node": {"a": checkpoint.IntVersion(2)}, "__input__": {}},
				UpdatedChannels: updated,
				Extra:           map[string]any{"pending_sends": []any{}, "from_the_future": map[string]any{"x": 1.5}},
			}
			saved := th.put(th.root(), cp, loopMetadata(0), nil)
			got := th.get(saved)
			th.equal("tuple", got, &checkpoint.Tuple{
				Config: saved, Checkpoint: cp, Metadata: loopMetadata(0), CreatedAt: got.CreatedAt,
			})
		})
	}
}

func putKeepsKindOfVersions(th *thread) {
	for name, version := range map[string]checkpoint.Version{
		"an integer":       checkpoint.IntVersion(7),
		"a float":          checkpoint.FloatVersion(7.25),
		"a whole float":    checkpoint.FloatVersion(7),
		"text":             checkpoint.NextVersion(checkpoint.Version{}),
		"text of a number": checkpoint.StringVersion("7"),
	} {
		th.each(name, func(th *thread) {
			cp := newCheckpoint(map[string]any{"list": []any{"x"}, "text": "x"}, versions{"list": version, "text": version})
			cp.VersionsSeen = map[string]versions{"node": {"list": version}}
			got := th.get(th.put(th.root(), cp, loopMetadata(0), cp.ChannelVersions)).Checkpoint
			th.equal("channel versions", got.ChannelVersions, cp.ChannelVersions)
			th.equal("versions seen", got.VersionsSeen, cp.VersionsSeen)
			th.equal("values", got.ChannelValues, cp.ChannelValues)
		})
	}
}

func putKeepsEveryMetadataKey(th *thread) {
	metadata := checkpoint.Metadata{
		"source": checkpoint.SourceUpdate, "step": -1, "run_id": "run", "parents": map[string]any{"": checkpoint.NewID(0)},
		"float": 1.0, "small": 1e-7, "large": int64(1)<<53 + 1, "yes": true, "nothing": nil, "": "empty key", "クモ": "🕷",
		"quotes": `it's "quoted" \u0041`, "list": []any{1, 2.0, "x", nil, []any{}}, "map": map[string]any{"a": map[string]any{"b": 1.0}},
		"counters_since_delta_snapshot": map[string]any{"messages": []any{3, 1}},
	}
	th.equal("metadata", th.get(th.putEmpty(th.root(), metadata)).Metadata, metadata)
}

func putRemovesNULFromMetadata(th *thread) {
	saved := th.putEmpty(th.root(), checkpoint.Metadata{
		"user\x00name": "a\x00b", "list": []any{"\x00", `\u0000`, `\` + "\x00"}, "map": map[string]any{"\x00k": "v"},
	})
	th.equal("metadata", th.get(saved).Metadata, checkpoint.Metadata{
		"username": "ab", "list": []any{"", `\u0000`, `\`}, "map": map[string]any{"k": "v"},
	})
}

func putTakesNilNewVersionsForAll(th *thread) {
	values := map[string]any{"list": []any{1}, "text": "x", "map": map[string]any{}}
	saved := th.put(th.root(), firstCheckpoint(values), loopMetadata(0), nil)
	th.equal("values", th.values(saved), values)
}

func putTakesAnyIdentifier(th *thread) {
	for name, identifier := range identifiers() {
		th.each(name, func(th *thread) {
			roundtrip := func(what string, config checkpoint.Config, channel string) {
				th.Helper()
				cp := firstCheckpoint(map[string]any{channel: []any{what}})
				cp.VersionsSeen = map[string]versions{channel: cp.ChannelVersions}
				saved := th.put(config, cp, loopMetadata(0), cp.ChannelVersions)
				th.putWrites(saved, "task", "", write(channel, what))
				got := th.get(saved)
				th.equal("config with this "+what, got.Config, at(config, cp.ID))
				th.equal("values with this "+what, got.Checkpoint.ChannelValues, cp.ChannelValues)
				th.equal("versions seen with this "+what, got.Checkpoint.VersionsSeen, cp.VersionsSeen)
				th.equal("writes with this "+what, got.PendingWrites,
					[]checkpoint.Write{{TaskID: "task", Channel: channel, Value: what}})
				th.lists(config, checkpoint.ListOptions{}, saved)
			}
			roundtrip("thread", checkpoint.Config{ThreadID: identifier + th.id}, "channel")
			roundtrip("namespace", th.in(identifier), "channel")
			roundtrip("channel", th.in("channels"), identifier)
		})
	}
}

func putAgainReplaces(th *thread) {
	parent := th.putEmpty(th.root(), loopMetadata(0))
	cp := firstCheckpoint(map[string]any{"list": []any{1}, "text": "before"})
	saved := th.put(parent, cp, loopMetadata(1), cp.ChannelVersions)
	before := th.get(saved)

	again := *cp
	again.ChannelValues = map[string]any{"list": []any{1, 2}, "text": "after"}
	again.ChannelVersions = versions{"list": checkpoint.IntVersion(2), "text": checkpoint.IntVersion(2)}
	th.equal("config", th.put(parent, &again, loopMetadata(7), again.ChannelVersions), saved)
	th.equal("tuple", th.get(saved), &checkpoint.Tuple{
		Config: saved, Checkpoint: &checkpoint.Checkpoint{
			V: again.V, ID: again.ID, TS: again.TS, ChannelValues: again.ChannelValues, ChannelVersions: again.ChannelVersions,
			VersionsSeen: before.Checkpoint.VersionsSeen,
		},
		Metadata: loopMetadata(7), Parent: &parent, CreatedAt: before.CreatedAt,
	})
	th.lists(th.root(), checkpoint.ListOptions{}, saved, parent)
}

func putAgainKeepsWrites(th *thread) {
	cp := firstCheckpoint(map[string]any{"list": []any{1}})
	saved := th.put(th.root(), cp, loopMetadata(0), nil)
	th.putWrites(saved, "task", "", write("list", 2))
	th.put(th.root(), cp, loopMetadata(0), nil)
	th.equal("writes", th.writes(saved), []checkpoint.Write{{TaskID: "task", Channel: "list", Value: 2}})
	th.equal("values", th.values(saved), map[string]any{"list": []any{1}})
}

// A saver that kept the caller's maps, or gave out its own, would let one change what another reads.
func putDoesNotKeepCallersMaps(th *thread) {
	values := func() map[string]any { return map[string]any{"map": map[string]any{"k": []any{"v"}}} }
	cp := firstCheckpoint(values())
	metadata := checkpoint.Metadata{"map": map[string]any{"k": "v"}}
	saved := th.put(th.root(), cp, metadata, cp.ChannelVersions)

	spoil := func(cp *checkpoint.Checkpoint, metadata checkpoint.Metadata) {
		if m, ok := cp.ChannelValues["map"].(map[string]any); ok {
			m["k"] = "spoiled"
		}
		cp.ChannelValues["map"] = "spoiled"
		cp.ChannelVersions["map"] = checkpoint.IntVersion(99)
		metadata["map"] = "spoiled"
	}
	spoil(cp, metadata)
	for range 2 {
		got := th.get(saved)
		th.equal("values", got.Checkpoint.ChannelValues, values())
		th.equal("versions", got.Checkpoint.ChannelVersions, versions{"map": checkpoint.IntVersion(1)})
		th.equal("metadata", got.Metadata, checkpoint.Metadata{"map": map[string]any{"k": "v"}})
		spoil(got.Checkpoint, got.Metadata)
	}
}

// The values are lists, because a saver may keep primitives with their checkpoint, where no version can collide.
func putRefusesVersionCollision(th *thread) {
	first := th.putState(th.root(), map[string]any{"a": []any{"first"}, "b": []any{"first"}})
	one, two := checkpoint.IntVersion(1), checkpoint.IntVersion(2)
	late := newCheckpoint(map[string]any{"a": []any{"second"}, "b": []any{"second"}}, versions{"a": two, "b": one})
	_, err := th.saver.Put(th.Context(), first, late, loopMetadata(1), late.ChannelVersions)
	th.fails("Put of another value under version 1", err, checkpoint.ErrVersionCollision)
	th.absent(at(first, late.ID))
	th.equal("values of the first", th.values(first), map[string]any{"a": []any{"first"}, "b": []any{"first"}})

	late.ChannelValues["a"] = []any{"third"}
	late.ChannelVersions["b"] = two
	second := th.put(first, late, loopMetadata(1), late.ChannelVersions)
	th.equal("values after nothing was saved of the refused", th.values(second), late.ChannelValues)
}

func putRefusesWhatCannotBeSaved(th *thread) {
	ok := func() *checkpoint.Checkpoint { return firstCheckpoint(map[string]any{"list": []any{1}}) }
	nameless, unstorable := ok(), ok()
	nameless.ID = ""
	unstorable.ChannelValues["channel"] = unserializable()
	unstorable.ChannelVersions["channel"] = checkpoint.IntVersion(1)
	own := ok()
	for name, c := range map[string]struct {
		config   checkpoint.Config
		cp       *checkpoint.Checkpoint
		metadata checkpoint.Metadata
	}{
		"no thread":                       {checkpoint.Config{}, ok(), nil},
		"no checkpoint":                   {th.root(), nil, nil},
		"no checkpoint id":                {th.root(), nameless, nil},
		"a checkpoint that is its parent": {at(th.root(), own.ID), own, nil},
		"a value that cannot be stored":   {th.root(), unstorable, nil},
		"metadata that cannot be stored":  {th.root(), ok(), checkpoint.Metadata{"key": unserializable()}},
	} {
		_, err := th.saver.Put(th.Context(), c.config, c.cp, c.metadata, nil)
		th.fails("Put with "+name, err, checkpoint.ErrInvalidArgument)
	}
	th.lists(th.root(), checkpoint.ListOptions{AllNamespaces: true})
}

func putRefusesCancelledContext(th *thread) {
	cp := firstCheckpoint(map[string]any{"list": []any{1}})
	_, err := th.saver.Put(th.cancelled(), th.root(), cp, loopMetadata(0), nil)
	th.fails("Put with a cancelled context", err, context.Canceled)
	th.absent(th.root())
}

// When the cancellation arrives is left to chance; whenever it does, there may be no half of a checkpoint.
func putCancelledMidway(th *thread) {
	values := map[string]any{"a": []any{1}, "b": "text", "c": map[string]any{"k": "v"}}
	for attempt := range 24 {
		cp := firstCheckpoint(values)
		config := th.in(fmt.Sprint("attempt:", attempt))
		err := cancelDuring(th.Context(), attempt, func(ctx context.Context) error {
			_, err := th.saver.Put(ctx, config, cp, loopMetadata(0), nil)
			return err
		})
		th.allOrNothing(at(config, cp.ID), err, func(tuple *checkpoint.Tuple) {
			th.equal("values", tuple.Checkpoint.ChannelValues, values)
		})
	}
}

// cancelDuring calls an operation and cancels its context, later in each attempt.
func cancelDuring(ctx context.Context, attempt int, operation func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		for range attempt * attempt {
			runtime.Gosched()
		}
		cancel()
	}()
	return operation(ctx)
}

// allOrNothing checks what a cancelled operation left. It may have succeeded even if it reports the cancellation, when
// that arrived after the commit; complete checks that then everything is there.
func (th *thread) allOrNothing(config checkpoint.Config, outcome error, complete func(*checkpoint.Tuple)) {
	th.Helper()
	if outcome != nil {
		th.fails("an operation that was cancelled", outcome, context.Canceled)
	}
	tuple, err := th.saver.Get(th.Context(), config)
	switch {
	case err == nil && tuple != nil:
		complete(tuple)
	case outcome == nil, !errors.Is(err, checkpoint.ErrNotFound):
		th.Errorf("Get after an operation that returned %v: %v", outcome, err)
	}
}

func putByConcurrentWriters(th *thread) {
	parent := th.putState(th.root(), map[string]any{"list": []any{"root"}})
	children := make([]*checkpoint.Checkpoint, 8)
	errs := make([]error, len(children))
	var group sync.WaitGroup
	for i := range children {
		version := checkpoint.NextVersion(checkpoint.Version{})
		children[i] = newCheckpoint(map[string]any{"list": []any{"root", i}}, versions{"list": version})
		group.Go(func() {
			_, errs[i] = th.saver.Put(th.Context(), parent, children[i], loopMetadata(1), children[i].ChannelVersions)
		})
	}
	group.Wait()
	for i, child := range children {
		if errs[i] != nil {
			th.Fatalf("Put by writer %d: %v", i, errs[i])
		}
		got := th.get(at(parent, child.ID))
		th.equal("parent", got.Parent, &parent)
		th.equal("values", got.Checkpoint.ChannelValues, child.ChannelValues)
	}
	th.equal("number of checkpoints", len(th.list(th.root(), checkpoint.ListOptions{})), 1+len(children))
}

func putByConcurrentRetries(th *thread) {
	cp := firstCheckpoint(map[string]any{"a": []any{1}, "b": []any{2}, "c": []any{3}, "d": "text"})
	errs := make([]error, 8)
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() { _, errs[i] = th.saver.Put(th.Context(), th.root(), cp, loopMetadata(0), cp.ChannelVersions) })
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		th.Fatalf("Put of one checkpoint by several at once: %v", err)
	}
	th.equal("values", th.values(th.root()), cp.ChannelValues)
	th.lists(th.root(), checkpoint.ListOptions{}, at(th.root(), cp.ID))
}
