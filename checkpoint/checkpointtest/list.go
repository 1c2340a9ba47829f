package checkpointtest

import (
	"context"
	"fmt"
	"slices"

	"github.com/pgweft/pgweft/checkpoint"
)

var listTests = []test{
	{"test_list_all", listAll},
	{"test_list_by_thread", listByThread},
	{"test_list_by_namespace", listByNamespace},
	{"test_list_ordering", listOrdering},
	{"test_list_metadata_filter_single_key", listFilterSingleKey},
	{"test_list_metadata_filter_step", listFilterStep},
	{"test_list_metadata_filter_multiple_keys", listFilterMultipleKeys},
	{"test_list_metadata_filter_no_match", listFilterNoMatch},
	{"test_list_metadata_custom_keys", listFilterCustomKeys},
	{"test_list_before", listBefore},
	{"test_list_limit", listLimit},
	{"test_list_limit_plus_before", listLimitPlusBefore},
	{"test_list_combined_thread_and_filter", listThreadAndFilter},
	{"test_list_empty_result", listEmptyResult},
	{"test_list_includes_pending_writes", listIncludesPendingWrites},
	{"test_list_multiple_namespaces", listMultipleNamespaces},

	{"more_list_has_what_get_has", listHasWhatGetHas},
	{"more_list_orders_by_id_not_by_time_of_put", listOrdersByID},
	{"more_list_by_checkpoint_id", listByCheckpointID},
	{"more_list_of_all_namespaces", listAllNamespaces},
	{"more_list_across_threads", listAcrossThreads},
	{"more_list_across_threads_in_one_namespace", listAcrossThreadsInNamespace},
	{"more_list_pages_by_before_and_limit", listPages},
	{"more_list_before_an_id_that_is_not_there", listBeforeUnknownID},
	{"more_list_filters_before_it_limits", listFiltersBeforeLimit},
	{"more_list_filter_takes_any_value", listFilterTakesAnyValue},
	{"more_list_without_state", listWithoutState},
	{"more_list_broken_off_leaves_the_saver_usable", listBrokenOff},
	{"more_list_of_a_long_thread", listLongThread},
	{"more_list_refuses_what_cannot_be_listed", listRefuses},
	{"more_list_refuses_cancelled_context", listRefusesCancelledContext},
	{"more_list_ends_when_cancelled_midway", listCancelledMidway},
}

// history puts four checkpoints whose sources are input, loop, input, loop, and whose steps count from 0.
func (th *thread) history() []checkpoint.Config {
	th.Helper()
	metadata := func(source string, step int) checkpoint.Metadata {
		return checkpoint.Metadata{"source": source, "step": step, "parents": map[string]any{}}
	}
	return th.chain(th.root(), 4, metadata(checkpoint.SourceInput, 0), metadata(checkpoint.SourceLoop, 1),
		metadata(checkpoint.SourceInput, 2), metadata(checkpoint.SourceLoop, 3))
}

func filter(pairs ...any) checkpoint.ListOptions {
	wanted := checkpoint.Metadata{}
	for i := 0; i < len(pairs); i += 2 {
		wanted[pairs[i].(string)] = pairs[i+1]
	}
	return checkpoint.ListOptions{Filter: wanted}
}

func listAll(th *thread) {
	saved := th.history()
	th.lists(th.root(), checkpoint.ListOptions{}, reversed(saved)...)
}

func listByThread(th *thread) {
	saved := th.history()
	other := th.another()
	th.lists(other.root(), checkpoint.ListOptions{})
	otherSaved := other.chain(other.root(), 2)
	th.lists(other.root(), checkpoint.ListOptions{}, reversed(otherSaved)...)
	th.lists(th.root(), checkpoint.ListOptions{}, reversed(saved)...)
}

func listByNamespace(th *thread) {
	root := th.putEmpty(th.root(), loopMetadata(0))
	child := th.putEmpty(th.in("child:1"), loopMetadata(0))
	th.lists(th.root(), checkpoint.ListOptions{}, root)
	th.lists(th.in("child:1"), checkpoint.ListOptions{}, child)
}

func listOrdering(th *thread) {
	saved := th.history()
	var ids []string
	for _, tuple := range th.list(th.root(), checkpoint.ListOptions{}) {
		ids = append(ids, tuple.Checkpoint.ID)
	}
	th.equal("ids", ids, []string{
		saved[3].CheckpointID, saved[2].CheckpointID, saved[1].CheckpointID, saved[0].CheckpointID,
	})
}

func listFilterSingleKey(th *thread) {
	saved := th.history()
	th.lists(th.root(), filter("source", checkpoint.SourceInput), saved[2], saved[0])
}

func listFilterStep(th *thread) {
	saved := th.history()
	th.lists(th.root(), filter("step", 1), saved[1])
}

func listFilterMultipleKeys(th *thread) {
	th.putEmpty(th.root(), checkpoint.Metadata{"source": checkpoint.SourceInput, "step": 1})
	th.putEmpty(th.root(), checkpoint.Metadata{"source": checkpoint.SourceLoop, "step": 1})
	both := th.putEmpty(th.root(), checkpoint.Metadata{"source": checkpoint.SourceInput, "step": 2})
	th.lists(th.root(), filter("source", checkpoint.SourceInput, "step", 2), both)
}

func listFilterNoMatch(th *thread) {
	th.history()
	th.lists(th.root(), filter("source", checkpoint.SourceUpdate, "step", 99))
	th.lists(th.root(), filter("source", checkpoint.SourceInput, "step", 1))
}

func listFilterCustomKeys(th *thread) {
	abc := th.putEmpty(th.root(), checkpoint.Metadata{"score": 42, "run_id": "run-abc"})
	th.putEmpty(th.root(), checkpoint.Metadata{"score": 99, "run_id": "run-xyz"})
	got := th.only(th.root(), filter("score", 42))
	th.equal("config", got.Config, abc)
	th.equal("metadata", got.Metadata, checkpoint.Metadata{"score": 42, "run_id": "run-abc"})
}

func listBefore(th *thread) {
	saved := th.history()
	th.lists(th.root(), checkpoint.ListOptions{Before: saved[2].CheckpointID}, saved[1], saved[0])
}

func listLimit(th *thread) {
	saved := th.history()
	th.lists(th.root(), checkpoint.ListOptions{Limit: 1}, saved[3])
	th.lists(th.root(), checkpoint.ListOptions{Limit: 2}, saved[3], saved[2])
	th.lists(th.root(), checkpoint.ListOptions{Limit: 5}, reversed(saved)...)
}

func listLimitPlusBefore(th *thread) {
	saved := th.history()
	th.lists(th.root(), checkpoint.ListOptions{Before: saved[3].CheckpointID, Limit: 1}, saved[2])
}

func listThreadAndFilter(th *thread) {
	saved := th.history()
	th.another().history()
	th.lists(th.root(), filter("source", checkpoint.SourceLoop), saved[3], saved[1])
}

func listEmptyResult(th *thread) {
	th.putEmpty(th.root(), loopMetadata(0))
	th.lists(th.root(), filter("source", "nonexistent"))
	th.lists(th.another().root(), checkpoint.ListOptions{})
}

func listIncludesPendingWrites(th *thread) {
	saved := th.putEmpty(th.root(), loopMetadata(0))
	th.putWrites(saved, "task", "", write("ch", "val"))
	got := th.only(th.root(), checkpoint.ListOptions{})
	th.equal("config", got.Config, saved)
	th.equal("writes", got.PendingWrites, []checkpoint.Write{{TaskID: "task", Channel: "ch", Value: "val"}})
}

func listMultipleNamespaces(th *thread) {
	root := th.putEmpty(th.root(), loopMetadata(0))
	th.putEmpty(th.in("child:1"), loopMetadata(0))
	th.putEmpty(th.in("child:2"), loopMetadata(0))
	th.lists(th.in(""), checkpoint.ListOptions{}, root)
}

func listHasWhatGetHas(th *thread) {
	config := th.root()
	var want []*checkpoint.Tuple
	for i := range 3 {
		cp := newCheckpoint(map[string]any{"list": []any{i, 1.0, "\x00"}, "text": fmt.Sprint(i), "nothing": nil}, versions{})
		for channel := range cp.ChannelValues {
			cp.ChannelVersions[channel] = checkpoint.IntVersion(int64(i + 1))
		}
		cp.VersionsSeen = map[string]versions{"node": cp.ChannelVersions}
		config = th.put(config, cp, loopMetadata(i), nil)
		th.putWrites(config, "task b", "1", write("list", []any{i}), write(checkpoint.ChannelError, "broken"))
		th.putWrites(config, "task a", "2", write("text", []byte{byte(i)}))
		want = append(want, th.get(config))
	}
	slices.Reverse(want)
	th.equal("tuples", th.list(th.root(), checkpoint.ListOptions{}), want)
}

func listOrdersByID(th *thread) {
	ids := []string{"~", "é", "a", "B", "É", "_"}
	for _, id := range ids {
		cp := newCheckpoint(nil, nil)
		cp.ID = id
		th.put(th.root(), cp, loopMetadata(0), versions{})
	}
	slices.Sort(ids)
	var want []checkpoint.Config
	for _, id := range ids {
		want = append(want, at(th.root(), id))
	}
	th.lists(th.root(), checkpoint.ListOptions{}, reversed(want)...)
	th.lists(th.root(), checkpoint.ListOptions{Before: "a"}, at(th.root(), "_"), at(th.root(), "B"))
}

func listByCheckpointID(th *thread) {
	saved := th.history()
	th.lists(saved[1], checkpoint.ListOptions{}, saved[1])
	th.lists(saved[1], filter("source", checkpoint.SourceLoop), saved[1])
	th.lists(saved[1], filter("source", checkpoint.SourceInput))
	th.lists(saved[1], checkpoint.ListOptions{Before: saved[1].CheckpointID})
	th.lists(at(th.root(), checkpoint.NewID(0)), checkpoint.ListOptions{})
	th.lists(at(th.in("child:1"), saved[1].CheckpointID), checkpoint.ListOptions{})
	th.lists(at(th.in("child:1"), saved[1].CheckpointID), checkpoint.ListOptions{AllNamespaces: true}, saved[1])
}

func listAllNamespaces(th *thread) {
	var saved []checkpoint.Config
	for i := range 9 {
		saved = append(saved, th.putEmpty(th.in([]string{"", "child:1", "child:1|child:2"}[i%3]), loopMetadata(i)))
	}
	th.lists(th.root(), checkpoint.ListOptions{AllNamespaces: true}, reversed(saved)...)
	th.lists(th.in("child:1"), checkpoint.ListOptions{AllNamespaces: true}, reversed(saved)...)
	th.lists(th.root(), checkpoint.ListOptions{AllNamespaces: true, Limit: 4}, reversed(saved)[:4]...)
	th.lists(th.root(), checkpoint.ListOptions{AllNamespaces: true, Before: saved[4].CheckpointID, Limit: 2}, saved[3], saved[2])
	th.lists(th.root(), checkpoint.ListOptions{AllNamespaces: true, Filter: checkpoint.Metadata{"step": 7}}, saved[7])
}

// The saver may hold other threads as well, so the metadata says which checkpoints are this test's.
func listAcrossThreads(th *thread) {
	mine := checkpoint.Metadata{"run_id": th.id}
	other, third := th.another(), th.another()
	saved := []checkpoint.Config{
		th.putEmpty(th.root(), mine), other.putEmpty(other.in("child:1"), mine), third.putEmpty(third.root(), mine),
		th.putEmpty(th.in("child:1"), mine), other.putEmpty(other.root(), mine),
	}
	th.putEmpty(th.root(), checkpoint.Metadata{"run_id": "another"})
	all := checkpoint.Config{}
	th.lists(all, checkpoint.ListOptions{AllNamespaces: true, Filter: mine}, reversed(saved)...)
	th.lists(all, checkpoint.ListOptions{AllNamespaces: true, Filter: mine, Limit: 2}, saved[4], saved[3])
	th.lists(all, checkpoint.ListOptions{AllNamespaces: true, Filter: mine, Before: saved[3].CheckpointID}, saved[2], saved[1], saved[0])
	th.lists(all, checkpoint.ListOptions{Filter: mine}, saved[4], saved[2], saved[0])
	th.lists(at(all, saved[1].CheckpointID), checkpoint.ListOptions{AllNamespaces: true}, saved[1])
}

func listAcrossThreadsInNamespace(th *thread) {
	other := th.another()
	namespace := "node:" + th.id
	saved := []checkpoint.Config{
		th.putEmpty(th.in(namespace), loopMetadata(0)), other.putEmpty(other.in(namespace), loopMetadata(1)),
	}
	th.putEmpty(th.root(), loopMetadata(0))
	th.putEmpty(th.in(namespace+"|inner:1"), loopMetadata(0))
	th.lists(checkpoint.Config{Namespace: namespace}, checkpoint.ListOptions{}, saved[1], saved[0])
	th.lists(checkpoint.Config{Namespace: namespace}, filter("step", 0), saved[0])
}

func listPages(th *thread) {
	saved := th.chain(th.root(), 7)
	var got []checkpoint.Config
	options := checkpoint.ListOptions{Limit: 3}
	// Bounded, so that a saver whose pages repeat fails instead of running on.
	for range saved {
		page := th.list(th.root(), options)
		for _, tuple := range page {
			got = append(got, tuple.Config)
		}
		if len(page) < options.Limit {
			break
		}
		options.Before = page[len(page)-1].Config.CheckpointID
	}
	th.equal("all pages", got, reversed(saved))
}

func listBeforeUnknownID(th *thread) {
	saved := th.chain(th.root(), 2)
	between := checkpoint.NewID(0)
	next := th.putEmpty(saved[1], loopMetadata(2))
	th.lists(th.root(), checkpoint.ListOptions{Before: between}, saved[1], saved[0])
	th.lists(th.root(), checkpoint.ListOptions{Before: checkpoint.NewID(0)}, next, saved[1], saved[0])
	th.lists(th.root(), checkpoint.ListOptions{Before: "0"})
}

func listFiltersBeforeLimit(th *thread) {
	saved := th.history()
	options := filter("source", checkpoint.SourceInput)
	options.Limit = 1
	th.lists(th.root(), options, saved[2])
	options.Before = saved[2].CheckpointID
	th.lists(th.root(), options, saved[0])
}

func listFilterTakesAnyValue(th *thread) {
	all := []checkpoint.Config{}
	for key, value := range map[string]any{
		"text": `it's 100% "quoted" \ {}`, "クモ": "🕷", "integer": int64(1)<<53 + 1, "float": 0.1, "true": true, "false": false,
		"null": nil, "list": []any{1, "a", nil}, "map": map[string]any{"a": map[string]any{"b": 1}}, "a.b": 1, "'": "'", "": 0,
	} {
		saved := th.putEmpty(th.root(), checkpoint.Metadata{key: value, "also": "this"})
		all = append(all, saved)
		th.lists(th.root(), filter(key, value), saved)
		th.lists(th.root(), filter(key, value, "also", "this"), saved)
		th.lists(th.root(), filter(key, value, "also", "that"))
		th.lists(th.root(), filter(key, "another value"))
	}
	th.lists(th.root(), filter(), reversed(all)...)
	th.lists(th.root(), filter("missing", nil))
}

func listWithoutState(th *thread) {
	parent := th.putEmpty(th.root(), loopMetadata(0))
	cp := firstCheckpoint(map[string]any{"list": []any{1}, "map": map[string]any{"a": 1}})
	saved := th.put(parent, cp, loopMetadata(1), nil)
	th.putWrites(saved, "task", "", write("ch", "val"))
	whole := th.get(saved)

	listed := th.list(th.root(), checkpoint.ListOptions{WithoutState: true, Limit: 1})
	bare := *cp
	bare.ChannelValues = nil
	th.equal("tuples", listed, []*checkpoint.Tuple{{
		Config: saved, Checkpoint: &bare, Metadata: loopMetadata(1), Parent: &parent, CreatedAt: whole.CreatedAt,
	}})
	th.lists(th.root(), checkpoint.ListOptions{WithoutState: true}, saved, parent)
}

// More often than a connection pool has connections, so that one which is not given back shows.
func listBrokenOff(th *thread) {
	saved := th.chain(th.root(), 5)
	for range 64 {
		var first checkpoint.Config
		for tuple, err := range th.saver.List(th.Context(), th.root(), checkpoint.ListOptions{}) {
			if err != nil {
				th.Fatalf("List: %v", err)
			}
			first = tuple.Config
			break
		}
		th.equal("first", first, saved[4])
	}
	th.lists(th.root(), checkpoint.ListOptions{}, reversed(saved)...)
	th.putEmpty(saved[4], loopMetadata(5))
}

func listLongThread(th *thread) {
	saved := th.chain(th.root(), 150)
	th.lists(th.root(), checkpoint.ListOptions{}, reversed(saved)...)
}

func listRefuses(th *thread) {
	th.putEmpty(th.root(), loopMetadata(0))
	for name, options := range map[string]checkpoint.ListOptions{
		"a negative limit":                    {Limit: -1},
		"a filter that cannot be stored JSON": {Filter: checkpoint.Metadata{"key": unserializable()}},
	} {
		tuples, err := collect(th.Context(), th.saver, th.root(), options)
		th.fails("List with "+name, err, checkpoint.ErrInvalidArgument)
		th.equal("number of checkpoints", len(tuples), 0)
	}
}

func listRefusesCancelledContext(th *thread) {
	th.putEmpty(th.root(), loopMetadata(0))
	tuples, err := collect(th.cancelled(), th.saver, th.root(), checkpoint.ListOptions{})
	th.fails("List with a cancelled context", err, context.Canceled)
	th.equal("number of checkpoints", len(tuples), 0)
}

// What was fetched before the cancellation may still come, but a list that stops short has to say so.
func listCancelledMidway(th *thread) {
	const length = 20
	saved := th.chain(th.root(), length)
	ctx, cancel := context.WithCancel(th.Context())
	defer cancel()
	var seen int
	var failure error
	for _, err := range th.saver.List(ctx, th.root(), checkpoint.ListOptions{}) {
		if err != nil {
			failure = err
			continue
		}
		seen++
		cancel()
	}
	if failure != nil {
		th.fails("List that was cancelled", failure, context.Canceled)
	} else if seen != length {
		th.Errorf("List that was cancelled has %d of %d checkpoints and no error", seen, length)
	}
	th.lists(th.root(), checkpoint.ListOptions{}, reversed(saved)...)
}
