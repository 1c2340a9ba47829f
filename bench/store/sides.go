package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgweft/pgweft/bench/internal/langgraph"
	"github.com/pgweft/pgweft/migrations"
)

// side is one of the two stores that are compared: its tables and its statements, on a connection of its own.
type side struct {
	name   string
	schema string
	conn   *pgx.Conn
	// search is the statement for a vector and a namespace, filtered or not; a null vector gives the latest items.
	search func(q query, limit int) (string, []any)
	// list is the statement that lists namespaces.
	list func(c listCase) (string, []any)
}

func connect(ctx context.Context, databaseURL, searchPath string) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		return nil, err
	}
	config.RuntimeParams["application_name"] = "bench/store"
	if searchPath != "" {
		config.RuntimeParams["search_path"] = searchPath
	}
	return pgx.ConnectConfig(ctx, config)
}

func (s *side) close(ctx context.Context) {
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	_ = s.conn.Close(closing) // nothing is left to lose
}

func (s *side) table(name string) string { return pgx.Identifier{s.schema, name}.Sanitize() }

// newPgweft connects to our functions, called as package pgstore calls them.
func newPgweft(ctx context.Context, databaseURL string) (*side, error) {
	conn, err := connect(ctx, databaseURL, "")
	if err != nil {
		return nil, err
	}
	s := &side{name: "pgweft", schema: migrations.DefaultSchema, conn: conn}
	s.search = func(q query, limit int) (string, []any) {
		var filter *string
		if q.field != "" {
			text := fmt.Sprintf(`{"%s": %s}`, q.field, q.fieldJSON)
			filter = &text
		}
		return `select prefix, key, value, created_at, updated_at, score
			from ` + s.table("store_search") + `($1::text, $2::text::jsonb, $3::integer, 0, true, $4::real[])`,
			[]any{q.prefix, filter, limit, q.vector}
	}
	s.list = func(c listCase) (string, []any) {
		var types, paths []string
		for _, m := range c.Match {
			types, paths = append(types, m.Type), append(paths, m.Path)
		}
		return `select namespace from ` + s.table("store_list_namespaces") + `($1::text[], $2::text[], $3::integer, $4::integer, 0)`,
			[]any{notNull(types), notNull(paths), c.MaxDepth, c.Limit}
	}
	return s, nil
}

func notNull(texts []string) []string {
	if texts == nil {
		return []string{}
	}
	return texts
}

// newLangGraph connects to tables as LangGraph's PostgresStore makes them, and has the statements it sends, all prepared.
func newLangGraph(ctx context.Context, databaseURL string) (*side, error) {
	const schema = "langgraph_python"
	conn, err := connect(ctx, databaseURL, schema+", public")
	if err != nil {
		return nil, err
	}
	return &side{name: "LangGraph", schema: schema, conn: conn, search: langGraphSearch, list: langGraphList}, nil
}

func langGraphSearch(q query, limit int) (string, []any) {
	return langgraph.Search{Prefix: q.prefix, Vector: q.vector, Field: q.field, Equals: q.fieldJSON, Limit: limit}.Statement()
}

func langGraphList(c listCase) (string, []any) {
	var args langgraph.Arguments
	depth, again := args.Add(c.MaxDepth), args.Add(c.MaxDepth)
	var conditions []string
	for _, m := range c.Match {
		conditions = append(conditions, "prefix ~ "+args.Add(m.pattern()))
	}
	where := ""
	if len(conditions) > 0 {
		where = " where " + strings.Join(conditions, " and ")
	}
	return fmt.Sprintf(`select distinct on (truncated_prefix) truncated_prefix, prefix
		from (
			select prefix,
				case when %s::integer is not null then (
					select string_agg(part, '.' order by idx)
					from (
						select part, row_number() over () as idx
						from unnest(regexp_split_to_array(prefix, '\.')) as part
						limit %s::integer
					) subquery
				) else prefix end as truncated_prefix
			from store%s
		) as subquery
		order by truncated_prefix
		limit %s::bigint offset %s::bigint`, depth, again, where, args.Add(c.Limit), args.Add(0)), args
}
