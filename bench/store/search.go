package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgweft/pgweft/bench/internal/langgraph"
	"github.com/pgweft/pgweft/bench/internal/measuring"
)

// limit is how many rows a search asks for.
const limit = 10

// cell is one namespace size by one filter.
type cell struct {
	Namespace string      `json:"namespace"`
	Filter    filterKind  `json:"filter"`
	Matching  float64     `json:"matching_items"` // in the mean
	Wanted    float64     `json:"rows_wanted"`    // limit, or what matches where that is less
	Ours      searchStats `json:"pgweft"`
	Theirs    searchStats `json:"langgraph"`
}

// searchStats is what one side did in a cell.
type searchStats struct {
	Recall   float64 `json:"recall"`     // of the rows wanted, in the mean
	Worst    float64 `json:"recall_min"` // of one query
	Rows     float64 `json:"rows"`       // in the mean
	Complete float64 `json:"complete"`   // share of the queries that returned as many rows as wanted
	P50      float64 `json:"p50_ms"`
	P95      float64 `json:"p95_ms"`
	CPU      float64 `json:"server_cpu_ms,omitempty"` // in the mean; 0 where the server does not tell
	Indexed  float64 `json:"vector_index_scans"`      // per query
}

// String is what a cell says while the rest is being measured.
func (c cell) String() string {
	text := fmt.Sprintf("namespace %s, filter %s:", c.Namespace, c.Filter)
	for _, s := range []searchStats{c.Ours, c.Theirs} {
		text += fmt.Sprintf(" recall %.3f, rows %.1f of %.1f, p50 %.2f ms, p95 %.2f ms, cpu %.2f ms, index %.1f;",
			s.Recall, s.Rows, c.Wanted, s.P50, s.P95, s.CPU, s.Indexed)
	}
	return text + " " + c.met()
}

func measureSearch(ctx context.Context, r *results, ours, theirs *side, p *measuring.Progress) error {
	opts := r.Options
	p.Stage("make %d vectors", opts.Items)
	d := newDataset(opts.Seed, opts.Items, opts.Dims)
	what := fmt.Sprintf("%d items of %d dimensions, seed %d", opts.Items, opts.Dims, opts.Seed)
	if err := once(ctx, ours, what, func() error { return loadSearch(ctx, ours, theirs, d, p) }); err != nil {
		return err
	}
	stream := uint64(0)
	for _, l := range levels {
		for _, kind := range filterKinds {
			stream++
			p.Stage("search: namespace %s, filter %s", l.Name, kind)
			rng := rand.New(rand.NewPCG(opts.Seed, stream)) //nolint:gosec // the same queries for the same seed are the point
			c, err := measureCell(ctx, ours, theirs, d, l, kind, opts.Queries, rng, p)
			if err != nil {
				return fmt.Errorf("namespace %s, filter %s: %w", l.Name, kind, err)
			}
			r.Search = append(r.Search, c)
			p.Note(c.String())
		}
	}
	return nil
}

// measureCell sends the same queries to both sides in turns.
func measureCell(ctx context.Context, ours, theirs *side, d *dataset, l level, kind filterKind, queries int, rng *rand.Rand, p *measuring.Progress,
) (cell, error) {
	c := cell{Namespace: l.Name, Filter: kind}
	runs := []*cellRun{{side: ours}, {side: theirs}}
	for round, inTurn := range measuring.Turns(p, measuring.WarmUps+queries, runs) {
		q := d.query(rng, l, kind, round)
		counts := round >= measuring.WarmUps
		for _, run := range inTurn {
			if round == measuring.WarmUps {
				if err := run.begin(ctx); err != nil {
					return c, err
				}
			}
			if err := run.query(ctx, d, q, counts); err != nil {
				return c, fmt.Errorf("%s: %w", run.side.name, err)
			}
		}
		if counts {
			c.Matching += float64(q.matching) / float64(queries)
			c.Wanted += float64(len(q.nearest)) / float64(queries)
		}
	}
	for _, run := range runs {
		stats, err := run.end(ctx)
		if err != nil {
			return c, err
		}
		if run.side == ours {
			c.Ours = stats
		} else {
			c.Theirs = stats
		}
	}
	return c, nil
}

// cellRun is one side at work on a cell.
type cellRun struct {
	side     *side
	scans    int64
	cpu      time.Duration
	times    []time.Duration
	recalls  []float64
	rows     int
	complete int
}

func (r *cellRun) begin(ctx context.Context) (err error) {
	if r.scans, err = r.side.vectorIndexScans(ctx); err != nil {
		return err
	}
	r.cpu, err = r.side.serverCPU(ctx)
	return err
}

func (r *cellRun) query(ctx context.Context, d *dataset, q query, counts bool) error {
	sql, args := r.side.search(q, limit)
	start := time.Now()
	rows, err := r.side.conn.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[langgraph.Found])
	took := time.Since(start)
	if err != nil || !counts {
		return err
	}
	items := make([]int, len(found))
	for i, f := range found {
		if items[i], err = itemOf(f.Key); err != nil {
			return err
		}
	}
	good, err := d.found(q, items)
	if err != nil {
		return err
	}
	r.times = append(r.times, took)
	r.recalls = append(r.recalls, float64(min(good, len(q.nearest)))/float64(len(q.nearest)))
	r.rows += len(found)
	if len(found) == len(q.nearest) {
		r.complete++
	}
	return nil
}

func (r *cellRun) end(ctx context.Context) (searchStats, error) {
	cpu, err := r.side.serverCPU(ctx)
	if err != nil {
		return searchStats{}, err
	}
	scans, err := r.side.vectorIndexScans(ctx)
	if err != nil {
		return searchStats{}, err
	}
	n := float64(len(r.times))
	s := searchStats{
		Worst: slices.Min(r.recalls), Rows: float64(r.rows) / n, Complete: float64(r.complete) / n,
		P50: measuring.Percentile(r.times, 50), P95: measuring.Percentile(r.times, 95),
		CPU: float64((cpu - r.cpu).Microseconds()) / 1000 / n, Indexed: float64(scans-r.scans) / n,
	}
	for _, recall := range r.recalls {
		s.Recall += recall / n
	}
	return s, nil
}

// vectorIndexScans counts how often the vector index was used.
func (s *side) vectorIndexScans(ctx context.Context) (int64, error) {
	if _, err := s.conn.Exec(ctx, "select pg_stat_force_next_flush()"); err != nil {
		return 0, err
	}
	var scans int64
	err := s.conn.QueryRow(ctx, `select coalesce(sum(u.idx_scan), 0)::bigint
		from pg_stat_user_indexes u
		join pg_class c on c.oid = u.indexrelid
		join pg_am a on a.oid = c.relam
		where u.schemaname = $1 and a.amname = 'hnsw'`, s.schema).Scan(&scans)
	return scans, err
}

// serverCPU is the processor time of the connection's server process; 0 where the server does not tell.
func (s *side) serverCPU(ctx context.Context) (time.Duration, error) {
	times, err := measuring.ServerCPU(ctx, s.conn)
	return times[int32(s.conn.PgConn().PID())], err //nolint:gosec // the ids of processes are 32 bits with a sign
}
