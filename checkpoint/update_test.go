package checkpoint_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/serde"
	"github.com/pgweft/pgweft/serde/messages"
	"github.com/pgweft/pgweft/serde/ordered"
)

// counted is a version without its fraction, which is random.
func counted(versions map[string]checkpoint.Version) map[string]string {
	counters := map[string]string{}
	for channel, version := range versions {
		counters[channel], _, _ = strings.Cut(version.String(), ".")
	}
	return counters
}

func countedSeen(seen map[string]map[string]checkpoint.Version) map[string]map[string]string {
	counters := map[string]map[string]string{}
	for node, versions := range seen {
		counters[node] = counted(versions)
	}
	return counters
}

// asSaved is what is the same, for one update, whoever makes it.
type asSaved struct {
	V        int
	Values   map[string]any
	Versions map[string]string
	Seen     map[string]map[string]string
	Metadata checkpoint.Metadata
	Parent   *checkpoint.Config
	// OfBase are the writes of the checkpoint that the update continues from.
	OfBase []checkpoint.Write
}

func savedState(t *testing.T, saver checkpoint.Saver, config checkpoint.Config) asSaved {
	t.Helper()
	tuple, err := saver.Get(t.Context(), config)
	require.NoError(t, err)
	saved := asSaved{
		V: tuple.Checkpoint.V, Values: tuple.Checkpoint.ChannelValues, Versions: counted(tuple.Checkpoint.ChannelVersions),
		Seen: countedSeen(tuple.Checkpoint.VersionsSeen), Metadata: tuple.Metadata, Parent: tuple.Parent,
	}
	if tuple.Parent != nil {
		parent, err := saver.Get(t.Context(), *tuple.Parent)
		require.NoError(t, err)
		saved.OfBase = parent.PendingWrites
	}
	return saved
}

// options are the arguments of update_state, and what its graph knew.
func (u goldenUpdate) options(t *testing.T, scenario goldenScenario) (map[string]any, checkpoint.UpdateOptions) {
	t.Helper()
	options := checkpoint.UpdateOptions{
		AsNode: u.AsNode, Next: u.Next, Reducers: scenario.reducers(t), Defaults: scenario.Graphs[""].defaults(t),
		DeltaChannels: scenario.Graphs[""].Delta, SnapshotFrequency: map[string]int{"bar": 3},
	}
	for _, packet := range u.Sends.load(t).([]any) {
		options.Sends = append(options.Sends, packet.(serde.Send))
	}
	if u.Values == nil {
		return nil, options
	}
	values := entries(t, u.Values.load(t))
	if u.Join != "" {
		values[u.Join] = u.AsNode
	}
	return values, options
}

func TestUpdatesSaveWhatLangGraphSaves(t *testing.T) {
	t.Parallel()
	for _, scenario := range golden(t) {
		for _, update := range scenario.Updates {
			t.Run(scenario.Name+"/"+update.Name, func(t *testing.T) {
				t.Parallel()
				thread := checkpoint.Config{ThreadID: scenario.Thread}
				wanted := savedState(t, update.After.load(t, scenario.Thread), at(thread, update.Written))
				values, options := update.options(t, scenario)
				saver := update.Before.load(t, scenario.Thread)

				written, err := checkpoint.UpdateState(t.Context(), saver, at(thread, update.ID), values, options)
				require.NoError(t, err)
				require.Empty(t, cmp.Diff(wanted, savedState(t, saver, written), sameValues))

				newest, err := saver.Get(t.Context(), thread)
				require.NoError(t, err)
				require.Equal(t, written, newest.Config, "the update is the newest checkpoint")
				snapshot := update.Snapshot.wanted(t, scenario.Thread, scenario.Graphs[""])
				got, err := checkpoint.GetState(t.Context(), saver, written,
					scenario.Graphs[""].options(t, options.Reducers)...)
				require.NoError(t, err)
				require.Empty(t, cmp.Diff(comparable(snapshot), comparable(got), sameValues))
			})
		}
	}
}

// Not to know which channels are delta channels costs space and nothing else, also for a runtime that knows it and goes on.
func TestUpdatesAreRightWithoutKnowingTheDeltaChannels(t *testing.T) {
	t.Parallel()
	for _, scenario := range golden(t) {
		for _, update := range scenario.Updates {
			if update.AsNode == checkpoint.NodeInput {
				continue // whose values are not in their channels yet
			}
			t.Run(scenario.Name+"/"+update.Name, func(t *testing.T) {
				t.Parallel()
				thread := checkpoint.Config{ThreadID: scenario.Thread}
				values, options := update.options(t, scenario)
				saver := update.Before.load(t, scenario.Thread)
				state := func(config checkpoint.Config) map[string]any {
					snapshot, err := checkpoint.GetState(t.Context(), saver, config,
						scenario.Graphs[""].options(t, options.Reducers)...)
					require.NoError(t, err)
					return snapshot.Values
				}
				before := map[checkpoint.Config]map[string]any{}
				for _, tuple := range recorded(t, saver, scenario.Thread) {
					before[tuple.Config] = state(tuple.Config)
				}
				knowing := options
				options.DeltaChannels = nil
				written, err := checkpoint.UpdateState(t.Context(), saver, at(thread, update.ID), values, options)
				require.NoError(t, err)
				wanted := entries(t, update.Snapshot.Values.load(t))
				require.Empty(t, cmp.Diff(wanted, state(written), sameValues))

				knowing.AsNode, knowing.Next, knowing.Sends = "node", nil, nil
				grown, err := checkpoint.UpdateState(t.Context(), saver, thread, map[string]any{"bar": []any{"more"}}, knowing)
				require.NoError(t, err)
				require.Empty(t, cmp.Diff(wanted, state(written), sameValues))
				wanted["bar"] = append(wanted["bar"].([]any), "more")
				require.Empty(t, cmp.Diff(wanted, state(grown), sameValues))
				for config, values := range before {
					require.Empty(t, cmp.Diff(values, state(config), sameValues), "every checkpoint is as it was")
				}
			})
		}
	}
}

// comparable leaves out of a snapshot what the ID of its checkpoint and the time are part of.
func comparable(snapshot *checkpoint.Snapshot) checkpoint.Snapshot {
	copied := checkpoint.Snapshot{
		Values: snapshot.Values, Next: snapshot.Next, Interrupts: snapshot.Interrupts, Metadata: snapshot.Metadata,
		Parent: snapshot.Parent,
	}
	for _, task := range snapshot.Tasks {
		task.ID, task.Namespace = "", ""
		copied.Tasks = append(copied.Tasks, task)
	}
	return copied
}

var onlyAppend = map[string]checkpoint.Reducer{"list": checkpoint.Append}

func update(t *testing.T, saver checkpoint.Saver, config checkpoint.Config, values map[string]any,
	options checkpoint.UpdateOptions,
) checkpoint.Config {
	t.Helper()
	written, err := checkpoint.UpdateState(t.Context(), saver, config, values, options)
	require.NoError(t, err)
	return written
}

func get(t *testing.T, saver checkpoint.Saver, config checkpoint.Config) *checkpoint.Tuple {
	t.Helper()
	tuple, err := saver.Get(t.Context(), config)
	require.NoError(t, err)
	return tuple
}

func TestUpdatesGoOnFromEachOther(t *testing.T) {
	t.Parallel()
	saver := newMemory()
	thread := checkpoint.Config{ThreadID: "thread", Namespace: "sub:1"}
	options := checkpoint.UpdateOptions{Reducers: onlyAppend, AsNode: "node", Metadata: checkpoint.Metadata{"run_id": "r"}}
	first := update(t, saver, thread, map[string]any{"list": []any{1}, "name": "x"}, options)
	second := update(t, saver, thread, map[string]any{"list": []string{"b"}}, options)
	branch := update(t, saver, first, map[string]any{"list": []any{3}}, options)

	for config, wanted := range map[checkpoint.Config][]any{
		first: {int64(1)}, second: {int64(1), "b"}, branch: {int64(1), int64(3)},
	} {
		tuple := get(t, saver, config)
		require.Equal(t, wanted, tuple.Checkpoint.ChannelValues["list"])
		require.Equal(t, "x", tuple.Checkpoint.ChannelValues["name"])
		require.Equal(t, checkpoint.SourceUpdate, tuple.Metadata.Source())
		require.Equal(t, "r", tuple.Metadata.RunID())
		require.Equal(t, map[string]map[string]checkpoint.Version{"node": {}}, tuple.Checkpoint.VersionsSeen)
	}
	require.Nil(t, get(t, saver, first).Parent)
	require.Equal(t, &first, get(t, saver, branch).Parent)
	require.Equal(t, branch, get(t, saver, thread).Config, "the branch is the newest")
	writes := get(t, saver, first).PendingWrites
	require.Len(t, writes, 1, "those of the branch would count for the other child")
	require.Equal(t, []any{"b"}, writes[0].Value)
	step, _ := get(t, saver, second).Metadata.Step()
	require.Equal(t, 1, step)
}

// A branch that counted on from its base would meet the versions of the branch it leaves.
func TestUpdatesOfThePastKeepIntegerVersionsApart(t *testing.T) {
	t.Parallel()
	saver := newMemory()
	thread := checkpoint.Config{ThreadID: "thread"}
	grow := func(config checkpoint.Config, item string) checkpoint.Config {
		t.Helper()
		return update(t, saver, config, map[string]any{"list": []any{item}}, checkpoint.UpdateOptions{
			Reducers: onlyAppend, AsNode: "node",
		})
	}
	versions := map[string]checkpoint.Version{"list": checkpoint.IntVersion(1)}
	base, err := saver.Put(t.Context(), thread, &checkpoint.Checkpoint{
		ID: checkpoint.NewID(0), ChannelValues: map[string]any{"list": []any{"base"}}, ChannelVersions: versions,
	}, checkpoint.Metadata{"step": 0}, nil)
	require.NoError(t, err)
	old := grow(thread, "old")
	branch := grow(base, "branch")
	require.Equal(t, checkpoint.IntVersion(2), get(t, saver, old).Checkpoint.ChannelVersions["list"])
	far := get(t, saver, branch).Checkpoint.ChannelVersions["list"]
	require.True(t, far.IsNumber())
	require.Positive(t, far.Compare(checkpoint.IntVersion(1_000_001)), far)
	require.Negative(t, far.Compare(checkpoint.IntVersion(1<<53)), far)
	branch = grow(thread, "more")
	again := grow(old, "again")
	for config, wanted := range map[checkpoint.Config][]any{
		base: {"base"}, old: {"base", "old"}, branch: {"base", "branch", "more"}, again: {"base", "old", "again"},
	} {
		require.Equal(t, wanted, get(t, saver, config).Checkpoint.ChannelValues["list"])
	}
}

// A delta channel is rebuilt the same along every branch, whatever its snapshots.
func TestUpdatesOfDeltaChannelsAreRebuilt(t *testing.T) {
	t.Parallel()
	for _, frequency := range []int{1, 2, 3, 100} {
		saver := newMemory()
		thread := checkpoint.Config{ThreadID: "thread"}
		grow := func(config checkpoint.Config, item any) checkpoint.Config {
			t.Helper()
			return update(t, saver, config, map[string]any{"list": item}, checkpoint.UpdateOptions{
				Reducers: onlyAppend, AsNode: "node", DeltaChannels: []string{"list"},
				SnapshotFrequency: map[string]int{"list": frequency},
			})
		}
		wanted := map[checkpoint.Config][]any{}
		var trunk []checkpoint.Config
		var items []any
		for i := range int64(6) {
			items = append(items, i)
			config := grow(thread, []any{i})
			trunk = append(trunk, config)
			wanted[config] = append([]any{}, items...)
		}
		for i, config := range trunk {
			forked := grow(config, []any{"fork"})
			wanted[forked] = append(append([]any{}, wanted[config]...), "fork")
			after := grow(thread, []any{i})
			wanted[after] = append(append([]any{}, wanted[forked]...), int64(i))
			cleared := grow(thread, serde.Overwrite{Value: []any{"new"}})
			wanted[cleared] = []any{"new"}
			last := grow(thread, []any{"end"})
			wanted[last] = []any{"new", "end"}
		}
		for config, items := range wanted {
			snapshot, err := checkpoint.GetState(t.Context(), saver, config, checkpoint.WithReducers(onlyAppend))
			require.NoError(t, err)
			require.Equal(t, items, snapshot.Values["list"], "frequency %d", frequency)
		}
	}
}

func TestAnUpdateGivesMessagesTheIDsThatItSaves(t *testing.T) {
	t.Parallel()
	saver := newMemory()
	thread := checkpoint.Config{ThreadID: "thread"}
	reducers := map[string]checkpoint.Reducer{"messages": checkpoint.AddMessages}
	options := checkpoint.UpdateOptions{Reducers: reducers, AsNode: "node", DeltaChannels: []string{"messages"}}
	update(t, saver, thread, map[string]any{"messages": []any{messages.Human("hi")}}, options)
	update(t, saver, thread, map[string]any{"messages": messages.AI("hello")}, options)
	read := func() []string {
		snapshot, err := checkpoint.GetState(t.Context(), saver, thread, checkpoint.WithReducers(reducers))
		require.NoError(t, err)
		var ids []string
		for _, message := range snapshot.Values["messages"].([]any) {
			ids = append(ids, message.(messages.Message).ID())
		}
		return ids
	}
	first := read()
	require.Len(t, first, 2)
	require.NotContains(t, first, "")
	require.Equal(t, first, read(), "they are saved, not made while reading")
}

func TestUpdatesAreRefusedBeforeAnythingIsSaved(t *testing.T) {
	t.Parallel()
	saver := newMemory()
	delta := put(t, saver, checkpoint.Config{ThreadID: "delta"}, checkpoint.NewID(0), map[string]any{
		"list": serde.DeltaSnapshot{Value: []any{}},
	})
	ambiguous := func() checkpoint.Config {
		version := checkpoint.StringVersion("2")
		config, err := saver.Put(t.Context(), checkpoint.Config{ThreadID: "ambiguous"}, &checkpoint.Checkpoint{
			ID: checkpoint.NewID(0), ChannelVersions: map[string]checkpoint.Version{"a": version},
			VersionsSeen: map[string]map[string]checkpoint.Version{"one": {"a": version}, "two": {"a": version}},
		}, nil, nil)
		require.NoError(t, err)
		return config
	}()
	old, err := saver.Put(t.Context(), checkpoint.Config{ThreadID: "old"}, &checkpoint.Checkpoint{
		V: 1, ID: checkpoint.NewID(0),
		ChannelVersions: map[string]checkpoint.Version{"start:node": checkpoint.StringVersion("1")},
	}, nil, nil)
	require.NoError(t, err)
	one := map[string]any{"list": []any{1}}
	for name, c := range map[string]struct {
		config  checkpoint.Config
		values  map[string]any
		options checkpoint.UpdateOptions
		fails   error
		says    string
	}{
		"no thread":                      {checkpoint.Config{}, one, checkpoint.UpdateOptions{}, checkpoint.ErrInvalidArgument, "thread"},
		"a checkpoint that is not there": {at(delta, checkpoint.NewID(0)), one, checkpoint.UpdateOptions{AsNode: "n"}, checkpoint.ErrNotFound, ""},
		"a delta without its reducer":    {delta, one, checkpoint.UpdateOptions{AsNode: "n"}, checkpoint.ErrInvalidArgument, `"list" is a delta channel`},
		"what a reducer refuses":         {delta, map[string]any{"list": "text"}, checkpoint.UpdateOptions{AsNode: "n", Reducers: onlyAppend}, checkpoint.ErrInvalidArgument, "Append"},
		"several nodes that ran last":    {ambiguous, one, checkpoint.UpdateOptions{}, checkpoint.ErrInvalidArgument, "AsNode"},
		"an old format":                  {old, one, checkpoint.UpdateOptions{AsNode: "n"}, checkpoint.ErrInvalidArgument, "start:node"},
		"values as the end":              {delta, one, checkpoint.UpdateOptions{AsNode: checkpoint.NodeEnd}, checkpoint.ErrInvalidArgument, "no values"},
		"no values as input":             {delta, nil, checkpoint.UpdateOptions{AsNode: checkpoint.NodeInput}, checkpoint.ErrInvalidArgument, "needs values"},
		"next nodes as input":            {delta, one, checkpoint.UpdateOptions{AsNode: checkpoint.NodeInput, Next: []string{"n"}}, checkpoint.ErrInvalidArgument, "Next"},
		"a frequency of nothing":         {delta, one, checkpoint.UpdateOptions{AsNode: "n", SnapshotFrequency: map[string]int{"list": 0}}, checkpoint.ErrInvalidArgument, "positive"},
		"a join of others":               {delta, map[string]any{"join:a+b:c": "n"}, checkpoint.UpdateOptions{AsNode: "n"}, checkpoint.ErrInvalidArgument, "join"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := checkpoint.UpdateState(t.Context(), saver, c.config, c.values, c.options)
			require.ErrorIs(t, err, c.fails)
			require.ErrorContains(t, err, c.says)
		})
	}
	t.Cleanup(func() {
		require.Len(t, saver.states, 3)
		require.Empty(t, saver.writes)
	})
}

func TestAnUpdateSortsAboveTheNewestWhateverTheClockSays(t *testing.T) {
	t.Parallel()
	for _, newest := range []string{
		"ffffffff-ffff-6fff-8000-0123456789ab", "2fffffff-ffff-6fff-bfff-0123456789ab", "zzz", "01ARZ3NDEKTSV4RRFFQ69G5FAV",
	} {
		saver := newMemory()
		thread := checkpoint.Config{ThreadID: "thread"}
		base := put(t, saver, thread, newest, map[string]any{"n": 1})
		written := update(t, saver, thread, map[string]any{"n": 2}, checkpoint.UpdateOptions{AsNode: "node"})
		require.Equal(t, written, get(t, saver, thread).Config, newest)
		forked, err := checkpoint.Fork(t.Context(), saver, base, checkpoint.ForkOptions{})
		require.NoError(t, err)
		require.Equal(t, forked, get(t, saver, thread).Config, newest)
	}
}

// The runtime of the join waits for both nodes; a name may have the sign in it that separates names.
func TestAJoinTriggersItsNodeOnceAllHaveArrived(t *testing.T) {
	t.Parallel()
	saver := newMemory()
	thread := checkpoint.Config{ThreadID: "thread"}
	const join = "join:a+x+b:c"
	arrive := func(node string) []string {
		t.Helper()
		update(t, saver, thread, map[string]any{join: node}, checkpoint.UpdateOptions{AsNode: node})
		snapshot, err := checkpoint.GetState(t.Context(), saver, thread)
		require.NoError(t, err)
		return snapshot.Next
	}
	require.Empty(t, arrive("a+x"))
	require.Empty(t, arrive("a+x"))
	require.Equal(t, []string{"c"}, arrive("b"))
	update(t, saver, thread, nil, checkpoint.UpdateOptions{AsNode: checkpoint.NodeEnd})
	require.Empty(t, get(t, saver, thread).Checkpoint.ChannelValues[join])
	require.Empty(t, arrive("b"), "the join begins again")
}

func TestADeferredNodeRunsOnceNothingElseDoes(t *testing.T) {
	t.Parallel()
	saver := newMemory()
	thread := checkpoint.Config{ThreadID: "thread"}
	next := func(values map[string]any, nodes ...string) []string {
		t.Helper()
		update(t, saver, thread, values, checkpoint.UpdateOptions{AsNode: "node", Next: nodes})
		snapshot, err := checkpoint.GetState(t.Context(), saver, thread)
		require.NoError(t, err)
		return snapshot.Next
	}
	require.Equal(t, []string{"other"}, next(map[string]any{"branch:to:late": []any{nil, false}}, "other"))
	require.Equal(t, []string{"late"}, next(nil))
}

// A channel that nobody knows to be a delta channel yet may be one: what tasks of the base wrote to it may not come into the
// state of another branch.
func TestAnUpdateKeepsOutWhatTasksOfItsBaseWroteToNewChannels(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		write any
		empty any
	}{
		"a list":             {[]any{"another branch"}, []any{}},
		"a map":              {map[string]any{"another": "branch"}, ordered.New()},
		"a default is given": {[]any{"another branch"}, []any{"default"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			saver := newMemory()
			thread := checkpoint.Config{ThreadID: "thread"}
			base := put(t, saver, thread, checkpoint.NewID(0), map[string]any{"n": 1})
			require.NoError(t, saver.PutWrites(t.Context(), base, []checkpoint.Write{{Channel: "list", Value: c.write}}, "task", "~p"))
			reducers := map[string]checkpoint.Reducer{"list": checkpoint.Append}
			if _, isMap := c.write.(map[string]any); isMap {
				reducers["list"] = checkpoint.MergeMap
			}
			options := checkpoint.UpdateOptions{AsNode: "node", Reducers: reducers}
			if list, ok := c.empty.([]any); ok && len(list) > 0 {
				options.Defaults = map[string]any{"list": list}
			}
			update(t, saver, thread, map[string]any{"n": 2}, options)
			options.DeltaChannels = []string{"list"}
			grown := update(t, saver, thread, map[string]any{"n": 3}, options)
			require.NoError(t, saver.PutWrites(t.Context(), grown, []checkpoint.Write{{Channel: "other", Value: 1}}, "task", "~p"))
			snapshot, err := checkpoint.GetState(t.Context(), saver, grown, checkpoint.WithReducers(reducers))
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(c.empty, snapshot.Values["list"], sameValues))
			history, err := checkpoint.ReadDeltaHistory(t.Context(), saver, grown, []string{"list"})
			require.NoError(t, err)
			require.Empty(t, history["list"].Writes, "a runtime that takes it for a delta channel finds the value and stops")
		})
	}
}
