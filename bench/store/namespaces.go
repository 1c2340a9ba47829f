package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgweft/pgweft/bench/internal/measuring"
)

// The items of this part: users of a tenant have itemsOfUser items each, in as many kinds of memory as userKinds names.
const (
	tenants     = 100
	itemsOfUser = 10
)

var userKinds = []string{"preferences", "facts"}

// match is a condition of list_namespaces: labels joined by ".", "*" being any one.
type match struct {
	Type string `json:"type"` // prefix or suffix
	Path string `json:"path"`
}

// pattern is the regular expression that LangGraph makes of the condition.
func (m match) pattern() string {
	var labels []string
	for label := range strings.SplitSeq(m.Path, ".") {
		if label == "*" {
			label = "[^.]+"
		}
		labels = append(labels, strings.ReplaceAll(label, "-", `\-`)) // no label of this benchmark has more to escape
	}
	path := strings.Join(labels, `\.`)
	if m.Type == "suffix" {
		return `(^|\.)` + path + `\Z`
	}
	return "^" + path + `(\.|\Z)`
}

// listCase is a call of list_namespaces.
type listCase struct {
	Name     string
	Match    []match
	MaxDepth *int
	Limit    int
}

var listCases = []listCase{
	{Name: "list_namespaces, nothing given", Limit: 100},
	{Name: "list_namespaces, depth 2", MaxDepth: new(2), Limit: 100},
	{Name: "list_namespaces, prefix of a tenant (1 %)", Match: []match{{"prefix", "memories.tenant-42"}}, Limit: 100},
	{Name: "list_namespaces, prefix of a tenant, depth 3", Match: []match{{"prefix", "memories.tenant-42"}}, MaxDepth: new(3), Limit: 100},
	{Name: "list_namespaces, prefix of a user", Match: []match{{"prefix", "memories.tenant-42.user-7"}}, Limit: 100},
	{Name: "list_namespaces, prefix with a wildcard", Match: []match{{"prefix", "memories.*.user-7"}}, Limit: 100},
	{Name: "list_namespaces, tenant and suffix", Match: []match{{"prefix", "memories.tenant-42"}, {"suffix", "facts"}}, Limit: 100},
	{Name: "list_namespaces, suffix", Match: []match{{"suffix", "user-7.facts"}}, Limit: 100},
}

// scanCase is a search without a query: the latest items of a namespace.
type scanCase struct {
	Name   string
	Prefix string
}

var scanCases = []scanCase{
	{"search without query, user", "memories.tenant-42.user-7"},
	{"search without query, tenant (1 %)", "memories.tenant-42"},
	{"search without query, everything", "memories"},
}

// namespaceCase is one row of the results.
type namespaceCase struct {
	Name   string    `json:"name"`
	Rows   int       `json:"rows"`
	Ours   readStats `json:"pgweft"`
	Theirs readStats `json:"langgraph"`
}

// readStats is what one side needed.
type readStats struct {
	P50     float64 `json:"p50_ms"`
	P95     float64 `json:"p95_ms"`
	Buffers int64   `json:"shared_buffers"` // pages hit or read by one call, with its plan made before
}

func measureNamespaces(ctx context.Context, r *results, ours, theirs *side, p *measuring.Progress) error {
	items := r.Options.NamespaceItems
	what := fmt.Sprintf("%d items in namespaces", items)
	if err := once(ctx, ours, what, func() error { return loadNamespaces(ctx, ours, theirs, items, p) }); err != nil {
		return err
	}
	if err := ours.conn.QueryRow(ctx, "select count(distinct prefix) from "+ours.table("store")).Scan(&r.NamespaceCount); err != nil {
		return err
	}
	for _, c := range listCases {
		p.Stage("%s", c.Name)
		call := func(s *side) (string, []any) { return s.list(c) }
		if err := r.measureNamespaceCase(ctx, ours, theirs, c.Name, call, p); err != nil {
			return err
		}
	}
	for _, c := range scanCases {
		p.Stage("%s", c.Name)
		call := func(s *side) (string, []any) { return s.search(query{prefix: c.Prefix}, limit) }
		if err := r.measureNamespaceCase(ctx, ours, theirs, c.Name, call, p); err != nil {
			return err
		}
	}
	return nil
}

func loadNamespaces(ctx context.Context, ours, theirs *side, items int, p *measuring.Progress) error {
	p.Stage("load %d items in namespaces", items)
	start := time.Now().UTC().Truncate(time.Second).Add(-time.Duration(items) * time.Second)
	_, err := ours.conn.CopyFrom(ctx, pgx.Identifier{ours.schema, "store"}, []string{"prefix", "key", "value", "created_at", "updated_at"},
		pgx.CopyFromSlice(items, func(i int) ([]any, error) {
			p.Step(i, items)
			at := start.Add(time.Duration(i) * time.Second)
			// Every user in turn, as they would write.
			user := i / tenants % (items / tenants / itemsOfUser)
			prefix := fmt.Sprintf("memories.tenant-%d.user-%d.%s", i%tenants, user, userKinds[i*itemsOfUser/items%len(userKinds)])
			return []any{prefix, fmt.Sprintf("memory-%06d", i), map[string]any{"text": strings.Repeat("What the user said. ", 10)}, at, at}, nil
		}))
	if err != nil {
		return err
	}
	if err := makeLangGraphTables(ctx, theirs, ""); err != nil {
		return err
	}
	if err := copyRows(ctx, ours, theirs, "store", "prefix, key, value, created_at, updated_at"); err != nil {
		return err
	}
	return vacuum(ctx, []*side{ours, theirs}, "store")
}

// namespaceRun is one side at work on a case.
type namespaceRun struct {
	side   *side
	sql    string
	args   []any
	times  []time.Duration
	answer []string
}

func (r *results) measureNamespaceCase(ctx context.Context, ours, theirs *side, name string, call func(*side) (string, []any), p *measuring.Progress,
) error {
	runs := []*namespaceRun{{side: ours}, {side: theirs}}
	for _, run := range runs {
		run.sql, run.args = call(run.side)
	}
	for round, inTurn := range measuring.Turns(p, measuring.WarmUps+r.Options.NamespaceRuns, runs) {
		for _, run := range inTurn {
			if err := run.call(ctx, round >= measuring.WarmUps); err != nil {
				return fmt.Errorf("%s: %s: %w", name, run.side.name, err)
			}
		}
	}
	for _, run := range runs {
		slices.Sort(run.answer) // LangGraph sorts by the collation of the database
	}
	if !slices.Equal(runs[0].answer, runs[1].answer) {
		return fmt.Errorf("%s: the answers differ: %s and %s", name, runs[0].answer, runs[1].answer)
	}
	c := namespaceCase{Name: name, Rows: len(runs[0].answer)}
	for i, stats := range []*readStats{&c.Ours, &c.Theirs} {
		var err error
		if *stats, err = runs[i].end(ctx); err != nil {
			return fmt.Errorf("%s: %s: %w", name, runs[i].side.name, err)
		}
	}
	r.Namespaces = append(r.Namespaces, c)
	return nil
}

func (r *namespaceRun) call(ctx context.Context, counts bool) (err error) {
	start := time.Now()
	r.answer, err = firstColumns(ctx, r.side.conn, r.sql, r.args)
	if counts {
		r.times = append(r.times, time.Since(start))
	}
	return err
}

func (r *namespaceRun) end(ctx context.Context) (readStats, error) {
	buffers, err := sharedBuffers(ctx, r.side.conn, r.sql, r.args)
	return readStats{P50: measuring.Percentile(r.times, 50), P95: measuring.Percentile(r.times, 95), Buffers: buffers}, err
}

// firstColumns are the values of the first columns joined: the namespace, or the prefix and the key of an item.
func firstColumns(ctx context.Context, conn *pgx.Conn, sql string, args []any) ([]string, error) {
	rows, err := conn.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
		values, err := row.Values()
		if err != nil {
			return "", err
		}
		if len(values) > 2 {
			return fmt.Sprint(values[0], " ", values[1]), nil
		}
		return fmt.Sprint(values[0]), nil
	})
}

// sharedBuffers is how many pages of the shared buffers a statement looks at or reads.
func sharedBuffers(ctx context.Context, conn *pgx.Conn, sql string, args []any) (int64, error) {
	var text []byte
	if err := conn.QueryRow(ctx, "explain (analyze, buffers, timing off, format json) "+sql, args...).Scan(&text); err != nil {
		return 0, err
	}
	var plans []struct {
		Plan struct {
			Hit  int64 `json:"Shared Hit Blocks"`
			Read int64 `json:"Shared Read Blocks"`
		}
	}
	if err := json.Unmarshal(text, &plans); err != nil {
		return 0, err
	}
	return plans[0].Plan.Hit + plans[0].Plan.Read, nil
}
