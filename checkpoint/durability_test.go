package checkpoint_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/serde"
	"github.com/pgweft/pgweft/serde/ordered"
)

// sink records what a Writer saves, in its order. Before each save it asks gate, which may wait or fail.
type sink struct {
	*memory
	mu    sync.Mutex
	saved []string
	gate  func(ctx context.Context, what string) error
}

func newSink(gate func(ctx context.Context, what string) error) *sink {
	return &sink{memory: newMemory(), gate: gate}
}

func (s *sink) pass(ctx context.Context, what string) error {
	if s.gate != nil {
		if err := s.gate(ctx, what); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saved = append(s.saved, what)
	return nil
}

func (s *sink) order() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.saved)
}

func (s *sink) Put(ctx context.Context, config checkpoint.Config, cp *checkpoint.Checkpoint, metadata checkpoint.Metadata,
	newVersions map[string]checkpoint.Version,
) (checkpoint.Config, error) {
	if err := s.pass(ctx, "put "+cp.ID); err != nil {
		return checkpoint.Config{}, err
	}
	return s.memory.Put(ctx, config, cp, metadata, newVersions)
}

func (s *sink) PutWrites(ctx context.Context, config checkpoint.Config, writes []checkpoint.Write, taskID, taskPath string) error {
	if err := s.pass(ctx, "writes "+config.CheckpointID+" "+taskID); err != nil {
		return err
	}
	return s.memory.PutWrites(ctx, config, writes, taskID, taskPath)
}

// saving is what a Saver and a Writer have in common.
type saving interface {
	Put(ctx context.Context, config checkpoint.Config, cp *checkpoint.Checkpoint, metadata checkpoint.Metadata,
		newVersions map[string]checkpoint.Version) (checkpoint.Config, error)
	PutWrites(ctx context.Context, config checkpoint.Config, writes []checkpoint.Write, taskID, taskPath string) error
}

// replay saves what a runtime has saved, in the order in which it did.
func replay(t *testing.T, into saving, tuples []*checkpoint.Tuple) {
	t.Helper()
	versions := map[checkpoint.Config]map[string]checkpoint.Version{}
	for _, tuple := range tuples {
		versions[tuple.Config] = tuple.Checkpoint.ChannelVersions
	}
	for _, tuple := range tuples {
		parent := at(tuple.Config, "")
		if tuple.Parent != nil {
			parent = *tuple.Parent
		}
		news := maps.Clone(tuple.Checkpoint.ChannelVersions)
		maps.DeleteFunc(news, func(channel string, version checkpoint.Version) bool { return versions[parent][channel] == version })
		saved, err := into.Put(t.Context(), parent, tuple.Checkpoint, tuple.Metadata, news)
		require.NoError(t, err)
		require.Equal(t, tuple.Config, saved)
		for _, task := range byTask(tuple.PendingWrites) {
			require.NoError(t, into.PutWrites(t.Context(), tuple.Config, task, task[0].TaskID, task[0].TaskPath))
		}
	}
}

// byTask groups writes as they were put: reserved ones by themselves.
func byTask(writes []checkpoint.Write) [][]checkpoint.Write {
	var calls [][]checkpoint.Write
	for _, write := range writes {
		last := len(calls) - 1
		if last >= 0 && write.Index >= 0 && calls[last][0].Index >= 0 && calls[last][0].TaskID == write.TaskID {
			calls[last] = append(calls[last], write)
		} else {
			calls = append(calls, []checkpoint.Write{write})
		}
	}
	return calls
}

// recorded is everything that a store has, in the order in which it was made.
func recorded(t *testing.T, saver checkpoint.Saver, thread string) []*checkpoint.Tuple {
	t.Helper()
	var tuples []*checkpoint.Tuple
	for tuple, err := range saver.List(t.Context(), checkpoint.Config{ThreadID: thread}, checkpoint.ListOptions{AllNamespaces: true}) {
		require.NoError(t, err)
		tuples = append(tuples, tuple)
	}
	slices.SortStableFunc(tuples, func(a, b *checkpoint.Tuple) int {
		return cmp.Compare(a.Config.CheckpointID, b.Config.CheckpointID)
	})
	return tuples
}

func TestSyncAndAsyncSaveTheSame(t *testing.T) {
	t.Parallel()
	for _, scenario := range golden(t) {
		for _, moment := range scenario.Moments {
			t.Run(scenario.Name+"/"+moment.Name, func(t *testing.T) {
				t.Parallel()
				direct := newSink(nil)
				tuples := recorded(t, moment.Store.load(t, scenario.Thread), scenario.Thread)
				replay(t, direct, tuples)
				for _, durability := range []checkpoint.Durability{checkpoint.DurabilitySync, checkpoint.DurabilityAsync} {
					through := newSink(nil)
					writer := checkpoint.NewWriter(through, durability, &checkpoint.WriterConfig{QueueSize: 3})
					replay(t, writer, tuples)
					require.NoError(t, writer.Flush(t.Context()))
					require.Equal(t, direct.order(), through.order(), durability)
					require.NoError(t, writer.Close(t.Context()))
					require.Empty(t, gocmp.Diff(withoutTimes(recorded(t, direct, scenario.Thread)),
						withoutTimes(recorded(t, through, scenario.Thread)), sameValues), durability)
				}
			})
		}
	}
}

func withoutTimes(tuples []*checkpoint.Tuple) []checkpoint.Tuple {
	var copied []checkpoint.Tuple
	for _, tuple := range tuples {
		bare := *tuple
		bare.CreatedAt = time.Time{}
		copied = append(copied, bare)
	}
	return copied
}

// A run that saves on exit ends in the same state as one that saves every step, wherever it began.
func TestExitSavesWhereTheRunStands(t *testing.T) {
	t.Parallel()
	for _, scenario := range golden(t) {
		if len(scenario.Updates) > 0 {
			continue // these branch, see TestExitRefusesToBranchFromWhatItDoesNotKeep
		}
		for _, moment := range scenario.Moments {
			t.Run(scenario.Name+"/"+moment.Name, func(t *testing.T) {
				t.Parallel()
				tuples := recorded(t, moment.Store.load(t, scenario.Thread), scenario.Thread)
				for begin := range tuples {
					saver := newMemory()
					replay(t, saver, tuples[:begin])
					writer := checkpoint.NewWriter(saver, checkpoint.DurabilityExit, nil)
					replay(t, writer, tuples[begin:])
					require.Len(t, saver.states, begin, "nothing is saved before the exit")
					require.NoError(t, writer.Close(t.Context()))
					requireSameState(t, scenario, moment, saver, tuples, begin)
				}
			})
		}
	}
}

func requireSameState(t *testing.T, scenario goldenScenario, moment goldenMoment, saver *memory, tuples []*checkpoint.Tuple, begin int) {
	t.Helper()
	chains := map[string]bool{}
	for _, tuple := range tuples[begin:] {
		chains[tuple.Config.Namespace] = true
	}
	require.LessOrEqual(t, len(saver.states)-begin, 2*len(chains), "the last checkpoint of a namespace, and one for deltas")
	for _, snapshot := range moment.Snapshots {
		if !snapshot.Live {
			continue
		}
		graph := scenario.graph(snapshot.Namespace)
		wanted := snapshot.wanted(t, scenario.Thread, graph)
		got, err := checkpoint.GetState(t.Context(), saver, at(wanted.Config, ""), graph.options(t, scenario.reducers(t))...)
		require.NoError(t, err)
		wanted.Parent, got.Parent = nil, nil
		require.Empty(t, gocmp.Diff(wanted, got, sameValues), "the first %d saved before", begin)
	}
}

func TestExitRefusesToBranchFromWhatItDoesNotKeep(t *testing.T) {
	t.Parallel()
	saver := newMemory()
	writer := checkpoint.NewWriter(saver, checkpoint.DurabilityExit, nil)
	saved := chain(t, writerAsSaver{saver, writer}, checkpoint.Config{ThreadID: "thread"}, 3)
	cp := &checkpoint.Checkpoint{ID: checkpoint.NewID(9)}
	_, err := writer.Put(t.Context(), saved[1], cp, nil, nil)
	require.ErrorIs(t, err, checkpoint.ErrInvalidArgument)
	require.ErrorContains(t, err, "flush")
	err = writer.PutWrites(t.Context(), saved[0], []checkpoint.Write{{Channel: "n", Value: 1}}, "task", "")
	require.ErrorIs(t, err, checkpoint.ErrInvalidArgument)

	require.NoError(t, writer.Flush(t.Context()))
	require.Equal(t, []int64{2}, history(t, saver, checkpoint.Config{ThreadID: "thread"}, checkpoint.ListOptions{}))
	_, err = writer.Put(t.Context(), saved[2], cp, checkpoint.Metadata{}, nil)
	require.NoError(t, err, "what was flushed can be continued from")
	_, err = writer.Put(t.Context(), saved[2], &checkpoint.Checkpoint{ID: checkpoint.NewID(10)}, checkpoint.Metadata{}, nil)
	require.NoError(t, err, "twice")
	require.NoError(t, writer.Close(t.Context()))
	require.Len(t, saver.states, 3)
	require.ErrorIs(t, writer.Flush(t.Context()), checkpoint.ErrWriterClosed)
}

// writerAsSaver reads from a Saver and writes to a Writer.
type writerAsSaver struct {
	checkpoint.Saver
	*checkpoint.Writer
}

func (w writerAsSaver) Put(ctx context.Context, config checkpoint.Config, cp *checkpoint.Checkpoint, metadata checkpoint.Metadata,
	newVersions map[string]checkpoint.Version,
) (checkpoint.Config, error) {
	return w.Writer.Put(ctx, config, cp, metadata, newVersions)
}

func (w writerAsSaver) PutWrites(ctx context.Context, config checkpoint.Config, writes []checkpoint.Write, taskID, taskPath string) error {
	return w.Writer.PutWrites(ctx, config, writes, taskID, taskPath)
}

// What changed on the way and not in the last superstep is saved with the last checkpoint, also where the runtime gives only
// what changed.
func TestExitSavesTheValuesOfSkippedCheckpoints(t *testing.T) {
	t.Parallel()
	saver := newMemory()
	writer := checkpoint.NewWriter(saver, checkpoint.DurabilityExit, nil)
	thread := checkpoint.Config{ThreadID: "thread"}
	config, versions := thread, map[string]checkpoint.Version{}
	step := func(changed map[string]any, emptied ...string) {
		t.Helper()
		news := map[string]checkpoint.Version{}
		next := checkpoint.StringVersion(checkpoint.NewID(0))
		for _, channel := range slices.Concat(slices.Collect(maps.Keys(changed)), emptied) {
			news[channel], versions[channel] = next, next
		}
		var err error
		config, err = writer.Put(t.Context(), config, &checkpoint.Checkpoint{
			ID: checkpoint.NewID(0), ChannelValues: changed, ChannelVersions: maps.Clone(versions),
		}, checkpoint.Metadata{"step": 1}, news)
		require.NoError(t, err)
	}
	step(map[string]any{"a": []any{"first"}, "b": []any{1}, "gone": []any{1}})
	step(map[string]any{"b": []any{2}}, "gone")
	step(map[string]any{"c": nil})
	require.NoError(t, writer.Flush(t.Context()))
	tuple := get(t, saver, thread)
	require.Equal(t, map[string]any{"a": []any{"first"}, "b": []any{int64(2)}, "c": nil}, tuple.Checkpoint.ChannelValues)
	require.Nil(t, tuple.Parent)

	step(map[string]any{"b": []any{3}})
	step(map[string]any{"c": []any{4}})
	require.NoError(t, writer.Close(t.Context()))
	after := get(t, saver, thread)
	require.Equal(t, map[string]any{"a": []any{"first"}, "b": []any{int64(3)}, "c": []any{int64(4)}}, after.Checkpoint.ChannelValues)
	require.Equal(t, &tuple.Config, after.Parent)
	require.Len(t, saver.states, 2)
}

// The made-up IDs and paths keep the order of the supersteps, and look like no task of a superstep that is not over.
func TestExitSavesDeltasInTheOrderOfTheirSupersteps(t *testing.T) {
	t.Parallel()
	saver := newMemory()
	thread := checkpoint.Config{ThreadID: "thread"}
	base := put(t, saver, thread, checkpoint.NewID(0), nil)
	writer := checkpoint.NewWriter(saver, checkpoint.DurabilityExit, nil)
	config := base
	for step := 1; step <= 3; step++ {
		for i, task := range []string{"b", "a"} {
			require.NoError(t, writer.PutWrites(t.Context(), config, []checkpoint.Write{
				{Channel: "list", Value: []any{fmt.Sprint(task, step)}}, {Channel: "branch:to:x"},
			}, fmt.Sprintf("7c1de4f2-0000-4000-8000-%012d", 10*step+i), "~__pregel_pull, "+task))
		}
		version := checkpoint.StringVersion(fmt.Sprint(step))
		var err error
		config, err = writer.Put(t.Context(), config, &checkpoint.Checkpoint{
			ID: checkpoint.NewID(step), ChannelVersions: map[string]checkpoint.Version{"list": version},
		}, checkpoint.Metadata{"step": step}, map[string]checkpoint.Version{"list": version})
		require.NoError(t, err)
	}
	require.NoError(t, writer.Close(t.Context()))

	var got []string
	for _, write := range get(t, saver, base).PendingWrites {
		got = append(got, write.TaskID+" "+write.TaskPath+" "+fmt.Sprint(write.Value))
	}
	require.Equal(t, []string{
		"00000001-0000-4000-8000-000000000011 ~__pregel_pull, a [a1]",
		"00000001-0000-4000-8000-000000000010 ~__pregel_pull, b [b1]",
		"ffffffff-0000-0002-8000-000000000021 ~~0000000002~__pregel_pull, a [a2]",
		"ffffffff-0000-0002-8000-000000000020 ~~0000000002~__pregel_pull, b [b2]",
		"ffffffff-0000-0003-8000-000000000031 ~~0000000003~__pregel_pull, a [a3]",
		"ffffffff-0000-0003-8000-000000000030 ~~0000000003~__pregel_pull, b [b3]",
	}, got)
	require.Equal(t, &base, get(t, saver, config).Parent)
	snapshot, err := checkpoint.GetState(t.Context(), saver, thread, checkpoint.WithReducers(onlyAppend))
	require.NoError(t, err)
	require.Equal(t, []any{"a1", "b1", "a2", "b2", "a3", "b3"}, snapshot.Values["list"])
}

func TestExitKeepsWhatWasNotSavedForAnotherFlush(t *testing.T) {
	t.Parallel()
	broken := errors.New("the database is away")
	fails := ""
	saver := newSink(func(_ context.Context, what string) error {
		if fails != "" && strings.HasPrefix(what, fails) {
			return broken
		}
		return nil
	})
	writer := checkpoint.NewWriter(saver, checkpoint.DurabilityExit, nil)
	thread := checkpoint.Config{ThreadID: "thread"}
	saved := chain(t, writerAsSaver{saver, writer}, thread, 3)
	require.NoError(t, writer.PutWrites(t.Context(), saved[2], []checkpoint.Write{{Channel: "n", Value: 7}}, "task", "~p"))
	elsewhere := at(thread, checkpoint.NewID(0))
	require.NoError(t, writer.PutWrites(t.Context(), elsewhere, []checkpoint.Write{{Channel: "n", Value: 8}}, "task", "~p"))
	for _, fails = range []string{"put", "writes", "writes " + elsewhere.CheckpointID} {
		require.ErrorIs(t, writer.Close(t.Context()), broken)
	}
	fails = ""
	require.NoError(t, writer.Close(t.Context()))
	require.NoError(t, writer.Close(t.Context()))
	require.Len(t, saver.states, 1)
	require.Equal(t, int64(7), get(t, saver, thread).PendingWrites[0].Value)
	require.Len(t, saver.writes[elsewhere], 1)
	require.Equal(t, []string{
		"put " + saved[2].CheckpointID, "put " + saved[2].CheckpointID, "writes " + saved[2].CheckpointID + " task",
		"writes " + elsewhere.CheckpointID + " task",
	}, saver.order())
}

func TestAWriterKeepsCopies(t *testing.T) {
	t.Parallel()
	type item struct {
		Name string
		Tags []string
		next *item
	}
	for _, durability := range []checkpoint.Durability{checkpoint.DurabilityAsync, checkpoint.DurabilityExit} {
		t.Run(string(durability), func(t *testing.T) {
			t.Parallel()
			opened := make(chan struct{})
			saver := newSink(func(context.Context, string) error { <-opened; return nil })
			writer := checkpoint.NewWriter(saver, durability, nil)
			list := []any{"as it was", map[string]any{"k": []byte("v")}}
			inner := []any{1}
			mapping := ordered.New().Set("k", inner).Set("nil", nil)
			pointer := &item{Name: "as it was", Tags: []string{"t"}, next: &item{}}
			values := map[string]any{
				"list": list, "map": mapping, "struct": pointer, "set": serde.Set{"x"}, "strings": []string{"s"},
				"send": serde.Send{Node: "n", Arg: list}, "snapshot": serde.DeltaSnapshot{Value: list}, "nil": nil, "typed": map[string]int{"i": 1},
			}
			versions := map[string]checkpoint.Version{}
			for channel := range values {
				versions[channel] = checkpoint.StringVersion("1")
			}
			metadata := checkpoint.Metadata{"step": 1, "parents": map[string]any{"": "p"}}
			cp := &checkpoint.Checkpoint{
				ID: checkpoint.NewID(1), ChannelValues: values, ChannelVersions: versions,
				VersionsSeen: map[string]map[string]checkpoint.Version{"node": {"list": checkpoint.StringVersion("0")}},
			}
			direct := newMemory()
			thread := checkpoint.Config{ThreadID: "thread"}
			writes := []checkpoint.Write{{Channel: "list", Value: list}}
			config, err := direct.Put(t.Context(), thread, cp, metadata, versions)
			require.NoError(t, err)
			require.NoError(t, direct.PutWrites(t.Context(), config, writes, "task", ""))

			_, err = writer.Put(t.Context(), thread, cp, metadata, versions)
			require.NoError(t, err)
			require.NoError(t, writer.PutWrites(t.Context(), config, writes, "task", ""))
			// All while the writer saves.
			close(opened)
			list[0], list[1].(map[string]any)["k"].([]byte)[0] = "changed", 'x'
			inner[0] = "changed"
			mapping.Set("nil", "changed").Set("new", 1)
			pointer.Name, pointer.Tags[0] = "changed", "changed"
			values["list"], values["strings"].([]string)[0], values["typed"].(map[string]int)["i"] = "changed", "changed", 2
			values["set"].(serde.Set)[0] = "changed"
			delete(versions, "nil")
			metadata["step"], metadata["parents"].(map[string]any)[""] = 2, "changed"
			cp.ID = "changed"
			cp.VersionsSeen["node"]["list"] = checkpoint.StringVersion("9")
			writes[0].Channel = "changed"

			require.NoError(t, writer.Close(t.Context()))
			require.Empty(t, gocmp.Diff(withoutTimes(recorded(t, direct, "thread")), withoutTimes(recorded(t, saver, "thread")), sameValues))
		})
	}
}

func TestAWriterRefusesWhatItCannotKeep(t *testing.T) {
	t.Parallel()
	circle := map[string]any{}
	circle["itself"] = circle
	for _, durability := range []checkpoint.Durability{checkpoint.DurabilityAsync, checkpoint.DurabilityExit} {
		saver := newMemory()
		writer := checkpoint.NewWriter(saver, durability, nil)
		thread := checkpoint.Config{ThreadID: "thread"}
		for name, value := range map[string]any{"circle": circle, "channel": make(chan int), "function": func() {}} {
			cp := &checkpoint.Checkpoint{ID: checkpoint.NewID(0), ChannelValues: map[string]any{"v": value}}
			_, err := writer.Put(t.Context(), thread, cp, nil, nil)
			require.ErrorIs(t, err, checkpoint.ErrInvalidArgument, name)
			err = writer.PutWrites(t.Context(), at(thread, "id"), []checkpoint.Write{{Channel: "v", Value: value}}, "task", "")
			require.ErrorIs(t, err, checkpoint.ErrInvalidArgument, name)
		}
		require.NoError(t, writer.Close(t.Context()))
		require.Empty(t, saver.states)
		require.Empty(t, saver.writes)
	}
}

func TestAWriterRefusesBadArguments(t *testing.T) {
	t.Parallel()
	thread := checkpoint.Config{ThreadID: "thread"}
	for _, durability := range []checkpoint.Durability{
		checkpoint.DurabilitySync, checkpoint.DurabilityAsync, checkpoint.DurabilityExit,
	} {
		writer := checkpoint.NewWriter(newMemory(), durability, nil)
		for name, c := range map[string]struct {
			config checkpoint.Config
			cp     *checkpoint.Checkpoint
		}{
			"no thread":             {checkpoint.Config{}, &checkpoint.Checkpoint{ID: "1"}},
			"no checkpoint":         {thread, nil},
			"no ID":                 {thread, &checkpoint.Checkpoint{}},
			"a parent of its own":   {at(thread, "1"), &checkpoint.Checkpoint{ID: "1"}},
			"no thread but a child": {checkpoint.Config{CheckpointID: "0"}, &checkpoint.Checkpoint{ID: "1"}},
		} {
			_, err := writer.Put(t.Context(), c.config, c.cp, nil, nil)
			require.ErrorIs(t, err, checkpoint.ErrInvalidArgument, "%s: %s", durability, name)
		}
		require.ErrorIs(t, writer.PutWrites(t.Context(), thread, nil, "task", ""), checkpoint.ErrInvalidArgument)
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := writer.Put(cancelled, thread, &checkpoint.Checkpoint{ID: "1"}, nil, nil)
		require.ErrorIs(t, err, context.Canceled)

		require.NoError(t, writer.Close(t.Context()))
		_, err = writer.Put(t.Context(), thread, &checkpoint.Checkpoint{ID: "1"}, nil, nil)
		require.ErrorIs(t, err, checkpoint.ErrWriterClosed)
		require.ErrorIs(t, writer.PutWrites(t.Context(), at(thread, "1"), nil, "task", ""), checkpoint.ErrWriterClosed)
		require.ErrorIs(t, writer.Flush(t.Context()), checkpoint.ErrWriterClosed)
	}
	writer := checkpoint.NewWriter(newMemory(), "sometimes", nil)
	_, err := writer.Put(t.Context(), thread, &checkpoint.Checkpoint{ID: "1"}, nil, nil)
	require.ErrorIs(t, err, checkpoint.ErrInvalidArgument)
	require.ErrorContains(t, err, `"sometimes"`)
	require.ErrorIs(t, writer.Close(t.Context()), checkpoint.ErrInvalidArgument)
}

// number puts a checkpoint of this number.
func number(ctx context.Context, writer *checkpoint.Writer, n int) error {
	_, err := writer.Put(ctx, checkpoint.Config{ThreadID: "thread"}, &checkpoint.Checkpoint{ID: fmt.Sprintf("%03d", n)}, nil, nil)
	return err
}

func numbers(from, to int) []string {
	var names []string
	for n := from; n <= to; n++ {
		names = append(names, fmt.Sprintf("put %03d", n))
	}
	return names
}

// closedGate holds everything back until it is opened.
func closedGate() (gate func(context.Context, string) error, open func()) {
	opened := make(chan struct{})
	return func(ctx context.Context, _ string) error {
		select {
		case <-opened:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}, sync.OnceFunc(func() { close(opened) })
}

func TestAsyncReturnsBeforeItSavesAndBlocksWhenItsQueueIsFull(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate, open := closedGate()
		saver := newSink(gate)
		writer := checkpoint.NewWriter(saver, checkpoint.DurabilityAsync, &checkpoint.WriterConfig{QueueSize: 2})
		require.NoError(t, number(t.Context(), writer, 1))
		require.NoError(t, number(t.Context(), writer, 2))
		require.Empty(t, saver.order())

		ctx, cancel := context.WithCancel(t.Context())
		results := make(chan error, 3)
		go func() { results <- number(ctx, writer, 98) }()
		synctest.Wait()
		require.Empty(t, results, "the third waits for room")
		cancel()
		synctest.Wait()
		require.ErrorIs(t, <-results, context.Canceled)

		go func() { results <- number(t.Context(), writer, 3) }()
		go func() { results <- writer.Flush(ctx) }()
		synctest.Wait()
		require.ErrorIs(t, <-results, context.Canceled, "a flush is given up; saving goes on")
		require.Empty(t, results)
		open()
		synctest.Wait()
		require.NoError(t, <-results)
		require.NoError(t, writer.Flush(t.Context()))
		require.Equal(t, numbers(1, 3), saver.order())
		require.NoError(t, writer.Close(t.Context()))
	})
}

func TestAsyncSavesWhatItWasGivenAlthoughTheCallersContextHasEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		var seen []any
		gate, open := closedGate()
		saver := newSink(func(ctx context.Context, what string) error {
			seen = append(seen, ctx.Value(key{}))
			return gate(ctx, what)
		})
		writer := checkpoint.NewWriter(saver, checkpoint.DurabilityAsync, nil)
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "of the request"))
		require.NoError(t, number(ctx, writer, 1))
		require.NoError(t, number(ctx, writer, 2))
		synctest.Wait()
		cancel()
		open()
		require.NoError(t, writer.Close(t.Context()))
		require.Equal(t, numbers(1, 2), saver.order())
		require.Equal(t, []any{"of the request", "of the request"}, seen)
	})
}

func TestAsyncSavesNothingAfterTheFirstError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("the disk is full")
		gate, open := closedGate()
		saver := newSink(func(ctx context.Context, what string) error {
			if err := gate(ctx, what); err != nil {
				return err
			}
			if what == "put 002" {
				return broken
			}
			return nil
		})
		writer := checkpoint.NewWriter(saver, checkpoint.DurabilityAsync, &checkpoint.WriterConfig{QueueSize: 3})
		for n := 1; n <= 3; n++ {
			require.NoError(t, number(t.Context(), writer, n))
		}
		results := make(chan error, 2)
		go func() { results <- number(t.Context(), writer, 4) }()
		go func() { results <- writer.Flush(t.Context()) }()
		synctest.Wait()
		open()
		synctest.Wait()
		for _, err := range []error{<-results, writer.Flush(t.Context()), number(t.Context(), writer, 5)} {
			// The fourth may have found room after the first was saved, and the flush tells.
			if err != nil {
				require.ErrorIs(t, err, broken)
			}
		}
		require.ErrorIs(t, writer.Flush(t.Context()), broken)
		err := writer.PutWrites(t.Context(), checkpoint.Config{ThreadID: "thread", CheckpointID: "001"}, nil, "task", "")
		require.ErrorIs(t, err, broken)
		require.ErrorContains(t, err, "checkpoint 002")
		require.ErrorIs(t, writer.Close(t.Context()), broken)
		require.ErrorIs(t, writer.Close(t.Context()), broken)
		require.Equal(t, numbers(1, 1), saver.order())
	})
}

func TestAsyncCloseCancelsWhatDoesNotEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate, _ := closedGate()
		saver := newSink(gate)
		writer := checkpoint.NewWriter(saver, checkpoint.DurabilityAsync, &checkpoint.WriterConfig{QueueSize: 2})
		require.NoError(t, number(t.Context(), writer, 1))
		require.NoError(t, number(t.Context(), writer, 2))
		results := make(chan error, 2)
		go func() { results <- number(t.Context(), writer, 3) }()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		closing := make(chan error, 1)
		go func() { closing <- writer.Close(ctx) }()
		synctest.Wait()
		require.ErrorIs(t, <-results, checkpoint.ErrWriterClosed, "whoever waits for room does so no longer")
		require.Empty(t, closing, "closing waits for what was given")
		cancel()
		synctest.Wait()
		require.ErrorIs(t, <-closing, context.Canceled)
		require.ErrorIs(t, writer.Close(t.Context()), context.Canceled)
		require.Empty(t, saver.order())
	})
}

func TestAsyncCloseSavesWhatIsInTheQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate, open := closedGate()
		saver := newSink(gate)
		writer := checkpoint.NewWriter(saver, checkpoint.DurabilityAsync, nil)
		for n := 1; n <= 50; n++ {
			require.NoError(t, number(t.Context(), writer, n))
		}
		closing := make(chan error, 2)
		for range 2 {
			go func() { closing <- writer.Close(t.Context()) }()
		}
		synctest.Wait()
		require.Empty(t, closing)
		open()
		require.NoError(t, <-closing)
		require.NoError(t, <-closing)
		require.Equal(t, numbers(1, 50), saver.order())
	})
}

func TestAsyncKeepsTheOrderOfEachOfManyCallers(t *testing.T) {
	t.Parallel()
	saver := newSink(nil)
	writer := checkpoint.NewWriter(saver, checkpoint.DurabilityAsync, &checkpoint.WriterConfig{QueueSize: 4})
	var group sync.WaitGroup
	failures := make(chan error, 400)
	for caller := range 8 {
		group.Go(func() {
			for n := range 40 {
				if err := number(t.Context(), writer, 100*caller+n); err != nil {
					failures <- err
				}
				if n%10 == 9 {
					if err := writer.Flush(t.Context()); err != nil {
						failures <- err
					}
				}
			}
		})
	}
	group.Wait()
	require.Empty(t, failures)
	require.NoError(t, writer.Close(t.Context()))
	saved := saver.order()
	require.Len(t, saved, 8*40)
	for caller := range 8 {
		prefix := fmt.Sprintf("put %d", caller)
		own := slices.DeleteFunc(slices.Clone(saved), func(what string) bool { return !strings.HasPrefix(what, prefix) })
		require.Equal(t, numbers(100*caller, 100*caller+39), own)
	}
}
