package pgsaver_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/internal/pgxtest"
	"github.com/pgweft/pgweft/pgsaver"
)

// putFilled saves a checkpoint whose values, metadata and writes all consist of the letter, and returns it as it reads back. There
// are more channels and tasks than names are kept, and names that are longer than any that is kept.
func putFilled(t *testing.T, saver *pgsaver.Saver, thread, letter string) *checkpoint.Tuple {
	t.Helper()
	const channels, tasks = 300, 20
	text := strings.Repeat(letter, 40)
	values := map[string]any{
		"inline": text, "bytes": []byte(text), "empty": []byte{}, "list": []any{text, int64(1), nil}, strings.Repeat(letter, 1000): []any{text},
	}
	for i := range channels {
		values[fmt.Sprint(letter, i)] = []any{fmt.Sprint(text, i)}
	}
	parent := put(t, saver, checkpoint.Config{ThreadID: thread}, step(nil))
	want := &checkpoint.Tuple{Checkpoint: step(maps.Clone(values)), Metadata: checkpoint.Metadata{"source": text, "n": map[string]any{text: 1.0}}}
	want.Checkpoint.V = checkpoint.FormatVersion
	want.Checkpoint.VersionsSeen = map[string]map[string]checkpoint.Version{text: maps.Clone(want.Checkpoint.ChannelVersions)}
	want.Checkpoint.UpdatedChannels = slices.Sorted(maps.Keys(values))
	want.Parent = &parent
	var err error
	want.Config, err = saver.Put(t.Context(), parent, want.Checkpoint, want.Metadata, nil)
	require.NoError(t, err)
	for i := range tasks {
		writes := []checkpoint.Write{
			{Channel: letter, Value: []any{text}}, {Channel: fmt.Sprint(letter, i), Value: text}, {Channel: "bytes", Value: []byte(text)},
		}
		task, path := fmt.Sprintf("%s%02d", text, i), fmt.Sprintf("path %s%02d", letter, i)
		require.NoError(t, saver.PutWrites(t.Context(), want.Config, writes, task, path))
		for index, write := range writes {
			write.TaskID, write.TaskPath, write.Index = task, path, index
			want.PendingWrites = append(want.PendingWrites, write)
		}
	}
	return want
}

func requireTuple(t *testing.T, want, got *checkpoint.Tuple) {
	t.Helper()
	copied := *got
	require.False(t, copied.CreatedAt.IsZero())
	copied.CreatedAt = want.CreatedAt
	require.Equal(t, want, &copied)
}

// What the driver lends for a row it uses again for the next one, and for the next query on the connection.
func TestWhatWasReadStaysWhenMoreIsRead(t *testing.T) {
	t.Parallel()
	for _, mode := range pgxtest.ExecModes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			pool := newPool(t, pgxtest.WithExecMode(mode), func(config *pgxpool.Config) { config.MaxConns = 1 })
			saver := pgsaver.New(pool, nil)
			letters := []string{"a", "b", "c"}
			want, got := map[string]*checkpoint.Tuple{}, map[string]*checkpoint.Tuple{}
			for _, letter := range letters {
				want[letter] = putFilled(t, saver, letter, letter)
			}
			for _, letter := range letters {
				tuple, err := saver.Get(t.Context(), checkpoint.Config{ThreadID: letter})
				require.NoError(t, err)
				got[letter] = tuple
			}
			for _, letter := range letters {
				requireTuple(t, want[letter], got[letter])
			}

			listed := map[string]*checkpoint.Tuple{}
			for tuple, err := range saver.List(t.Context(), checkpoint.Config{}, checkpoint.ListOptions{AllNamespaces: true}) {
				require.NoError(t, err)
				if tuple.Parent != nil {
					listed[tuple.Config.ThreadID] = tuple
				}
			}
			for _, letter := range letters {
				requireTuple(t, want[letter], listed[letter])
			}
		})
	}
}

func TestACorruptCheckpointIsReportedInItsPlaceOfTheList(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	saver := pgsaver.New(pool, nil)
	fill(t, pool, "t", "", 4, 1)
	fill(t, pool, "t", "n:1", 4, 1)
	exec(t, pool, `update langgraph.checkpoints set checkpoint = checkpoint || '{"v": "x"}' where checkpoint_id = 'c00002'`)
	for _, options := range []checkpoint.ListOptions{{}, {AllNamespaces: true}, {WithoutState: true}} {
		var ids []string
		var failure error
		for tuple, err := range saver.List(t.Context(), checkpoint.Config{ThreadID: "t"}, options) {
			if err != nil {
				failure = err
				break
			}
			ids = append(ids, tuple.Config.CheckpointID)
		}
		want := []string{"c00004", "c00003"}
		if options.AllNamespaces {
			want = []string{"c00004", "c00004", "c00003", "c00003"}
		}
		require.Equal(t, want, ids)
		require.ErrorIs(t, failure, checkpoint.ErrCorrupt)
		require.ErrorContains(t, failure, `pgsaver: list: checkpoint "c00002" of thread "t", namespace "`)
		require.ErrorContains(t, failure, "v: json: cannot unmarshal string into Go value of type int")
	}
	_, err := saver.Get(t.Context(), checkpoint.Config{ThreadID: "t", CheckpointID: "c00002"})
	require.ErrorIs(t, err, checkpoint.ErrCorrupt)
	require.ErrorContains(t, err, `pgsaver: get: checkpoint "c00002" of thread "t", namespace "": `)
}
