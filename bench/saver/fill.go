package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/serde"
	"github.com/pgweft/pgweft/serde/messages"
)

// thread is one that reads are measured on. Its checkpoints are numbered from 0.
type thread struct {
	name        string
	payload     string
	checkpoints int
	// steps is the length of the history of the delta channel at the newest checkpoint; 0 for threads without one.
	steps int
}

// deltaChannel is the channel that delta threads only write to.
const deltaChannel = "messages"

func threadName(payload string, checkpoints int) string {
	return fmt.Sprintf("t-%s-%d", payload, checkpoints)
}

func plainThread(payload string, checkpoints int) thread {
	return thread{name: threadName(payload, checkpoints), payload: payload, checkpoints: checkpoints}
}

func deltaThread(checkpoints, steps int) thread {
	return thread{name: fmt.Sprintf("delta-%d-%d", checkpoints, steps), checkpoints: checkpoints, steps: steps}
}

// checkpointID is the one of a checkpoint that was not put by a client, lower than all that clients put.
func checkpointID(number int) string {
	return fmt.Sprintf("1e0%05x-0000-6000-8000-000000000000", number)
}

// deltaValue is what the checkpoint with this number wrote to the delta channel.
func deltaValue(number int) any {
	return []any{messages.Human(fmt.Sprintf("Step %d: she took down a jar from one of the shelves as she passed, and it was empty.", number),
		messages.WithID(taskID(number)))}
}

// checkHistory compares the writes of a delta history with what was written.
func checkHistory(op operation, values []any) error {
	if len(values) != op.Limit {
		return fmt.Errorf("%w: %d writes, not %d", errRead, len(values), op.Limit)
	}
	first := op.Checkpoints - 1 - op.Limit
	for _, i := range []int{0, len(values) / 2, len(values) - 1} {
		if digest(map[string]any{"": values[i]}) != digest(map[string]any{"": deltaValue(first + i)}) {
			return fmt.Errorf("%w: write %d of the history is %v", errRead, i, values[i])
		}
	}
	return nil
}

// tableRows are the rows of a thread in tables with LangGraph's columns.
type tableRows struct{ checkpoints, blobs, writes [][]any }

func (t thread) rows(p payloads) (tableRows, error) {
	var rows tableRows
	for number := range t.checkpoints {
		var parent *string
		if number > 0 {
			id := checkpointID(number - 1)
			parent = &id
		}
		cp, metadata, blobs, err := t.checkpoint(p, number)
		if err != nil {
			return rows, err
		}
		cp.ID = checkpointID(number)
		checkpointJSON, err := cp.MarshalJSON()
		if err != nil {
			return rows, err
		}
		metadataJSON, err := metadata.MarshalJSON()
		if err != nil {
			return rows, err
		}
		rows.checkpoints = append(rows.checkpoints, []any{t.name, cp.ID, parent, string(checkpointJSON), string(metadataJSON)})
		for _, channel := range sortedKeys(blobs) {
			rows.blobs = append(rows.blobs, []any{
				t.name, channel, cp.ChannelVersions[channel].String(), blobs[channel].Type, blobs[channel].Data,
			})
		}
		if t.steps > 0 {
			typed, err := serde.Default().Dump(deltaValue(number))
			if err != nil {
				return rows, err
			}
			rows.writes = append(rows.writes, []any{t.name, cp.ID, taskID(number), 0, deltaChannel, typed.Type, typed.Data})
		}
	}
	return rows, nil
}

// checkpoint is one without the values that stand in rows of their own, and these.
func (t thread) checkpoint(p payloads, number int) (*checkpoint.Checkpoint, checkpoint.Metadata, map[string]serde.Typed, error) {
	b := &body{values: map[string]any{deltaChannel: nil}}
	if t.steps == 0 {
		b = p.of(t.payload, number)
	}
	cp, metadata := newCheckpoint(b, number)
	cp.ChannelValues = map[string]any{}
	blobs := map[string]serde.Typed{}
	for channel, value := range b.values {
		if t.steps > 0 {
			metadata["counters_since_delta_snapshot"] = map[string]any{channel: []any{number, number}}
			if number != t.checkpoints-1-t.steps {
				continue
			}
			cp.ChannelValues[channel] = true
			value = serde.DeltaSnapshot{Value: []any{messages.Human("Down the rabbit-hole", messages.WithID("seed"))}}
		} else if text, isText := value.(string); isText {
			cp.ChannelValues[channel] = text
			continue
		}
		typed, err := serde.Default().Dump(value)
		if err != nil {
			return nil, nil, nil, err
		}
		blobs[channel] = typed
	}
	return cp, metadata, blobs, nil
}

// copyThreads writes threads into tables with LangGraph's columns.
func copyThreads(ctx context.Context, conn *pgx.Conn, schema string, p payloads, threads []thread) error {
	for _, t := range threads {
		rows, err := t.rows(p)
		if err != nil {
			return err
		}
		for _, table := range []struct {
			name    string
			columns []string
			rows    [][]any
		}{
			{"checkpoints", []string{"thread_id", "checkpoint_id", "parent_checkpoint_id", "checkpoint", "metadata"}, rows.checkpoints},
			{"checkpoint_blobs", []string{"thread_id", "channel", "version", "type", "blob"}, rows.blobs},
			{"checkpoint_writes", []string{"thread_id", "checkpoint_id", "task_id", "idx", "channel", "type", "blob"}, rows.writes},
		} {
			if len(table.rows) == 0 {
				continue
			}
			if _, err := conn.CopyFrom(ctx, pgx.Identifier{schema, table.name}, table.columns, pgx.CopyFromRows(table.rows)); err != nil {
				return fmt.Errorf("fill thread %s: %w", t.name, err)
			}
		}
	}
	return nil
}

// fillBackground adds checkpoints that nobody reads to tables with LangGraph's columns, so that the database has the size
// of one in use: threads of 100 checkpoints, each with a value and a write. They are numbered from and up to.
func fillBackground(ctx context.Context, conn *pgx.Conn, schema string, from, to int) error {
	for _, sql := range []string{
		`insert into %[1]s.checkpoints (thread_id, checkpoint_id, parent_checkpoint_id, checkpoint, metadata)
		select 'background-' || n / 100, ` + backgroundID + `, case when n %% 100 > 0 then '1e1' || lpad(to_hex(n - 1), 5, '0') || '-0000-6000-8000-000000000000' end,
			jsonb_build_object('v', 4, 'id', ` + backgroundID + `, 'ts', '2026-04-07T10:00:00.000000+00:00',
				'channel_values', jsonb_build_object('turn', n, 'topic', md5(n::text)),
				'channel_versions', jsonb_build_object('messages', lpad(n::text, 32, '0') || '.0', 'turn', lpad(n::text, 32, '0') || '.0',
					'topic', lpad(n::text, 32, '0') || '.0'),
				'versions_seen', jsonb_build_object('agent', jsonb_build_object('messages', lpad(n::text, 32, '0') || '.0')),
				'updated_channels', jsonb_build_array('messages', 'topic', 'turn')),
			jsonb_build_object('source', 'loop', 'step', n %% 100, 'parents', jsonb_build_object())
		from generate_series($1::integer, $2::integer - 1) n`,
		`insert into %[1]s.checkpoint_blobs (thread_id, channel, version, type, blob)
		select 'background-' || n / 100, 'messages', lpad(n::text, 32, '0') || '.0', 'msgpack',
			'\xd9c8'::bytea || convert_to(repeat(md5(n::text), 6) || 'abcdefgh', 'UTF8')
		from generate_series($1::integer, $2::integer - 1) n`,
		`insert into %[1]s.checkpoint_writes (thread_id, checkpoint_id, task_id, idx, channel, type, blob)
		select 'background-' || n / 100, ` + backgroundID + `, md5(n::text)::uuid::text, 0, 'messages', 'msgpack',
			'\xd9c8'::bytea || convert_to(repeat(md5(n::text), 6) || 'abcdefgh', 'UTF8')
		from generate_series($1::integer, $2::integer - 1) n`,
	} {
		if _, err := conn.Exec(ctx, fmt.Sprintf(sql, pgx.Identifier{schema}.Sanitize()), from, to); err != nil {
			return fmt.Errorf("fill the database up to %d checkpoints: %w", to, err)
		}
	}
	return nil
}

const backgroundID = `'1e1' || lpad(to_hex(n), 5, '0') || '-0000-6000-8000-000000000000'`

// settle leaves nothing for vacuum or a checkpoint to do in the midst of a measurement.
func settle(ctx context.Context, conn *pgx.Conn) error {
	for _, sql := range []string{"vacuum (analyze)", "checkpoint"} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

// copyItems writes items of the store, with their vectors, into tables with LangGraph's columns.
func copyItems(ctx context.Context, conn *pgx.Conn, schema string, p payloads, count int) error {
	now := time.Now().UTC()
	_, err := conn.CopyFrom(ctx, pgx.Identifier{schema, "store"}, []string{"prefix", "key", "value", "created_at", "updated_at"},
		pgx.CopyFromSlice(count, func(i int) ([]any, error) {
			return []any{itemPrefix, itemKey(i), p.item(i), now, now}, nil
		}))
	if err != nil {
		return fmt.Errorf("fill the store: %w", err)
	}
	texts := make([]string, count)
	for i := range texts {
		texts[i] = p.queryText(i)
	}
	vectors, err := embedder.EmbedDocuments(ctx, texts)
	if err != nil {
		return err
	}
	const batchSize = 1000
	for from := 0; from < count; from += batchSize {
		batch := &pgx.Batch{}
		for i := from; i < min(from+batchSize, count); i++ {
			batch.Queue(fmt.Sprintf("insert into %s.store_vectors (prefix, key, field_name, embedding) values ($1, $2, $3, $4::real[]::vector)",
				pgx.Identifier{schema}.Sanitize()), itemPrefix, itemKey(i), itemField, vectors[i])
		}
		if err := conn.SendBatch(ctx, batch).Close(); err != nil {
			return fmt.Errorf("fill the vectors of the store: %w", err)
		}
	}
	return nil
}
