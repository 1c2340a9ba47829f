package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/examples/internal/demo"
	"github.com/pgweft/pgweft/serde"
	"github.com/pgweft/pgweft/serde/messages"
)

// report prints what the conversation left in the database, as an analyst sees it: in SQL, with the views of the analytics
// schema.
type report struct {
	pool *pgxpool.Pool
	out  io.Writer
}

func (r *report) printf(format string, args ...any) { fmt.Fprintf(r.out, format, args...) }

func (r *report) heading(title string) { demo.Heading(r.out, title) }

// state prints one checkpoint as Go reads it.
func (r *report) state(tuple *checkpoint.Tuple) {
	parent := "no parent"
	if tuple.Parent != nil {
		parent = "from " + tuple.Parent.CheckpointID
	}
	step, _ := tuple.Metadata.Step()
	r.printf("%s  %s, %s, step %d, %d writes\n", tuple.Config.CheckpointID, parent, tuple.Metadata.Source(), step,
		len(tuple.PendingWrites))
	values := tuple.Checkpoint.ChannelValues
	for _, channel := range slices.Sorted(maps.Keys(values)) {
		r.printf("  %-15s %s\n", channel, readable(values[channel]))
	}
}

// readable is a value on one line: messages as who said what, everything else as JSON.
func readable(value any) string {
	if list, ok := value.([]any); ok {
		parts := make([]string, len(list))
		for i, element := range list {
			parts[i] = readable(element)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	if message, ok := value.(messages.Message); ok {
		return fmt.Sprintf("%s: %q", message.Role(), message.Text())
	}
	encoded, err := json.Marshal(serde.Plain(value))
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(encoded)
}

// tree draws a thread; the box characters come from thread_tree itself.
func (r *report) tree(ctx context.Context, thread string) error {
	return r.analyst(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			select drawing, source, is_latest
			from langgraph.thread_tree($1)
			order by ordinal`, thread)
		if err != nil {
			return err
		}
		var drawing, source string
		var latest bool
		_, err = pgx.ForEachRow(rows, []any{&drawing, &source, &latest}, func() error {
			note := ""
			if latest {
				note = "  ← the conversation goes on from here"
			}
			r.printf("  %-16s %s%s\n", drawing, source, note)
			return nil
		})
		return err
	})
}

// showTables prints the three tables of the conversation, decoded, and what can be read off them.
func showTables(ctx context.Context, r *report) error {
	r.heading("5  The three tables")
	for _, part := range []struct{ title, sql string }{
		{"checkpoints", `
			select thread_id, checkpoint_id, parent_checkpoint_id, checkpoint_ns, checkpoint_ns_hash, gmt_create
			from checkpoints
			where thread_id = 'thread_abc123'
			order by checkpoint_id`},
		{"checkpoint_writes", `
			select checkpoint_id, task_id, idx, channel, type, value as "blob_data (decoded)"
			from checkpoint_writes
			where thread_id = 'thread_abc123'
			order by checkpoint_id, gmt_create, task_path, task_id, idx`},
		{"checkpoint_blobs", `
			select left(checkpoint_ns_hash, 7) || '…' as checkpoint_ns_hash, channel, split_part(version, '.', 1)::int as version,
				type, value as "blob_data (decoded)"
			from checkpoint_blobs
			where thread_id = 'thread_abc123'
			order by version, channel`},
		{"The execution trace of ckpt_003", `
			select task_id, channel, length(blob_data) as bytes, gmt_create
			from checkpoint_writes
			where thread_id = 'thread_abc123' and checkpoint_id = 'ckpt_003'
			order by gmt_create, idx`},
		{"Writes against blobs: what ckpt_003 was told, and the state it keeps", `
			select
				(select sum(length(blob_data)) from checkpoint_writes w
				 where w.thread_id = c.thread_id and w.checkpoint_id = c.checkpoint_id) as writes_bytes,
				sum(length(b.blob)) as blobs_bytes
			from langgraph.checkpoints c
			cross join lateral langgraph.channel_blobs(c.thread_id, c.checkpoint_ns, c.checkpoint) b
			where c.thread_id = 'thread_abc123' and c.checkpoint_id = 'ckpt_003'
			group by c.thread_id, c.checkpoint_id`},
	} {
		r.printf("\n%s\n", part.title)
		if _, err := r.query(ctx, part.sql); err != nil {
			return fmt.Errorf("%s: %w", part.title, err)
		}
	}
	return nil
}

// queries are the SELECTs that a description of these tables prints, exactly as it prints them.
//
//go:embed queries.sql
var queries string

// runQueries runs them with the analytics schema in the search path. Where one compares with a hash that the description
// abbreviates, it can find nothing, and runs again with the whole hash.
func runQueries(ctx context.Context, r *report) error {
	r.heading("7  The analyst's SELECTs, as they are printed, with search_path on the analytics schema")
	for i, block := range strings.Split(queries, "-- title: ")[1:] {
		title, sql, _ := strings.Cut(block, "\n")
		sql = strings.TrimSpace(sql)
		r.printf("\n%d. %s\n\n%s\n\n", i+1, title, indent(sql))
		if _, err := r.query(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", title, err)
		}
		for _, placeholder := range []string{"abc123...", "d41d8cd..."} {
			if !strings.Contains(sql, placeholder) {
				continue
			}
			r.printf("'%s' stands for a whole hash. With md5(''), the root namespace:\n", placeholder)
			found, err := r.query(ctx, strings.ReplaceAll(sql, "'"+placeholder+"'", "md5('')"))
			if err != nil {
				return fmt.Errorf("%s: %w", title, err)
			}
			if found == 0 {
				return fmt.Errorf("%s: found nothing with the whole hash", title)
			}
		}
	}
	return nil
}

func indent(sql string) string { return "    " + strings.ReplaceAll(sql, "\n", "\n    ") }

// query prints the result of a SELECT as a table, and says how many rows there were.
func (r *report) query(ctx context.Context, sql string) (count int, err error) {
	err = r.analyst(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, sql)
		if err != nil {
			return err
		}
		count, err = demo.Table(r.out, rows, cell)
		return err
	})
	return count, err
}

// cell shows a column's value: bytes by their length, messages as who said what.
func cell(value any) string {
	switch v := value.(type) {
	case nil:
		return "NULL"
	case []byte:
		return fmt.Sprintf("<%d bytes>", len(v))
	case time.Time:
		return v.UTC().Format("15:04:05.000000")
	case map[string]any:
		if content, ok := v["content"]; ok && v["lc_type"] != nil {
			return fmt.Sprintf("%s: %q", v["type"], content)
		}
	case []any:
		parts := make([]string, len(v))
		for i, element := range v {
			parts[i] = cell(element)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	if encoded, err := json.Marshal(value); err == nil {
		return strings.Trim(string(encoded), `"`)
	}
	return fmt.Sprint(value)
}

// analyst runs something read-only with the analytics schema in the search path.
func (r *report) analyst(ctx context.Context, do func(tx pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, r.pool, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "set local search_path to langgraph_analytics"); err != nil {
			return err
		}
		return do(tx)
	})
}
