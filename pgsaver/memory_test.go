package pgsaver_test

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/pgsaver"
)

// fill saves checkpoints "c00001" and up of a thread, each with a value of so many bytes.
func fill(t *testing.T, db pgsaver.DB, thread, namespace string, checkpoints, size int) {
	t.Helper()
	exec(t, db, `
		with step as (
			select step, 'c' || lpad(step::text, 5, '0') as id from generate_series(1, $3::integer) step
		), blobs as (
			insert into langgraph.checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
			select $1, $2, 'value', id, 'bytes', convert_to(repeat('x', $4), 'UTF8') from step
		)
		insert into langgraph.checkpoints (thread_id, checkpoint_ns, checkpoint_id, checkpoint, metadata)
		select $1, $2, id, jsonb_build_object('v', 4, 'id', id, 'ts', '2026-04-07T10:00:00+00:00', 'channel_values', '{}'::jsonb,
			'channel_versions', jsonb_build_object('value', id), 'versions_seen', '{}'::jsonb),
			jsonb_build_object('source', 'loop', 'step', step, 'even', step % 2 = 0)
		from step`, thread, namespace, checkpoints, size)
}

// temporary is how many bytes the sessions of a database have written to temporary files. The pool has one connection, whose
// statistics are sent by the first statement and read by the second.
func temporary(t *testing.T, pool *pgxpool.Pool) int {
	t.Helper()
	exec(t, pool, "select pg_stat_force_next_flush()")
	return count(t, pool, "select temp_bytes from pg_stat_database where datname = current_database()")
}

// Not parallel: it looks at the heap of the whole process.
func TestListOfTenThousandCheckpointsIsReadInConstantMemory(t *testing.T) {
	const checkpoints, size = 10_000, 20_000
	pool := newPool(t, func(config *pgxpool.Config) { config.MaxConns = 1 })
	fill(t, pool, "t", "", checkpoints, size)
	exec(t, pool, "analyze")
	saver := pgsaver.New(pool, nil)

	before := temporary(t, pool)
	heap := map[int]uint64{}
	listed := 0
	for tuple, err := range saver.List(t.Context(), checkpoint.Config{ThreadID: "t"}, checkpoint.ListOptions{}) {
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("c%05d", checkpoints-listed), tuple.Config.CheckpointID)
		require.Len(t, tuple.Checkpoint.ChannelValues["value"], size)
		listed++
		if listed == 1000 || listed == 9000 {
			var stats runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&stats)
			heap[listed] = stats.HeapAlloc
		}
	}
	require.Equal(t, checkpoints, listed)
	require.Less(t, heap[9000], heap[1000]+8<<20, "8,000 checkpoints of 20 KB were read between the two")
	require.Equal(t, before, temporary(t, pool), "the server keeps no page in files")

	exec(t, pool, "select from langgraph.list_checkpoints('t')")
	require.Greater(t, temporary(t, pool), before+checkpoints*size, "one query for all of them is kept in files")
}

// listed is a checkpoint of a list.
type listed struct{ Thread, Namespace, ID string }

// listAll is the same list in one query.
func listAll(t *testing.T, db pgsaver.DB, config checkpoint.Config, options checkpoint.ListOptions) []listed {
	t.Helper()
	rows, err := db.Query(t.Context(), `
		select thread_id, checkpoint_ns, checkpoint_id
		from langgraph.list_checkpoints(nullif($1, ''), case when not $2 then $3 end, $4, nullif($5, ''), nullif($6, 0), false, nullif($7, ''))`,
		config.ThreadID, options.AllNamespaces, config.Namespace, options.Filter, options.Before, options.Limit, config.CheckpointID)
	require.NoError(t, err)
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[listed])
	require.NoError(t, err)
	return all
}

func list(t *testing.T, saver *pgsaver.Saver, config checkpoint.Config, options checkpoint.ListOptions) []listed {
	t.Helper()
	all := []listed{}
	for tuple, err := range saver.List(t.Context(), config, options) {
		require.NoError(t, err)
		all = append(all, listed{tuple.Config.ThreadID, tuple.Config.Namespace, tuple.Config.CheckpointID})
	}
	return all
}

// requireSameList compares lists; checkpoints of one ID may come in any order.
func requireSameList(t *testing.T, want, got []listed) {
	t.Helper()
	for _, l := range [][]listed{want, got} {
		require.True(t, slices.IsSortedFunc(l, func(a, b listed) int { return cmp.Compare(b.ID, a.ID) }))
		slices.SortFunc(l, func(a, b listed) int {
			return cmp.Or(cmp.Compare(b.ID, a.ID), cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.Namespace, b.Namespace))
		})
	}
	require.Equal(t, want, got)
}

// The first page has 32 checkpoints; small ones come 1,000 a page from then on.
func TestAListInPagesIsTheListOfOneQuery(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	saver := pgsaver.New(pool, nil)
	lengths := []int{0, 1, 31, 32, 33, 64, 1031, 1032, 1033, 2100}
	for _, length := range lengths {
		fill(t, pool, fmt.Sprint("thread ", length), "", length, 1)
	}
	for _, length := range lengths {
		t.Run(fmt.Sprint("of ", length), func(t *testing.T) {
			t.Parallel()
			config := checkpoint.Config{ThreadID: fmt.Sprint("thread ", length)}
			for _, limit := range []int{0, 1, 31, 32, 33, 63, 64, 65, 1031, 1032, 1033, 5000} {
				for _, before := range []string{"", "c00033", "c01500"} {
					for _, filter := range []checkpoint.Metadata{nil, {"even": true}, {"source": "other"}} {
						options := checkpoint.ListOptions{Limit: limit, Before: before, Filter: filter, WithoutState: true}
						want := listAll(t, pool, config, options)
						require.Len(t, list(t, saver, config, options), len(want), options)
						requireSameList(t, want, list(t, saver, config, options))
					}
				}
			}
		})
	}
}

// Where an ID is in many namespaces and threads, a page may end between two of them.
func TestAListOfManyNamespacesIsTheListOfOneQuery(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	saver := pgsaver.New(pool, nil)
	for n := range 45 {
		fill(t, pool, "many namespaces", fmt.Sprintf("n%02d:1", n), 40+n, 1)
		fill(t, pool, fmt.Sprint("thread ", n), "", 20, 1)
	}
	for name, config := range map[string]checkpoint.Config{
		"of a thread":      {ThreadID: "many namespaces"},
		"of all threads":   {},
		"of one ID":        {CheckpointID: "c00008"},
		"of an ID that is": {ThreadID: "many namespaces", CheckpointID: "c00040"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, options := range []checkpoint.ListOptions{{}, {Before: "c00041"}, {Filter: checkpoint.Metadata{"even": true}}} {
				options.AllNamespaces = true
				all := listAll(t, pool, config, options)
				require.NotEmpty(t, all)
				for _, limit := range []int{31, 32, 33, 44, 45, 46, 90, 400} {
					options.Limit = limit
					short := list(t, saver, config, options)
					require.Len(t, short, min(limit, len(all)))
					for i, found := range short {
						require.Equal(t, all[i].ID, found.ID)
					}
				}
				options.Limit = 0
				requireSameList(t, all, list(t, saver, config, options))
			}
		})
	}
}

// Pages of checkpoints of 1 MB have four each.
func TestAListOfLargeCheckpointsInPages(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	fill(t, pool, "t", "", 43, 1<<20)
	fill(t, pool, "t", "n:1", 43, 1)
	for _, options := range []checkpoint.ListOptions{{}, {AllNamespaces: true}, {Limit: 37}, {Limit: 36}, {Limit: 35}} {
		want := listAll(t, pool, checkpoint.Config{ThreadID: "t"}, options)
		requireSameList(t, want, list(t, pgsaver.New(pool, nil), checkpoint.Config{ThreadID: "t"}, options))
	}
}

func TestAListThatIsBrokenOffLeavesItsTransactionUsable(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	fill(t, pool, "t", "", 100, 1)
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	saver := pgsaver.New(pool, nil).WithTx(tx)
	put(t, saver, checkpoint.Config{ThreadID: "t"}, &checkpoint.Checkpoint{ID: "d", TS: "2026-04-07T10:00:00+00:00"})
	for _, wanted := range []int{1, 31, 32, 33, 60} {
		seen := 0
		for tuple, err := range saver.List(t.Context(), checkpoint.Config{ThreadID: "t"}, checkpoint.ListOptions{}) {
			require.NoError(t, err)
			if seen == 0 {
				require.Equal(t, "d", tuple.Config.CheckpointID, "it sees what its transaction saved")
			}
			if seen++; seen == wanted {
				break
			}
		}
		require.Equal(t, wanted, seen)
		require.Equal(t, 101, count(t, tx, "select count(*) from langgraph.checkpoints"))
	}
	require.NoError(t, tx.Rollback(t.Context()))
}

// Checkpoints that are saved or removed while a list is read neither come twice nor hide others.
func TestAListWhoseThreadChangesWhileItIsRead(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	saver := pgsaver.New(pool, nil)
	fill(t, pool, "t", "", 100, 1)
	var ids []string
	for tuple, err := range saver.List(t.Context(), checkpoint.Config{ThreadID: "t"}, checkpoint.ListOptions{}) {
		require.NoError(t, err)
		ids = append(ids, tuple.Config.CheckpointID)
		if len(ids) == 32 {
			put(t, saver, checkpoint.Config{ThreadID: "t"}, &checkpoint.Checkpoint{ID: "d", TS: "2026-04-07T10:00:00+00:00"})
			exec(t, pool, "delete from langgraph.checkpoints where checkpoint_id in ('c00069', 'c00068', 'c00050')")
		}
	}
	require.Len(t, ids, 98)
	require.Equal(t, []string{"c00070", "c00069", "c00067"}, ids[30:33], "c00069 had been read")
	require.NotContains(t, ids, "d")
}
