package pgsaver_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/pgsaver"
	"github.com/pgweft/pgweft/testcontainers"
)

func benchmarkPool(b *testing.B) *pgxpool.Pool {
	b.Helper()
	postgres, err := testcontainers.Run(b.Context())
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, postgres.Close(context.Background())) })
	pool, err := pgxpool.New(b.Context(), postgres.ConnString())
	require.NoError(b, err)
	b.Cleanup(pool.Close)
	return pool
}

func benchmarkExec(b *testing.B, pool *pgxpool.Pool, sql string, args ...any) {
	b.Helper()
	_, err := pool.Exec(b.Context(), sql, args...)
	require.NoError(b, err)
}

// A chain of 10,000 steps of a delta channel with a snapshot at its first, and 100 forks of 100 steps each from anywhere
// in it: ids are those of the chain with the fork's letter behind, so that forks lie between its steps.
const deltaThread = `
	with steps as (
		select lpad(i::text, 6, '0') as id, nullif(lpad((i - 1)::text, 6, '0'), '000000') as parent, i
		from generate_series(1, 10000) i
		union all
		select lpad((f * 97 + s)::text, 6, '0') || '-' || lpad(f::text, 3, '0'),
			case when s = 0 then lpad((f * 97)::text, 6, '0') else lpad((f * 97 + s - 1)::text, 6, '0') || '-' || lpad(f::text, 3, '0') end,
			f * 97 + s
		from generate_series(1, 100) f, generate_series(0, 99) s
	)
	select count(*)
	from steps,
		langgraph.put_checkpoint('t', '', id, parent,
			jsonb_build_object('v', 4, 'id', id, 'ts', '2026-04-07T10:00:00+00:00', 'channel_versions',
				jsonb_build_object('log', lpad(i::text, 32, '0') || '.' || id, 'a', '1', 'b', '1', 'c', '1'),
				'channel_values', case when i = 1 then '{"log": true}' else '{}' end::jsonb),
			jsonb_build_object('source', 'loop', 'step', i, 'counters_since_delta_snapshot', jsonb_build_object('log', array[i - 1, i - 1])),
			case when i = 1 then array['log'] else '{}' end, case when i = 1 then array[lpad('1', 32, '0') || '.' || id] else '{}' end,
			case when i = 1 then array['msgpack'] else '{}' end, case when i = 1 then array['\xd50790c0'::bytea] else '{}' end),
		langgraph.put_writes('t', '', id, 'task', '', null, array['log'], array['msgpack'],
			array['\xa8'::bytea || convert_to('message ', 'UTF8')])`

// BenchmarkDeltaHistory reads the history of a delta channel at the end of that chain in three ways, in turn within each
// iteration: one call of delta_channel_history, the queries of a client that knows no functions (a page of 1,024 rows of
// the thread at a time to find the way, then the writes on it), and one Get an ancestor.
func BenchmarkDeltaHistory(b *testing.B) {
	pool := benchmarkPool(b)
	benchmarkExec(b, pool, deltaThread)
	benchmarkExec(b, pool, `update langgraph.checkpoint_blobs set blob = '\xd407c0' where channel = 'log'`)
	benchmarkExec(b, pool, "vacuum analyze langgraph.checkpoints, langgraph.checkpoint_blobs, langgraph.checkpoint_writes")
	saver := pgsaver.New(pool, nil)
	for name, target := range map[string]struct {
		id     string
		writes int
	}{
		"10000-steps":     {"010000", 9999},
		"20-steps-in-20k": {"000021", 20},
	} {
		b.Run(name, func(b *testing.B) {
			config := checkpoint.Config{ThreadID: "t", CheckpointID: target.id}
			var call, client, walk time.Duration
			for b.Loop() {
				start := time.Now()
				history, err := saver.DeltaHistory(b.Context(), config, []string{"log"})
				call += time.Since(start)
				require.NoError(b, err)
				require.Len(b, history["log"].Writes, target.writes)

				start = time.Now()
				writes := clientSideHistory(b, pool, target.id)
				client += time.Since(start)
				require.Equal(b, target.writes, writes)

				start = time.Now()
				writes = 0
				for at := config; ; {
					tuple, err := saver.Get(b.Context(), at)
					require.NoError(b, err)
					if at != config {
						writes += len(tuple.PendingWrites)
					}
					if tuple.Parent == nil {
						break
					}
					at = *tuple.Parent
				}
				walk += time.Since(start)
				require.Equal(b, target.writes, writes)
			}
			per := func(total time.Duration) float64 { return float64(total.Microseconds()) / float64(b.N) / 1000 }
			b.ReportMetric(per(call), "function-ms")
			b.ReportMetric(per(client), "two-stage-ms")
			b.ReportMetric(per(walk), "get-each-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func clientSideHistory(b *testing.B, pool *pgxpool.Pool, target string) int {
	b.Helper()
	type ancestor struct {
		ID     string
		Parent *string
		Stored bool
	}
	seen := map[string]ancestor{}
	var chain []string
	want, cursor, operator := target, target, "<="
	for done := false; !done; operator = "<" {
		rows, err := pool.Query(b.Context(), `
			select checkpoint_id, parent_checkpoint_id, exists (
				select from langgraph.checkpoint_blobs l
				where l.thread_id = c.thread_id and l.checkpoint_ns = c.checkpoint_ns and l.channel = 'log'
					and l.version = c.checkpoint -> 'channel_versions' ->> 'log' and l.type <> 'empty')
			from langgraph.checkpoints c
			where thread_id = 't' and checkpoint_ns = '' and checkpoint_id `+operator+` $1
			order by checkpoint_id desc
			limit 1024`, cursor)
		require.NoError(b, err)
		page, err := pgx.CollectRows(rows, pgx.RowToStructByPos[ancestor])
		require.NoError(b, err)
		for _, row := range page {
			seen[row.ID] = row
			cursor = row.ID
		}
		for !done {
			row, known := seen[want]
			if !known {
				break
			}
			if want != target {
				chain = append(chain, want)
			}
			done = want != target && row.Stored || row.Parent == nil
			if !done {
				want = *row.Parent
			}
		}
		require.NotEmpty(b, page)
	}
	rows, err := pool.Query(b.Context(), `
		select checkpoint_id, type, blob, task_id, task_path, idx
		from langgraph.checkpoint_writes
		where thread_id = 't' and checkpoint_ns = '' and channel = 'log' and checkpoint_id = any ($1::text[])`, chain)
	require.NoError(b, err)
	writes := 0
	for rows.Next() {
		_, err := rows.Values()
		require.NoError(b, err)
		writes++
	}
	require.NoError(b, rows.Err())
	return writes
}

// BenchmarkPrune prunes threads of 1,000 checkpoints, each with two values and two writes, to their newest, and says how
// many rows a second went and how much WAL each cost.
func BenchmarkPrune(b *testing.B) {
	pool := benchmarkPool(b)
	saver := pgsaver.New(pool, nil)
	var rows, wal int64
	var took time.Duration
	for b.Loop() {
		benchmarkExec(b, pool, "truncate langgraph.checkpoints, langgraph.checkpoint_blobs, langgraph.checkpoint_writes")
		benchmarkExec(b, pool, `
			select count(*)
			from generate_series(1, 20) t, generate_series(1, 1000) i,
				langgraph.put_checkpoint(t::text, '', lpad(i::text, 6, '0'), nullif(lpad((i - 1)::text, 6, '0'), '000000'),
					jsonb_build_object('v', 4, 'id', lpad(i::text, 6, '0'), 'channel_versions', jsonb_build_object('a', i::text, 'b', i::text)),
					jsonb_build_object('source', 'loop', 'step', i),
					array['a', 'b'], array[i::text, i::text], array['msgpack', 'msgpack'],
					array['\xd9c8'::bytea || convert_to(repeat('x', 200), 'UTF8'), '\x01']),
				langgraph.put_writes(t::text, '', lpad(i::text, 6, '0'), 'task', '', null, array['a', 'b'], array['msgpack', 'msgpack'],
					array['\xd9c8'::bytea || convert_to(repeat('x', 200), 'UTF8'), '\x01'])`)
		benchmarkExec(b, pool, "checkpoint")
		var before, after int64
		position := "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint"
		require.NoError(b, pool.QueryRow(b.Context(), position).Scan(&before))
		start := time.Now()
		for t := range 20 {
			removed, err := saver.Prune(b.Context(), []string{[]string{
				"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16", "17", "18", "19", "20",
			}[t]}, checkpoint.PruneOptions{})
			require.NoError(b, err)
			require.Equal(b, int64(999), removed[0].Checkpoints)
			rows += removed[0].Checkpoints + removed[0].Blobs + removed[0].Writes
		}
		took += time.Since(start)
		require.NoError(b, pool.QueryRow(b.Context(), position).Scan(&after))
		wal += after - before
	}
	b.ReportMetric(float64(rows)/took.Seconds(), "rows/s")
	b.ReportMetric(float64(wal)/float64(rows), "WAL-bytes/row")
	b.ReportMetric(0, "ns/op")
}
