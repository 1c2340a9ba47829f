package checkpoint_test

import (
	"context"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/checkpoint/checkpointtest"
	"github.com/pgweft/pgweft/serde"
)

// forking is a Saver with the fork that any Saver has, so that the tests of Forker check it.
type forking struct{ *memory }

func (f forking) Fork(ctx context.Context, config checkpoint.Config, options checkpoint.ForkOptions) (checkpoint.Config, error) {
	return checkpoint.Fork(ctx, f.memory, config, options)
}

func TestForkOfAnySaverPassesTheTestsOfForker(t *testing.T) {
	t.Parallel()
	checkpointtest.Run(t, func(*testing.T) checkpoint.Saver { return forking{newMemory()} })
}

// named is a Forker that says so.
type named struct{ *memory }

func (named) Fork(_ context.Context, config checkpoint.Config, _ checkpoint.ForkOptions) (checkpoint.Config, error) {
	return at(config, "forked by the saver"), nil
}

func TestForkAsksASaverThatCan(t *testing.T) {
	t.Parallel()
	config, err := checkpoint.Fork(t.Context(), named{newMemory()}, checkpoint.Config{ThreadID: "thread"}, checkpoint.ForkOptions{})
	require.NoError(t, err)
	require.Equal(t, checkpoint.Config{ThreadID: "thread", CheckpointID: "forked by the saver"}, config)
}

// The writes of the target's own tasks are not part of its state, and may not become part of the fork's.
func TestAForkHasTheDeltaChannelsOfItsTarget(t *testing.T) {
	t.Parallel()
	saver := newMemory()
	thread := checkpoint.Config{ThreadID: "thread"}
	var trunk []checkpoint.Config
	for i := range 5 {
		trunk = append(trunk, update(t, saver, thread, map[string]any{"list": []any{i}, "n": i}, checkpoint.UpdateOptions{
			Reducers: onlyAppend, AsNode: "node", DeltaChannels: []string{"list"}, SnapshotFrequency: map[string]int{"list": 3},
		}))
	}
	state := func(config checkpoint.Config) map[string]any {
		t.Helper()
		snapshot, err := checkpoint.GetState(t.Context(), saver, config, checkpoint.WithReducers(onlyAppend))
		require.NoError(t, err)
		return snapshot.Values
	}
	for _, target := range trunk {
		wanted := state(target)
		forked, err := checkpoint.Fork(t.Context(), saver, target, checkpoint.ForkOptions{})
		require.NoError(t, err)
		require.Equal(t, wanted, state(forked))
		require.Equal(t, checkpoint.SourceFork, get(t, saver, forked).Metadata.Source())
		grown := update(t, saver, thread, map[string]any{"list": []any{"new"}}, checkpoint.UpdateOptions{
			Reducers: onlyAppend, AsNode: "node", SnapshotFrequency: map[string]int{"list": 3},
		})
		require.Equal(t, append(append([]any{}, wanted["list"].([]any)...), "new"), state(grown)["list"])
		require.Equal(t, wanted, state(forked))
		require.Equal(t, wanted, state(target))
	}
}

// Before format 4, packets are among the writes of the parent: for a fork that would be its target.
func TestAForkOfAnOlderFormatKeepsItsPackets(t *testing.T) {
	t.Parallel()
	saver := newMemory()
	first := put(t, saver, checkpoint.Config{ThreadID: "thread"}, checkpoint.NewID(0), map[string]any{"n": 1})
	packet := func(n int64) serde.Send { return serde.Send{Node: "work", Arg: n} }
	require.NoError(t, saver.PutWrites(t.Context(), first, []checkpoint.Write{{Channel: checkpoint.ChannelTasks, Value: packet(1)}}, "t", ""))
	target, err := saver.Put(t.Context(), first, &checkpoint.Checkpoint{
		V: 3, ID: checkpoint.NewID(1), ChannelVersions: get(t, saver, first).Checkpoint.ChannelVersions,
	}, checkpoint.Metadata{"step": 1}, map[string]checkpoint.Version{})
	require.NoError(t, err)
	require.NoError(t, saver.PutWrites(t.Context(), target, []checkpoint.Write{{Channel: checkpoint.ChannelTasks, Value: packet(2)}}, "t", ""))

	forked, err := checkpoint.Fork(t.Context(), saver, target, checkpoint.ForkOptions{})
	require.NoError(t, err)
	require.Equal(t, []any{packet(1)}, get(t, saver, forked).Checkpoint.ChannelValues[checkpoint.ChannelTasks])
}

// stale lists what there was when the first caller asked, as for callers that come at the same time.
type stale struct {
	*memory
	tuples []*checkpoint.Tuple
}

func (s *stale) List(ctx context.Context, config checkpoint.Config,
	options checkpoint.ListOptions,
) iter.Seq2[*checkpoint.Tuple, error] {
	return func(yield func(*checkpoint.Tuple, error) bool) {
		if s.tuples == nil {
			for tuple, err := range s.memory.List(ctx, config, options) {
				if err != nil {
					yield(nil, err)
					return
				}
				s.tuples = append(s.tuples, tuple)
			}
		}
		for _, tuple := range s.tuples {
			if !yield(tuple, nil) {
				return
			}
		}
	}
}

func TestForksThatDoNotKnowOfEachOtherHaveIntegerVersionsOfTheirOwn(t *testing.T) {
	t.Parallel()
	saver := &stale{memory: newMemory()}
	base, err := saver.Put(t.Context(), checkpoint.Config{ThreadID: "thread"}, &checkpoint.Checkpoint{
		ID: checkpoint.NewID(0), ChannelValues: map[string]any{"list": []any{}},
		ChannelVersions: map[string]checkpoint.Version{"list": checkpoint.IntVersion(1)},
	}, checkpoint.Metadata{"step": 0}, nil)
	require.NoError(t, err)
	seen := map[checkpoint.Version]bool{}
	for range 10 {
		forked, err := checkpoint.Fork(t.Context(), saver, base, checkpoint.ForkOptions{})
		require.NoError(t, err)
		seen[get(t, saver, forked).Checkpoint.ChannelVersions["list"]] = true
	}
	require.Len(t, seen, 10)
}
