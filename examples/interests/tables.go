package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgweft/pgweft/examples/internal/demo"
)

// showTables prints what anyone finds in the database with SQL.
func showTables(ctx context.Context, pool *pgxpool.Pool, out io.Writer) error {
	demo.Heading(out, "3  The rows as they lie in the tables")
	for _, part := range []struct{ title, sql string }{
		{"store: an item a row, its namespace joined with dots", `
			select prefix, key, value, created_at, updated_at, expires_at
			from langgraph.store
			order by prefix, key`},
		{"store_vectors: a vector for each embedded text", `
			select prefix, key, field_name, vector_dims(embedding) as dims, left(embedding::text, 36) || '…' as embedding,
				left(encode(text_hash, 'hex'), 8) || '…' as text_hash
			from langgraph.store_vectors
			order by prefix, key, field_name`},
		{"The namespaces that have items", `
			select namespace
			from langgraph.store_list_namespaces()`},
		{"Filters need no embedder", `
			select prefix, key, value ->> 'text' as text
			from langgraph.store_search('', p_filter => '{"text": {"$gte": "S", "$lt": "U"}}')`},
	} {
		fmt.Fprintf(out, "\n%s\n", part.title)
		rows, err := pool.Query(ctx, part.sql)
		if err != nil {
			return fmt.Errorf("%s: %w", part.title, err)
		}
		if _, err := demo.Table(out, rows, cell); err != nil {
			return fmt.Errorf("%s: %w", part.title, err)
		}
	}
	return nil
}

// cell shows a column's value.
func cell(value any) string {
	switch v := value.(type) {
	case nil:
		return "NULL"
	case string:
		return v
	case time.Time:
		return v.UTC().Format("15:04:05.000000")
	}
	if encoded, err := json.Marshal(value); err == nil {
		return strings.TrimSpace(string(encoded))
	}
	return fmt.Sprint(value)
}
