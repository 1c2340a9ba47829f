package checkpointtest

import (
	"context"
	"fmt"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/serde"
)

var deltaHistoryTests = []test{
	{"test_history_returns_writes_oldest_first", historyOldestFirst},
	{"test_history_seed_is_nearest_snapshot", historyNearestSnapshot},
	{"test_history_excludes_target_pending_writes", historyExcludesTarget},
	{"test_history_multi_channel", historyOfSeveralChannels},
	{"test_history_empty_channels_returns_empty", historyOfNoChannels},
	{"test_history_walk_to_root_no_seed", historyWithoutSeed},
	{"test_history_migration_plain_value_as_seed", historyPlainSeed},
	{"test_history_seed_ancestor_own_writes_are_replayed", historySeedsOwnWrites},
	{"test_history_orders_parallel_writes_by_task_path", historyOrdersByPath},
	{"test_history_orders_pathless_writes_first", historyPathlessFirst},

	{"more_history_seed_is_any_stored_value", historyAnySeed},
	{"more_history_seed_is_any_snapshot", historyAnySnapshot},
	{"more_history_seed_is_an_unchanged_value_too", historyUnchangedSeed},
	{"more_history_has_whole_writes_in_the_order_of_path_task_and_index", historyWholeWrites},
	{"more_history_of_a_target_with_a_snapshot", historyOfSnapshot},
	{"more_history_of_the_newest", historyOfNewest},
	{"more_history_of_the_first", historyOfFirst},
	{"more_history_of_unknown_and_repeated_channels", historyOfUnknownChannels},
	{"more_history_follows_parents_not_ids", historyFollowsParents},
	{"more_history_agrees_with_get", historyAgreesWithGet},
	{"more_history_stays_in_its_thread_and_namespace", historyStaysInNamespace},
	{"more_history_of_what_is_missing_is_not_found", historyOfMissing},
	{"more_history_refuses_no_thread", historyRefusesNoThread},
	{"more_history_refuses_cancelled_context", historyRefusesCancelledContext},
}

// The delta channels of the tests.
const (
	messages = "messages"
	files    = "files"
)

// deltaStep is one checkpoint of a delta channel.
type deltaStep struct {
	// value is stored by the checkpoint if stores says so.
	value  any
	stores bool
	// item is what the checkpoint's task writes, and the next step's state has; nil writes nothing.
	item any
}

func snapshot(value, item any) deltaStep {
	return deltaStep{value: serde.DeltaSnapshot{Value: value}, stores: true, item: item}
}

func stored(value, item any) deltaStep { return deltaStep{value: value, stores: true, item: item} }

func delta(item any) deltaStep { return deltaStep{item: item} }

// deltaState are the steps of a checkpoint's delta channels.
type deltaState map[string]deltaStep

// step puts a checkpoint whose delta channels move on, and the writes by which they move on again, as runtimes do: it has a
// new version of each, but a value only sometimes, and its metadata counts the updates and supersteps since.
func (th *thread) step(parent checkpoint.Config, state deltaState, metadata ...checkpoint.Metadata) checkpoint.Config {
	th.Helper()
	cp := newCheckpoint(map[string]any{}, versions{})
	md := loopMetadata(0)
	counters := map[string][2]int64{}
	if parent.CheckpointID != "" {
		tuple := th.get(parent)
		cp.ChannelVersions = tuple.Checkpoint.ChannelVersions
		step, _ := tuple.Metadata.Step()
		md = loopMetadata(step + 1)
		counters = countersOf(tuple.Metadata)
	}
	newVersions := versions{}
	for channel, s := range state {
		cp.ChannelVersions[channel] = checkpoint.NextVersion(cp.ChannelVersions[channel])
		newVersions[channel] = cp.ChannelVersions[channel]
		counters[channel] = [2]int64{counters[channel][0] + 1, counters[channel][1] + 1}
		if s.stores {
			cp.ChannelValues[channel] = s.value
			counters[channel] = [2]int64{}
		}
	}
	md["counters_since_delta_snapshot"] = notedCounters(counters)
	for _, more := range metadata {
		for key, value := range more {
			md[key] = value
		}
	}
	saved := th.put(parent, cp, md, newVersions)
	for channel, s := range state {
		if s.item != nil {
			th.putWrites(saved, "task of "+channel, "~__pregel_pull, "+channel, write(channel, s.item))
		}
	}
	return saved
}

// countersOf are, for each delta channel, the updates and supersteps since its last snapshot.
func countersOf(metadata checkpoint.Metadata) map[string][2]int64 {
	counters := map[string][2]int64{}
	noted, _ := plain(metadata["counters_since_delta_snapshot"]).(map[string]any)
	for channel, counts := range noted {
		if pair, ok := counts.([]any); ok && len(pair) == 2 {
			counters[channel] = [2]int64{count(pair[0]), count(pair[1])}
		}
	}
	return counters
}

func count(number any) int64 {
	switch n := number.(type) {
	case int64:
		return n
	case float64:
		return int64(n)
	}
	return 0
}

func notedCounters(counters map[string][2]int64) map[string]any {
	noted := map[string]any{}
	for channel, counts := range counters {
		noted[channel] = []any{counts[0], counts[1]}
	}
	return noted
}

// steps puts a chain of checkpoints of the messages channel.
func (th *thread) steps(parent checkpoint.Config, chain ...deltaStep) []checkpoint.Config {
	th.Helper()
	var saved []checkpoint.Config
	for _, s := range chain {
		parent = th.step(parent, deltaState{messages: s})
		saved = append(saved, parent)
	}
	return saved
}

func (th *thread) deltaHistory(config checkpoint.Config, channels ...string) map[string]checkpoint.DeltaHistory {
	th.Helper()
	histories, err := th.saver.(checkpoint.DeltaHistorian).DeltaHistory(th.Context(), config, channels)
	if err != nil {
		th.Fatalf("DeltaHistory of %q at %+v: %v", channels, config, err)
	}
	return histories
}

// walked is the history that the ancestors tell, read one by one.
func (th *thread) walked(config checkpoint.Config, channels ...string) map[string]checkpoint.DeltaHistory {
	th.Helper()
	histories, err := checkpoint.ReadDeltaHistory(th.Context(), justSaver{th.saver}, config, channels)
	if err != nil {
		th.Fatalf("the history of %q at %+v: %v", channels, config, err)
	}
	return histories
}

// justSaver hides what else a saver can do.
type justSaver struct{ checkpoint.Saver }

// seeded checks a history of the messages channel that has a seed.
func (th *thread) seeded(config checkpoint.Config, seed any, items ...any) {
	th.Helper()
	history := th.deltaHistory(config, messages)[messages]
	th.equal("whether there is a seed", history.HasSeed, true)
	th.equal("seed", history.Seed, seed)
	th.equal("values written", valuesOf(history.Writes), append([]any{}, items...))
}

// seedless checks a history of the messages channel that has no seed.
func (th *thread) seedless(config checkpoint.Config, items ...any) {
	th.Helper()
	history := th.deltaHistory(config, messages)[messages]
	th.equal("whether there is a seed", history.HasSeed, false)
	th.equal("seed", history.Seed, nil)
	th.equal("values written", valuesOf(history.Writes), append([]any{}, items...))
}

func valuesOf(writes []checkpoint.Write) []any {
	values := []any{}
	for _, w := range writes {
		values = append(values, w.Value)
	}
	return values
}

func historyOldestFirst(th *thread) {
	saved := th.steps(th.root(), snapshot(0, nil), delta(1), delta(2), delta(3), delta(4))
	th.seeded(saved[4], serde.DeltaSnapshot{Value: 0}, 1, 2, 3)
}

func historyNearestSnapshot(th *thread) {
	saved := th.steps(th.root(), snapshot(0, nil), delta(1), delta(2), snapshot(3, nil), delta(4), delta(5))
	th.seeded(saved[5], serde.DeltaSnapshot{Value: 3}, 4)
}

func historyExcludesTarget(th *thread) {
	saved := th.steps(th.root(), snapshot(0, nil), delta(1), delta(2))
	th.putWrites(saved[2], "another task", "", write(messages, "extra"))
	th.seeded(saved[2], serde.DeltaSnapshot{Value: 0}, 1)
}

func historyOfSeveralChannels(th *thread) {
	parent := th.root()
	for step := range 5 {
		state := deltaState{messages: delta(step), files: delta(step)}
		switch step {
		case 1:
			state[messages] = snapshot("messages until 1", step)
		case 3:
			state[files] = snapshot("files until 3", step)
		}
		parent = th.step(parent, state)
	}
	histories := th.deltaHistory(parent, messages, files)
	th.equal("number of histories", len(histories), 2)
	th.equal("seed of messages", histories[messages].Seed, serde.DeltaSnapshot{Value: "messages until 1"})
	th.equal("writes to messages", valuesOf(histories[messages].Writes), []any{1, 2, 3})
	th.equal("seed of files", histories[files].Seed, serde.DeltaSnapshot{Value: "files until 3"})
	th.equal("writes to files", valuesOf(histories[files].Writes), []any{3})
}

func historyOfNoChannels(th *thread) {
	saved := th.steps(th.root(), snapshot(0, nil), delta(1), delta(2))
	th.equal("histories", th.deltaHistory(saved[2]), map[string]checkpoint.DeltaHistory{})
}

func historyWithoutSeed(th *thread) {
	saved := th.steps(th.root(), delta(0), delta(1), delta(2), delta(3))
	th.seedless(saved[3], 0, 1, 2)
}

func historyPlainSeed(th *thread) {
	saved := th.steps(th.root(), delta(0), stored([]any{10, 20, 30}, nil), delta(2), delta(3))
	th.seeded(saved[3], []any{10, 20, 30}, 2)
}

func historySeedsOwnWrites(th *thread) {
	saved := th.steps(th.root(), stored([]any{10}, "older than the seed"), stored([]any{10, 20}, "at the seed"),
		delta("after the seed"), delta("pending"))
	th.seeded(saved[3], []any{10, 20}, "at the seed", "after the seed")
}

func historyOrdersByPath(th *thread) {
	saved := th.steps(th.root(), snapshot(0, nil), delta(nil), delta(nil))
	th.putWrites(saved[1], "a", "~__pregel_pull, 02", write(messages, "second"))
	th.putWrites(saved[1], "b", "~__pregel_pull, 01", write(messages, "first"))
	th.seeded(saved[2], serde.DeltaSnapshot{Value: 0}, "first", "second")
}

func historyPathlessFirst(th *thread) {
	saved := th.steps(th.root(), snapshot(0, nil), delta(nil), delta(nil))
	th.putWrites(saved[1], "a", "~__pregel_pull, node", write(messages, "from a node"))
	th.putWrites(saved[1], "b", "", write(messages, "from the input"))
	th.seeded(saved[2], serde.DeltaSnapshot{Value: 0}, "from the input", "from a node")
}

// A value that the channel had before it became a delta channel may be kept in another place than a snapshot is; true is
// also what stands in place of a snapshot.
func historyAnySeed(th *thread) {
	for name, value := range map[string]any{
		"true": true, "false": false, "zero": 0, "a float": 1.5, "empty text": "", "text": "before", "text with NUL": "\x00",
		"bytes": []byte{0}, "an empty list": []any{}, "a map": map[string]any{"k": []any{1}},
	} {
		th.each(name, func(th *thread) {
			saved := th.steps(th.root(), snapshot("older", "older"), stored(value, "at the seed"), delta("after"), delta(nil))
			th.seeded(saved[3], value, "at the seed", "after")
		})
	}
}

func historyAnySnapshot(th *thread) {
	for name, value := range map[string]any{
		"null": nil, "true": true, "zero": 0, "text with NUL": "\x00", "an empty list": []any{},
		"a list": []any{1, 1.0, "x", []byte{0}}, "a map": map[string]any{"k": []any{1}},
	} {
		th.each(name, func(th *thread) {
			saved := th.steps(th.root(), stored("older", "older"), snapshot(value, "at the seed"), delta("after"), delta(nil))
			th.seeded(saved[3], serde.DeltaSnapshot{Value: value}, "at the seed", "after")
			th.equal("values at the seed", th.values(saved[1]), map[string]any{messages: serde.DeltaSnapshot{Value: value}})
			th.equal("values after it", th.values(saved[3]), map[string]any{})
		})
	}
}

// A step that leaves the channel alone keeps its version, and with it the value.
func historyUnchangedSeed(th *thread) {
	first := th.step(th.root(), deltaState{messages: snapshot([]any{"a"}, "at the first"), files: delta(nil)})
	second := th.step(first, deltaState{files: delta(nil)})
	th.putWrites(second, "task", "", write(messages, "at the second"))
	third := th.step(second, deltaState{messages: delta(nil)})
	th.seeded(second, serde.DeltaSnapshot{Value: []any{"a"}}, "at the first")
	th.seeded(third, serde.DeltaSnapshot{Value: []any{"a"}}, "at the second")
}

func historyWholeWrites(th *thread) {
	saved := th.steps(th.root(), delta(nil), delta(nil), delta(nil))
	th.putWrites(saved[1], "a", "", write(messages, 5))
	th.putWrites(saved[0], "b", "2", write(messages, 3), write(files, "not of the channel"), write(messages, 4))
	th.putWrites(saved[0], "d", "1", write(messages, 1), write(checkpoint.ChannelInterrupt, "no"), write(messages, nil))
	th.putWrites(saved[0], "c", "1", write("other", "no"), write(messages, []any{0, map[string]any{"k": 0.0}}))
	th.equal("history", th.deltaHistory(saved[2], messages), map[string]checkpoint.DeltaHistory{messages: {Writes: []checkpoint.Write{
		{TaskID: "c", TaskPath: "1", Channel: messages, Index: 1, Value: []any{0, map[string]any{"k": 0.0}}},
		{TaskID: "d", TaskPath: "1", Channel: messages, Index: 0, Value: 1},
		{TaskID: "d", TaskPath: "1", Channel: messages, Index: 2, Value: nil},
		{TaskID: "b", TaskPath: "2", Channel: messages, Index: 0, Value: 3},
		{TaskID: "b", TaskPath: "2", Channel: messages, Index: 2, Value: 4},
		{TaskID: "a", TaskPath: "", Channel: messages, Index: 0, Value: 5},
	}}})
}

// What the target stores itself is no ancestor's.
func historyOfSnapshot(th *thread) {
	saved := th.steps(th.root(), snapshot("older", 1), delta(2), snapshot("newer", 3))
	th.seeded(saved[2], serde.DeltaSnapshot{Value: "older"}, 1, 2)
}

func historyOfNewest(th *thread) {
	saved := th.steps(th.root(), snapshot(0, 1), delta(2), delta(3))
	th.seeded(th.root(), serde.DeltaSnapshot{Value: 0}, 1, 2)
	th.seeded(saved[1], serde.DeltaSnapshot{Value: 0}, 1)
}

func historyOfFirst(th *thread) {
	saved := th.steps(th.root(), snapshot(0, 1))
	th.seedless(saved[0])
}

func historyOfUnknownChannels(th *thread) {
	saved := th.steps(th.root(), snapshot(0, 1), delta(2))
	got := th.deltaHistory(saved[1], messages, "unknown", messages, `it's "a" $1`)
	th.equal("number of histories", len(got), 3)
	th.equal("values written", valuesOf(got[messages].Writes), []any{1})
	for _, channel := range []string{"unknown", `it's "a" $1`} {
		history, ok := got[channel]
		th.equal("whether there is a history of "+channel, ok, true)
		th.equal("history of "+channel, history, checkpoint.DeltaHistory{})
	}
}

func historyFollowsParents(th *thread) {
	trunk := th.steps(th.root(), snapshot(0, "trunk 0"), delta("trunk 1"))
	left := th.steps(trunk[0], delta("left 1"), snapshot("left", "left 2"), delta("left 3"))
	right := th.steps(trunk[1], delta("right 2"), delta("right 3"))
	more := th.steps(left[2], delta("left 4"))
	seed := serde.DeltaSnapshot{Value: 0}
	th.seeded(right[1], seed, "trunk 0", "trunk 1", "right 2")
	th.seeded(left[1], seed, "trunk 0", "left 1")
	th.seeded(left[2], serde.DeltaSnapshot{Value: "left"}, "left 2")
	th.seeded(more[0], serde.DeltaSnapshot{Value: "left"}, "left 2", "left 3")
	th.seeded(trunk[1], seed, "trunk 0")
}

func historyAgreesWithGet(th *thread) {
	trunk := th.root()
	var all []checkpoint.Config
	for i := range 12 {
		state := deltaState{messages: delta(i), files: delta(fmt.Sprint("file ", i))}
		switch {
		case i%5 == 3:
			state[messages] = snapshot(i, i)
		case i%7 == 4:
			state[files] = stored(fmt.Sprint("files until ", i), i)
		case i%4 == 1:
			delete(state, files)
		}
		saved := th.step(trunk, state)
		all = append(all, saved, th.step(trunk, deltaState{messages: delta("branch")}))
		trunk = saved
	}
	for _, config := range all {
		th.equal("history", th.deltaHistory(config, messages, files), th.walked(config, messages, files))
	}
}

func historyStaysInNamespace(th *thread) {
	other := th.another()
	cp := newCheckpoint(nil, nil)
	next := newCheckpoint(nil, nil)
	places := map[string]checkpoint.Config{"root": th.root(), "child": th.in("child:1"), "another thread": other.root()}
	for name, config := range places {
		parent := th.put(config, cp, loopMetadata(0), versions{})
		th.putWrites(parent, "task", "", write(messages, name))
		th.put(parent, next, loopMetadata(1), versions{})
	}
	for name, config := range places {
		th.seedless(at(config, next.ID), name)
		th.seedless(config, name)
	}
}

func historyOfMissing(th *thread) {
	saved := th.steps(th.root(), snapshot(0, 1), delta(2))
	for name, config := range map[string]checkpoint.Config{
		"a checkpoint that does not exist": at(th.root(), checkpoint.NewID(0)),
		"the beginning of an id":           at(th.root(), saved[1].CheckpointID[:8]),
		"another namespace":                at(th.in("child:1"), saved[1].CheckpointID),
		"an empty namespace":               th.in("child:1"),
		"another thread":                   at(th.another().root(), saved[1].CheckpointID),
		"a thread that does not exist":     th.another().root(),
	} {
		histories, err := th.saver.(checkpoint.DeltaHistorian).DeltaHistory(th.Context(), config, []string{messages})
		th.fails("DeltaHistory of "+name, err, checkpoint.ErrNotFound)
		th.equal("number of histories of "+name, len(histories), 0)
	}
}

func historyRefusesNoThread(th *thread) {
	saved := th.steps(th.root(), snapshot(0, 1), delta(2))
	config := checkpoint.Config{CheckpointID: saved[1].CheckpointID}
	_, err := th.saver.(checkpoint.DeltaHistorian).DeltaHistory(th.Context(), config, []string{messages})
	th.fails("DeltaHistory of no thread", err, checkpoint.ErrInvalidArgument)
}

func historyRefusesCancelledContext(th *thread) {
	saved := th.steps(th.root(), snapshot(0, 1), delta(2))
	_, err := th.saver.(checkpoint.DeltaHistorian).DeltaHistory(th.cancelled(), saved[1], []string{messages})
	th.fails("DeltaHistory with a cancelled context", err, context.Canceled)
}
