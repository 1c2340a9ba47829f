package sql_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/testcontainers"
)

// The skewed database: a thread of 5,010 checkpoints and one of 50 among 2,500 of 20 each; 5,010 versions of a channel of 1 KB;
// a delta channel with a snapshot at every 20th step. Both these threads stand ten steps after a snapshot. One more, of 1,000
// checkpoints, has no delta channel.
const (
	longThread  = "conversation-long"
	shortThread = "conversation-short"
	plainThread = "plain"
	longSteps   = 5010
	shortSteps  = 50
	plainSteps  = 1000
	others      = 2500
	fewOthers   = 600
	otherSteps  = 20
)

// newSkewedDatabase makes it, in seconds.
func newSkewedDatabase(t *testing.T) string {
	t.Helper()
	connString, conn := newUnanalyzedDatabase(t)
	fillThreads(t, conn, true, 1, others)
	fillStore(t, conn, 1, others)
	for _, table := range tables {
		exec(t, conn, "vacuum analyze langgraph."+table)
	}
	return connString
}

// newUnanalyzedDatabase makes a database whose tables no autovacuum analyzes, and a session to fill them.
func newUnanalyzedDatabase(t *testing.T) (connString string, conn *pgx.Conn) {
	t.Helper()
	connString = testcontainers.NewDatabase(t).ConnString()
	conn, err := pgx.Connect(t.Context(), connString)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close(context.WithoutCancel(t.Context()))) })
	for _, table := range tables {
		exec(t, conn, "alter table langgraph."+table+" set (autovacuum_enabled = off)")
	}
	return connString, conn
}

// fillThreads saves the other threads from one number to another, and the named ones if asked. An id begins with the point in
// time, from 0 to 10^6, so that all threads go on side by side. Checkpoints lie in no order, as after years of updates and
// deletions: that is the worst for reading them by an index, and so the greatest temptation not to.
func fillThreads(t *testing.T, db querier, named bool, from, to int) {
	t.Helper()
	exec(t, db, `
		create temp table step as
		select t.thread_id, s.step, s.step * 1000000 / t.steps as at,
			lpad((s.step * 1000000 / t.steps)::text, 7, '0') || '-' || t.thread_id || '-' || lpad(s.step::text, 5, '0') as id
		from (
			select * from (values ($1, $2::bigint), ($3, $4), ($5, $6)) n (thread_id, steps) where $7
			union all
			select 'other-' || n, $8 from generate_series($9::integer, $10) n
		) t
		cross join lateral generate_series(1, t.steps) s (step)`,
		longThread, longSteps, shortThread, shortSteps, plainThread, plainSteps, named, otherSteps, from, to)
	exec(t, db, `
		insert into langgraph.checkpoints (thread_id, checkpoint_id, parent_checkpoint_id, checkpoint, metadata, created_at)
		select thread_id, id, lag(id) over (partition by thread_id order by step),
			jsonb_build_object('v', 4, 'id', id, 'ts', '2026-04-07T10:00:00+00:00',
				'channel_values', jsonb_build_object('counter', step)
					|| case when step % 20 = 0 and has_delta then '{"events": true}' else '{}' end::jsonb,
				'channel_versions', jsonb_build_object('counter', version, 'messages', version, 'events', version,
					'documents', 'v1', 'branch:to:model', version),
				'versions_seen', '{}'::jsonb, 'updated_channels', '["counter", "events", "messages"]'::jsonb),
			jsonb_build_object('source', 'loop', 'step', step, 'even', step % 2 = 0, 'run_id', thread_id || '-' || step / 10)
				|| case when has_delta then jsonb_build_object('counters_since_delta_snapshot',
					jsonb_build_object('events', jsonb_build_array(step % 20, step % 20))) else '{}' end,
			now() - (1000000 - at) * interval '1 second'
		from step
		cross join lateral (select 'v' || lpad(step::text, 8, '0') as version, thread_id <> 'plain' as has_delta) v
		order by md5(id)`)
	exec(t, db, `
		insert into langgraph.checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
		select thread_id, '', c.channel, 'v' || lpad(step::text, 8, '0'), 'msgpack', c.blob
		from step
		cross join lateral (
			-- [{type: human, content: ...}]
			select 'messages' as channel, '\x9182a474797065a568756d616ea7636f6e74656e74da0400'::bytea
				|| convert_to(repeat(md5(id), 32), 'UTF8') as blob
			union all
			select 'events', '\x91a165' where step % 20 = 0 and thread_id <> 'plain'
		) c
		union all
		select thread_id, '', 'documents', 'v1', 'bytes', convert_to(repeat(thread_id, 1000), 'UTF8') from step where step = 1`)
	exec(t, db, `
		insert into langgraph.checkpoint_writes (thread_id, checkpoint_id, task_id, task_path, idx, channel, type, blob)
		select thread_id, id, 'model', '~__pregel_pull, model', w.idx, w.channel, 'msgpack', w.blob
		from step
		cross join (values
			(0, 'messages', '\x9182a474797065a568756d616ea7636f6e74656e74a161'::bytea),
			(1, 'events', '\x91a165')
		) w (idx, channel, blob)
		where w.idx = 0 or thread_id not like 'other-%'`)
	exec(t, db, "drop table step")
}

// fillStore saves ten items of each user from one number to another, and another eight a user in one namespace.
func fillStore(t *testing.T, db querier, from, to int) {
	t.Helper()
	exec(t, db, `
		insert into langgraph.store (prefix, key, value)
		select 'big.' || n % 3, 'item-' || n, jsonb_build_object('n', n, 'kind', n % 1000)
		from generate_series($1::integer * 8, $2::integer * 8 + 7) n
		union all
		select 'users.' || n / 10 || '.memories', 'item-' || n % 10, jsonb_build_object('n', n, 'kind', n % 1000)
		from generate_series($1 * 10, $2 * 10 + 9) n`, from, to)
}

// stored is the arguments that name a thread of the skewed database.
func stored(t *testing.T, db querier, thread string) pgx.NamedArgs {
	t.Helper()
	ids := column[string](t, db, "select checkpoint_id from langgraph.checkpoints where thread_id = $1 order by 1", thread)
	return pgx.NamedArgs{
		"thread": thread,
		"head":   ids[len(ids)-1],
		"middle": ids[len(ids)/2-1],
		"new":    "9999999-" + thread,
		"run":    value[string](t, db, "select metadata ->> 'run_id' from langgraph.checkpoints where thread_id = $1 order by checkpoint_id limit 1", thread),
	}
}
