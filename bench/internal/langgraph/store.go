// Package langgraph has the tables and the query of LangGraph's PostgresStore that benchmarks compare ours with, as of
// langgraph-checkpoint-postgres 3.2. Its tables are in whichever schema comes first in the search_path.
package langgraph

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// StoreTables has the columns, keys and indexes that LangGraph's migrations make for items.
const StoreTables = `
	create table store (
		prefix text not null,
		key text not null,
		value jsonb not null,
		created_at timestamptz default current_timestamp,
		updated_at timestamptz default current_timestamp,
		expires_at timestamptz,
		ttl_minutes integer,
		primary key (prefix, key)
	);
	create index store_prefix_idx on store (prefix text_pattern_ops);
	create index idx_store_expires_at on store (expires_at) where expires_at is not null;`

// VectorTable is the table of the items' vectors, without the index.
func VectorTable(dims int) string {
	return fmt.Sprintf(`
	create table store_vectors (
		prefix text not null,
		key text not null,
		field_name text not null,
		embedding vector(%d),
		created_at timestamptz default current_timestamp,
		updated_at timestamptz default current_timestamp,
		primary key (prefix, key, field_name),
		foreign key (prefix, key) references store (prefix, key) on delete cascade
	);`, dims)
}

// VectorIndex makes the index of the vectors, with LangGraph's and pgvector's defaults.
const VectorIndex = `create index store_vectors_embedding_idx on store_vectors using hnsw (embedding vector_cosine_ops)`

// Search is a search of a namespace and all below it.
type Search struct {
	Prefix string
	Vector []float32 // nil for the latest items
	Field  string    // the one field that is filtered by; empty for none
	Equals string    // what it equals, as JSON
	Limit  int
}

// Found is a row that a search returns; Score is nil where there was no vector. Our store_search has the same columns.
type Found struct {
	Prefix    string
	Key       string
	Value     json.RawMessage
	CreatedAt time.Time
	UpdatedAt time.Time
	Score     *float64
}

// Arguments numbers the placeholders of a statement.
type Arguments []any

// Add adds a value and returns its placeholder.
func (a *Arguments) Add(value any) string {
	*a = append(*a, value)
	return fmt.Sprintf("$%d", len(*a))
}

// Statement is what LangGraph sends, and its arguments: the vector bound twice, 2 * limit + 1 candidates, and the refreshing of
// the times to live.
func (s Search) Statement() (string, []any) {
	var args Arguments
	found := s.latest
	if s.Vector != nil {
		found = s.nearest
	}
	return `with search_results as (` + found(&args) + `), updated as (
			update store s
			set expires_at = now() + (s.ttl_minutes || ' minutes')::interval
			from search_results sr
			where s.prefix = sr.prefix and s.key = sr.key and s.ttl_minutes is not null
		)
		select sr.prefix, sr.key, sr.value, sr.created_at, sr.updated_at, sr.score
		from search_results sr`, args
}

func (s Search) conditions(args *Arguments) string {
	where := fmt.Sprintf(`(store.prefix = %s or store.prefix like %s escape '\')`, args.Add(s.Prefix), args.Add(escapeLike(s.Prefix)+".%"))
	if s.Field != "" {
		where += fmt.Sprintf(" and value -> %s::text = %s::jsonb", args.Add(s.Field), args.Add(s.Equals))
	}
	return where
}

func (s Search) latest(args *Arguments) string {
	return fmt.Sprintf(`select store.prefix, store.key, store.value, store.created_at, store.updated_at, null as score
			from store
			where %s
			order by store.updated_at desc
			limit %s::bigint offset %s::bigint`, s.conditions(args), args.Add(s.Limit), args.Add(0))
}

func (s Search) nearest(args *Arguments) string {
	return fmt.Sprintf(`with scored as (
				select store.prefix, store.key, store.value, store.created_at, store.updated_at,
					sv.embedding <=> %s::float8[]::vector as neg_score
				from store
				join store_vectors sv on store.prefix = sv.prefix and store.key = sv.key
				where %s
				order by sv.embedding <=> %s::float8[]::vector asc
				limit %s::bigint
			)
			select uniq.prefix, uniq.key, uniq.value, uniq.created_at, uniq.updated_at, 1 - uniq.neg_score as score
			from (
				select distinct on (scored.prefix, scored.key)
					scored.prefix, scored.key, scored.value, scored.created_at, scored.updated_at, scored.neg_score
				from scored
				order by scored.prefix, scored.key, scored.neg_score asc
			) uniq
			order by score desc
			limit %s::bigint offset %s::bigint`,
		args.Add(s.Vector), s.conditions(args), args.Add(s.Vector), args.Add(2*s.Limit+1), args.Add(s.Limit), args.Add(0))
}

func escapeLike(text string) string {
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text)
}
