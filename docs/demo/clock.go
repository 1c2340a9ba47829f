package main

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgweft/pgweft/checkpoint"
)

// timestamp is how checkpoints write their time.
const timestamp = "2006-01-02T15:04:05.000000-07:00"

// firstDay is when the first conversation may begin.
var firstDay = time.Date(2026, time.March, 2, 0, 0, 0, 0, time.UTC)

// clock remembers when tasks wrote and conversations forked; other checkpoints say it themselves.
type clock struct {
	threads, checkpoints, tasks []string
	at                          []time.Time

	forkThreads, forkIDs, forkTimes []string
}

func (c *clock) forked(config checkpoint.Config, at time.Time) {
	c.forkThreads = append(c.forkThreads, config.ThreadID)
	c.forkIDs = append(c.forkIDs, config.CheckpointID)
	c.forkTimes = append(c.forkTimes, at.Format(timestamp))
}

func (c *clock) wrote(thread, checkpoint, task string, at time.Time) {
	c.threads = append(c.threads, thread)
	c.checkpoints = append(c.checkpoints, checkpoint)
	c.tasks = append(c.tasks, task)
	c.at = append(c.at, at)
}

// set makes what is stored as old as it says.
func (c *clock) set(ctx context.Context, tx pgx.Tx) error {
	for _, step := range []struct {
		sql  string
		args []any
	}{
		{`update langgraph.checkpoints c
			set checkpoint = jsonb_set(c.checkpoint, '{ts}', to_jsonb(f.ts))
			from unnest($1::text[], $2::text[], $3::text[]) f (thread_id, checkpoint_id, ts)
			where c.thread_id = f.thread_id and c.checkpoint_id = f.checkpoint_id`, []any{c.forkThreads, c.forkIDs, c.forkTimes}},
		{`update langgraph.checkpoints set created_at = (checkpoint ->> 'ts')::timestamptz, updated_at = (checkpoint ->> 'ts')::timestamptz
			where thread_id like 'support-%'`, nil},
		{`update langgraph.checkpoint_blobs b
			set created_at = (
				select min(c.created_at)
				from langgraph.checkpoints c
				where c.thread_id = b.thread_id and c.checkpoint -> 'channel_versions' ->> b.channel = b.version
			)
			where b.thread_id like 'support-%'`, nil},
		{
			`update langgraph.checkpoint_writes w
			set created_at = t.at
			from unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[]) t (thread_id, checkpoint_id, task_id, at)
			where w.thread_id = t.thread_id and w.checkpoint_id = t.checkpoint_id and w.task_id = t.task_id`,
			[]any{c.threads, c.checkpoints, c.tasks, c.at},
		},
	} {
		if _, err := tx.Exec(ctx, step.sql, step.args...); err != nil {
			return err
		}
	}
	return nil
}
