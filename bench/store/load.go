package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"golang.org/x/sync/errgroup"

	"github.com/pgweft/pgweft/bench/internal/langgraph"
	"github.com/pgweft/pgweft/bench/internal/measuring"
)

// loadSearch fills the tables of both sides with the same rows in the same order, then builds the same index on both.
func loadSearch(ctx context.Context, ours, theirs *side, d *dataset, p *measuring.Progress) error {
	if _, err := ours.conn.Exec(ctx, "select "+ours.table("enable_vector_index")+"($1)", d.dims); err != nil {
		return fmt.Errorf("enable vector search: %w", err)
	}
	definition, err := dropVectorIndex(ctx, ours)
	if err != nil {
		return err
	}
	if err := copyItems(ctx, ours, d, p); err != nil {
		return err
	}
	if err := copyVectors(ctx, ours, d, p); err != nil {
		return err
	}
	p.Stage("copy the rows to LangGraph's tables")
	// The index is built when the rows are there.
	if err := makeLangGraphTables(ctx, theirs, langgraph.VectorTable(d.dims)); err != nil {
		return err
	}
	// Items before their vectors, which refer to them.
	for _, copied := range [][2]string{
		{"store", "prefix, key, value, created_at, updated_at"},
		{"store_vectors", "prefix, key, field_name, embedding"},
	} {
		if err := copyRows(ctx, ours, theirs, copied[0], copied[1]); err != nil {
			return err
		}
	}
	if err := buildIndexes(ctx, ours, theirs, definition, d.items, p); err != nil {
		return err
	}
	return vacuum(ctx, []*side{ours, theirs}, "store", "store_vectors")
}

// once loads a database unless an earlier run with the same options did.
func once(ctx context.Context, s *side, what string, load func() error) error {
	const marker = "public.bench_store_loaded"
	var loaded bool
	if err := s.conn.QueryRow(ctx, "select to_regclass($1) is not null", marker).Scan(&loaded); err != nil {
		return err
	}
	if !loaded {
		if err := load(); err != nil {
			return err
		}
		_, err := s.conn.Exec(ctx, "create table "+marker+" as select "+quoteLiteral(what)+"::text as what")
		return err
	}
	var was string
	if err := s.conn.QueryRow(ctx, "select what from "+marker).Scan(&was); err != nil {
		return err
	}
	if was != what {
		return fmt.Errorf("the database holds %s, not %s: use another one, or the same options", was, what)
	}
	return nil
}

func quoteLiteral(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

func vacuum(ctx context.Context, sides []*side, tables ...string) error {
	for _, s := range sides {
		for _, table := range tables {
			if _, err := s.conn.Exec(ctx, "vacuum (analyze) "+s.table(table)); err != nil {
				return err
			}
		}
	}
	return nil
}

// dropVectorIndex gives the statement that makes the index again, as enable_vector_index made it.
func dropVectorIndex(ctx context.Context, s *side) (string, error) {
	var definition, name string
	err := s.conn.QueryRow(ctx, `select pg_get_indexdef(i.indexrelid), i.indexrelid::regclass::text
		from pg_index i
		join pg_class c on c.oid = i.indexrelid
		join pg_am a on a.oid = c.relam
		where i.indrelid = $1::text::regclass and a.amname = 'hnsw'`, s.table("store_vectors")).Scan(&definition, &name)
	if err != nil {
		return "", fmt.Errorf("find the vector index: %w", err)
	}
	_, err = s.conn.Exec(ctx, "drop index "+name)
	return definition, err
}

func copyItems(ctx context.Context, s *side, d *dataset, p *measuring.Progress) error {
	p.Stage("load items")
	start := time.Now().UTC().Truncate(time.Second).Add(-time.Duration(d.items) * time.Second)
	_, err := s.conn.CopyFrom(ctx, pgx.Identifier{s.schema, "store"}, []string{"prefix", "key", "value", "created_at", "updated_at"},
		pgx.CopyFromSlice(d.items, func(i int) ([]any, error) {
			p.Step(i, d.items)
			item := d.shuffled[i]
			at := start.Add(time.Duration(i) * time.Second)
			return []any{d.prefix(item), d.key(item), d.value(item), at, at}, nil
		}))
	return err
}

func copyVectors(ctx context.Context, s *side, d *dataset, p *measuring.Progress) error {
	p.Stage("load vectors")
	var oid uint32
	if err := s.conn.QueryRow(ctx, "select 'vector'::regtype::oid").Scan(&oid); err != nil {
		return err
	}
	// Bytes that go to the server as they are.
	s.conn.TypeMap().RegisterType(&pgtype.Type{Name: "vector", OID: oid, Codec: pgtype.ByteaCodec{}})
	_, err := s.conn.CopyFrom(ctx, pgx.Identifier{s.schema, "store_vectors"}, []string{"prefix", "key", "field_name", "embedding"},
		pgx.CopyFromSlice(d.items, func(i int) ([]any, error) {
			p.Step(i, d.items)
			item := d.shuffled[i]
			return []any{d.prefix(item), d.key(item), "$", binaryVector(d.vector(item))}, nil
		}))
	return err
}

// binaryVector is a vector as pgvector's receive function reads it: the dimension, two bytes of zero, the numbers.
func binaryVector(vector []float32) []byte {
	b := make([]byte, 0, 4+4*len(vector))
	b = binary.BigEndian.AppendUint16(b, uint16(len(vector))) //nolint:gosec // pgvector has at most 16,000 dimensions
	b = append(b, 0, 0)
	for _, x := range vector {
		b = binary.BigEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// makeLangGraphTables makes the schema that the connection looks for tables in first.
func makeLangGraphTables(ctx context.Context, s *side, more string) error {
	_, err := s.conn.Exec(ctx, "create schema "+s.schema+";"+langgraph.StoreTables+more)
	return err
}

func copyRows(ctx context.Context, from, to *side, table, columns string) error {
	_, err := to.conn.Exec(ctx, fmt.Sprintf("insert into %s (%s) select %s from %s", to.table(table), columns, columns, from.table(table)))
	return err
}

// buildIndexes builds both at a time, each by one process: more would need shared memory that containers lack.
func buildIndexes(ctx context.Context, ours, theirs *side, definition string, items int, p *measuring.Progress) error {
	p.Stage("build both vector indexes, items indexed")
	watcher, err := pgx.ConnectConfig(ctx, ours.conn.Config())
	if err != nil {
		return err
	}
	watching, stop := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		watchIndexes(watching, watcher, 2*items, p)
	}()
	defer func() {
		stop()
		<-watched
		_ = watcher.Close(context.WithoutCancel(ctx))
	}()

	group, building := errgroup.WithContext(ctx)
	group.Go(func() error { return buildIndex(building, ours, definition) })
	group.Go(func() error { return buildIndex(building, theirs, langgraph.VectorIndex) })
	return group.Wait()
}

func buildIndex(ctx context.Context, s *side, definition string) error {
	for _, sql := range []string{
		"set maintenance_work_mem = '1GB'", "set max_parallel_maintenance_workers = 0", definition,
		"reset maintenance_work_mem", "reset max_parallel_maintenance_workers",
	} {
		if _, err := s.conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("build the vector index of %s: %w", s.name, err)
		}
	}
	return nil
}

// watchIndexes tells how far building the indexes is, until ctx ends.
func watchIndexes(ctx context.Context, conn *pgx.Conn, of int, p *measuring.Progress) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		var done int
		if err := conn.QueryRow(ctx, "select coalesce(sum(tuples_done), 0)::int from pg_stat_progress_create_index").Scan(&done); err != nil {
			return
		}
		p.Step(done, of)
	}
}
