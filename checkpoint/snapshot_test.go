package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/serde"
	"github.com/pgweft/pgweft/serde/messages"
	"github.com/pgweft/pgweft/serde/ordered"
)

// sameValues compares what Python compares with ==.
var sameValues = cmp.Options{
	cmpopts.EquateEmpty(),
	equalVersions,
	cmp.Comparer(func(a, b *ordered.Map) bool { return a.Equal(b) }),
	cmp.Comparer(func(a, b messages.Message) bool {
		if a == nil || b == nil {
			return a == b
		}
		return a.Equal(b)
	}),
	// By its exact type, since a list could be assigned to a set, too.
	cmp.FilterPath(func(p cmp.Path) bool { return p.Last().Type() == reflect.TypeFor[serde.Set]() },
		cmp.Comparer(func(a, b serde.Set) bool { return slices.Equal(texts(a), texts(b)) })),
	cmp.AllowUnexported(serde.Interrupt{}, serde.Overwrite{}),
}

// texts are the elements of a set, whose order means nothing.
func texts(set serde.Set) []string {
	var texts []string
	for _, item := range set {
		texts = append(texts, fmt.Sprintf("%#v", item))
	}
	slices.Sort(texts)
	return texts
}

// historian is a Saver that rebuilds delta channels in one call.
type historian struct{ *memory }

func (h historian) DeltaHistory(ctx context.Context, config checkpoint.Config,
	channels []string,
) (map[string]checkpoint.DeltaHistory, error) {
	return checkpoint.ReadDeltaHistory(ctx, h.memory, config, channels)
}

func TestSnapshotsAreThoseOfLangGraph(t *testing.T) {
	t.Parallel()
	for _, scenario := range golden(t) {
		for _, moment := range scenario.Moments {
			t.Run(scenario.Name+"/"+moment.Name, func(t *testing.T) {
				t.Parallel()
				saver := moment.Store.load(t, scenario.Thread)
				for _, snapshot := range moment.Snapshots {
					graph := scenario.graph(snapshot.Namespace)
					options := graph.options(t, scenario.reducers(t))
					wanted := snapshot.wanted(t, scenario.Thread, graph)
					config := wanted.Config
					if snapshot.Live {
						config.CheckpointID = ""
					}
					for _, saver := range []checkpoint.Saver{saver, historian{saver}} {
						got, err := checkpoint.GetState(t.Context(), saver, config, options...)
						require.NoError(t, err)
						require.Empty(t, cmp.Diff(wanted, got, sameValues), "%+v", snapshot)
					}
				}
			})
		}
	}
}

func TestStateHistoryIsThatOfLangGraph(t *testing.T) {
	t.Parallel()
	for _, scenario := range golden(t) {
		for _, moment := range scenario.Moments {
			t.Run(scenario.Name+"/"+moment.Name, func(t *testing.T) {
				t.Parallel()
				saver := moment.Store.load(t, scenario.Thread)
				wanted := map[string][]*checkpoint.Snapshot{}
				for _, snapshot := range moment.Snapshots {
					if !snapshot.Live {
						graph := scenario.graph(snapshot.Namespace)
						wanted[snapshot.Namespace] = append(wanted[snapshot.Namespace], snapshot.wanted(t, scenario.Thread, graph))
					}
				}
				for namespace, snapshots := range wanted {
					config := checkpoint.Config{ThreadID: scenario.Thread, Namespace: namespace}
					var got []*checkpoint.Snapshot
					for snapshot, err := range checkpoint.StateHistory(t.Context(), saver, config, checkpoint.ListOptions{},
						scenario.graph(namespace).options(t, scenario.reducers(t))...) {
						require.NoError(t, err)
						got = append(got, snapshot)
					}
					require.Empty(t, cmp.Diff(snapshots, got, sameValues))
				}
			})
		}
	}
}

// Nothing is known of the graph: what a checkpoint tells by itself is all there, in its own order.
func TestSnapshotsWithoutOptionsHaveTheTasksOfLangGraph(t *testing.T) {
	t.Parallel()
	for _, scenario := range golden(t) {
		for _, moment := range scenario.Moments {
			t.Run(scenario.Name+"/"+moment.Name, func(t *testing.T) {
				t.Parallel()
				saver := moment.Store.load(t, scenario.Thread)
				for _, snapshot := range moment.Snapshots {
					graph := scenario.graph(snapshot.Namespace)
					wanted := snapshot.wanted(t, scenario.Thread, graph)
					config := wanted.Config
					if snapshot.Live {
						config.CheckpointID = ""
					}
					got, err := checkpoint.GetState(t.Context(), saver, config)
					require.NoError(t, err)
					for _, s := range []*checkpoint.Snapshot{wanted, got} {
						slices.Sort(s.Next)
						slices.SortFunc(s.Tasks, func(a, b checkpoint.Task) int { return strings.Compare(a.Path, b.Path) })
						s.Interrupts = nil
					}
					require.Empty(t, cmp.Diff(wanted.Tasks, got.Tasks, sameValues))
					for channel, value := range got.Values {
						require.Contains(t, wanted.Values, channel)
						if !snapshot.Live && len(got.Tasks) == 0 {
							require.Empty(t, cmp.Diff(wanted.Values[channel], value, sameValues))
						}
					}
					wanted.Values, got.Values = nil, nil
					require.Empty(t, cmp.Diff(wanted, got, sameValues))
				}
			})
		}
	}
}

// chain puts checkpoints one after the other, each with its number as the value of a channel.
func chain(t *testing.T, saver checkpoint.Saver, config checkpoint.Config, length int) []checkpoint.Config {
	t.Helper()
	var saved []checkpoint.Config
	var version checkpoint.Version
	for step := range length {
		version = checkpoint.NextVersion(version)
		versions := map[string]checkpoint.Version{"n": version}
		var err error
		config, err = saver.Put(t.Context(), config, &checkpoint.Checkpoint{
			ID: checkpoint.NewID(step), ChannelValues: map[string]any{"n": step}, ChannelVersions: versions,
		}, checkpoint.Metadata{"source": checkpoint.SourceLoop, "step": step, "odd": step%2 == 1}, versions)
		require.NoError(t, err)
		saved = append(saved, config)
	}
	return saved
}

// history reads the numbers that a chain has.
func history(t *testing.T, saver checkpoint.Saver, config checkpoint.Config, list checkpoint.ListOptions) []int64 {
	t.Helper()
	numbers := []int64{}
	for snapshot, err := range checkpoint.StateHistory(t.Context(), saver, config, list) {
		require.NoError(t, err)
		numbers = append(numbers, snapshot.Values["n"].(int64))
	}
	return numbers
}

// down counts from one number down to another.
func down(from, to int64) []int64 {
	numbers := []int64{}
	for n := from; n >= to; n-- {
		numbers = append(numbers, n)
	}
	return numbers
}

func TestStateHistoryReadsAsManyAsItIsAskedFor(t *testing.T) {
	t.Parallel()
	saver := newMemory()
	thread := checkpoint.Config{ThreadID: "thread"}
	saved := chain(t, saver, thread, 150)
	chain(t, saver, checkpoint.Config{ThreadID: "thread", Namespace: "sub:1"}, 3)
	chain(t, saver, checkpoint.Config{ThreadID: "other"}, 1)
	for name, c := range map[string]struct {
		list   checkpoint.ListOptions
		wanted []int64
	}{
		"all":                  {checkpoint.ListOptions{}, down(149, 0)},
		"a few":                {checkpoint.ListOptions{Limit: 5}, down(149, 145)},
		"a page":               {checkpoint.ListOptions{Limit: 64}, down(149, 86)},
		"more than a page":     {checkpoint.ListOptions{Limit: 65}, down(149, 85)},
		"two pages":            {checkpoint.ListOptions{Limit: 128}, down(149, 22)},
		"more than there are":  {checkpoint.ListOptions{Limit: 1000}, down(149, 0)},
		"before one":           {checkpoint.ListOptions{Before: saved[100].CheckpointID}, down(99, 0)},
		"before one, limited":  {checkpoint.ListOptions{Before: saved[100].CheckpointID, Limit: 70}, down(99, 30)},
		"by metadata":          {checkpoint.ListOptions{Filter: checkpoint.Metadata{"step": int64(7)}}, []int64{7}},
		"none":                 {checkpoint.ListOptions{Filter: checkpoint.Metadata{"step": int64(700)}}, []int64{}},
		"all namespaces":       {checkpoint.ListOptions{AllNamespaces: true, Limit: 4}, []int64{2, 1, 0, 149}},
		"every namespace, all": {checkpoint.ListOptions{AllNamespaces: true}, slices.Concat(down(2, 0), down(149, 0))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.wanted, history(t, saver, thread, c.list))
		})
	}
	odd := history(t, saver, thread, checkpoint.ListOptions{Filter: checkpoint.Metadata{"odd": true}})
	require.Len(t, odd, 75)
	require.Equal(t, []int64{149, 147}, odd[:2])
	require.Equal(t, []int64{42}, history(t, saver, saved[42], checkpoint.ListOptions{}))
}

func TestStateHistoryStopsWhenTheCallerDoes(t *testing.T) {
	t.Parallel()
	saver := &counting{memory: newMemory()}
	chain(t, saver, checkpoint.Config{ThreadID: "thread"}, 100)
	for snapshot, err := range checkpoint.StateHistory(t.Context(), saver, checkpoint.Config{ThreadID: "thread"}, checkpoint.ListOptions{}) {
		require.NoError(t, err)
		require.Equal(t, int64(99), snapshot.Values["n"])
		_, err := checkpoint.GetState(t.Context(), saver, snapshot.Config)
		require.NoError(t, err)
		break
	}
	require.Equal(t, 1, saver.lists)
}

// counting counts lists, and refuses to do anything else while one is open, as a database connection does.
type counting struct {
	*memory
	lists int
	open  bool
}

func (c *counting) List(ctx context.Context, config checkpoint.Config,
	options checkpoint.ListOptions,
) iter.Seq2[*checkpoint.Tuple, error] {
	c.lists++
	return func(yield func(*checkpoint.Tuple, error) bool) {
		c.open = true
		defer func() { c.open = false }()
		for tuple, err := range c.memory.List(ctx, config, options) {
			if !yield(tuple, err) {
				return
			}
		}
	}
}

func (c *counting) Get(ctx context.Context, config checkpoint.Config) (*checkpoint.Tuple, error) {
	if c.open {
		return nil, errors.New("the connection is busy")
	}
	return c.memory.Get(ctx, config)
}

func TestStatesThatDoNotExistAreErrors(t *testing.T) {
	t.Parallel()
	saver := newMemory()
	saved := chain(t, saver, checkpoint.Config{ThreadID: "thread"}, 1)
	for name, config := range map[string]checkpoint.Config{
		"thread":     {ThreadID: "ghost"},
		"checkpoint": at(saved[0], checkpoint.NewID(0)),
		"namespace":  {ThreadID: "thread", Namespace: "sub:1"},
	} {
		_, err := checkpoint.GetState(t.Context(), saver, config)
		require.ErrorIs(t, err, checkpoint.ErrNotFound, name)
		_, err = checkpoint.ResumePoint(t.Context(), saver, config)
		require.ErrorIs(t, err, checkpoint.ErrNotFound, name)
	}
	for name, c := range map[string]struct {
		config checkpoint.Config
		list   checkpoint.ListOptions
	}{
		"no thread":        {checkpoint.Config{}, checkpoint.ListOptions{}},
		"without state":    {saved[0], checkpoint.ListOptions{WithoutState: true}},
		"a negative limit": {saved[0], checkpoint.ListOptions{Limit: -1}},
	} {
		count := 0
		for snapshot, err := range checkpoint.StateHistory(t.Context(), saver, c.config, c.list) {
			require.ErrorIs(t, err, checkpoint.ErrInvalidArgument, name)
			require.Nil(t, snapshot)
			count++
		}
		require.Equal(t, 1, count, name)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range checkpoint.StateHistory(cancelled, saver, saved[0], checkpoint.ListOptions{}) {
		require.ErrorIs(t, err, context.Canceled)
	}
}

// put saves a checkpoint whose channels are all new: its ID is their version.
func put(t *testing.T, saver checkpoint.Saver, config checkpoint.Config, id string, values map[string]any, channels ...string) checkpoint.Config {
	t.Helper()
	versions := map[string]checkpoint.Version{}
	for channel := range values {
		versions[channel] = checkpoint.StringVersion(id)
	}
	for _, channel := range channels {
		versions[channel] = checkpoint.StringVersion(id)
	}
	saved, err := saver.Put(t.Context(), config, &checkpoint.Checkpoint{
		ID: id, ChannelValues: values, ChannelVersions: versions,
	}, checkpoint.Metadata{"step": 0}, versions)
	require.NoError(t, err)
	return saved
}

func TestTaskIDsAreThoseOfLangGraph(t *testing.T) {
	t.Parallel()
	const id = "1ef663ba-28fe-6528-8002-5a559208592c"
	for name, c := range map[string]struct {
		format int
		id     string
		wanted string
	}{
		"SHA-1 in the first format": {1, id, "1ea5e65c-b58e-458a-0ffd-2bfe6b5d3494"},
		"XXH3 since":                {2, id, "8ed5faa6-9544-bba0-6a1d-fef031b77b34"},
		"an ID of no hexadecimals":  {4, "01ARZ3NDEKTSV4RRFFQ69G5FAV", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			saver := newMemory()
			versions := map[string]checkpoint.Version{"branch:to:node_a": checkpoint.StringVersion("1")}
			config, err := saver.Put(t.Context(), checkpoint.Config{ThreadID: "thread"}, &checkpoint.Checkpoint{
				V: c.format, ID: c.id, ChannelValues: map[string]any{"branch:to:node_a": nil}, ChannelVersions: versions,
			}, checkpoint.Metadata{"step": 0}, nil)
			require.NoError(t, err)
			snapshot, err := checkpoint.GetState(t.Context(), saver, config)
			require.NoError(t, err)
			require.Len(t, snapshot.Tasks, 1)
			require.Equal(t, c.wanted, snapshot.Tasks[0].ID)
			require.Equal(t, "~__pregel_pull, node_a", snapshot.Tasks[0].Path)
		})
	}
}

// What a run saved on exit stands under the paths of its tasks and IDs of no task: nothing of it is done.
func TestWritesSavedOnExitAreNoTasks(t *testing.T) {
	t.Parallel()
	saver := newMemory()
	config := put(t, saver, checkpoint.Config{ThreadID: "thread"}, checkpoint.NewID(0), map[string]any{"branch:to:node": nil})
	require.NoError(t, saver.PutWrites(t.Context(), config, []checkpoint.Write{{Channel: "list", Value: []any{1}}},
		"00000001-2fa5-4000-8000-000000000000", "~__pregel_pull, node"))
	resume, err := checkpoint.ResumePoint(t.Context(), saver, config)
	require.NoError(t, err)
	require.Equal(t, []string{"node"}, names(resume.Remaining))
	require.Empty(t, resume.Done)
}

// JavaScript stores packets and interrupts as plain objects, errors too, and versions as integers.
func TestSnapshotsOfJavaScriptCheckpoints(t *testing.T) {
	t.Parallel()
	saver := newMemory()
	versions := map[string]checkpoint.Version{
		"branch:to:ask": checkpoint.IntVersion(3), "__pregel_tasks": checkpoint.IntVersion(3), "branch:to:done": checkpoint.IntVersion(9),
	}
	config, err := saver.Put(t.Context(), checkpoint.Config{ThreadID: "thread"}, &checkpoint.Checkpoint{
		ID: "1ef663ba-28fe-6528-8002-5a559208592c",
		ChannelValues: map[string]any{
			"branch:to:ask": "start", "branch:to:done": "start",
			"__pregel_tasks": []any{map[string]any{"lg_name": "Send", "node": "work", "args": map[string]any{"n": 1}}},
		},
		ChannelVersions: versions,
		VersionsSeen: map[string]map[string]checkpoint.Version{
			"ask": {"branch:to:ask": checkpoint.IntVersion(2)}, "done": {"branch:to:done": checkpoint.IntVersion(10)},
		},
	}, checkpoint.Metadata{"step": 1}, nil)
	require.NoError(t, err)
	before, err := checkpoint.GetState(t.Context(), saver, config)
	require.NoError(t, err)
	require.Equal(t, []string{"work", "ask"}, before.Next)
	require.Empty(t, before.Values)

	question := map[string]any{"id": "i", "value": "go on?"}
	for i, writes := range [][]checkpoint.Write{
		{{Channel: checkpoint.ChannelError, Value: map[string]any{"name": "Error", "message": "no"}}},
		{{Channel: checkpoint.ChannelInterrupt, Value: question}},
	} {
		task := before.Tasks[i]
		require.NoError(t, saver.PutWrites(t.Context(), config, writes, task.ID, task.Path))
	}
	after, err := checkpoint.GetState(t.Context(), saver, config)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"name": "Error", "message": "no"}, serde.Plain(after.Tasks[0].Error))
	require.Equal(t, []serde.Interrupt{{ID: "i", Value: "go on?"}}, after.Interrupts)
}

func TestACheckpointWithoutATimeHasThatOfTheDatabase(t *testing.T) {
	t.Parallel()
	saver := newMemory()
	config := put(t, saver, checkpoint.Config{ThreadID: "thread"}, checkpoint.NewID(0), nil)
	tuple, err := saver.Get(t.Context(), config)
	require.NoError(t, err)
	snapshot, err := checkpoint.GetState(t.Context(), saver, config)
	require.NoError(t, err)
	require.Equal(t, tuple.CreatedAt, snapshot.CreatedAt)
}

func TestAStateThatCannotBeRebuiltIsAnError(t *testing.T) {
	t.Parallel()
	saver := newMemory()
	first := put(t, saver, checkpoint.Config{ThreadID: "thread"}, checkpoint.NewID(0), nil)
	require.NoError(t, saver.PutWrites(t.Context(), first, []checkpoint.Write{{Channel: "list", Value: "no list"}}, "task", ""))
	second := put(t, saver, first, checkpoint.NewID(1), nil, "list")
	orphan := put(t, saver, at(first, checkpoint.NewID(2)), checkpoint.NewID(3), nil, "list")
	options := checkpoint.WithReducers(map[string]checkpoint.Reducer{"list": checkpoint.Append})

	_, err := checkpoint.GetState(t.Context(), saver, second, options)
	require.ErrorIs(t, err, checkpoint.ErrInvalidArgument)
	require.ErrorContains(t, err, `"list"`)
	_, err = checkpoint.GetState(t.Context(), saver, orphan, options)
	require.ErrorIs(t, err, checkpoint.ErrCorrupt)
	require.ErrorContains(t, err, `["list"]`)

	snapshot, err := checkpoint.GetState(t.Context(), saver, orphan)
	require.NoError(t, err)
	require.Empty(t, snapshot.Values, "without its reducer a delta channel is left out")
}

func TestReadDeltaHistory(t *testing.T) {
	t.Parallel()
	saver := newMemory()
	thread := checkpoint.Config{ThreadID: "thread"}
	write := func(config checkpoint.Config, channel, task string, value any) {
		t.Helper()
		require.NoError(t, saver.PutWrites(t.Context(), config, []checkpoint.Write{{Channel: channel, Value: value}}, task, "~"+task))
	}
	first := put(t, saver, thread, checkpoint.NewID(0), map[string]any{"a": serde.DeltaSnapshot{Value: []any{"seed"}}})
	write(first, "a", "2", "second")
	write(first, "a", "1", "first")
	write(first, "b", "3", "b")
	other := put(t, saver, first, checkpoint.NewID(1), nil, "a")
	write(other, "a", "1", "another branch")
	second := put(t, saver, first, checkpoint.NewID(2), nil, "a")
	write(second, "a", "1", "third")
	target := put(t, saver, second, checkpoint.NewID(3), nil, "a")
	write(target, "a", "1", "its own")

	texts := func(history checkpoint.DeltaHistory) []any {
		var values []any
		for _, write := range history.Writes {
			values = append(values, write.Value)
		}
		return values
	}
	for _, config := range []checkpoint.Config{target, thread} {
		histories, err := checkpoint.ReadDeltaHistory(t.Context(), saver, config, []string{"a", "b", "c"})
		require.NoError(t, err)
		require.Len(t, histories, 3)
		require.True(t, histories["a"].HasSeed)
		require.Equal(t, serde.DeltaSnapshot{Value: []any{"seed"}}, histories["a"].Seed)
		require.Equal(t, []any{"first", "second", "third"}, texts(histories["a"]))
		require.False(t, histories["b"].HasSeed)
		require.Equal(t, []any{"b"}, texts(histories["b"]))
		require.Equal(t, checkpoint.DeltaHistory{}, histories["c"])
	}
	_, err := checkpoint.ReadDeltaHistory(t.Context(), saver, at(thread, checkpoint.NewID(0)), []string{"a"})
	require.ErrorIs(t, err, checkpoint.ErrNotFound)
}
