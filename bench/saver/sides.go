package main

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"
)

// operation is what one round measures. Its fields are those of the peers' protocol.
type operation struct {
	Name        string `json:"operation"`
	Payload     string `json:"payload"`
	Thread      string `json:"thread"`
	Checkpoints int    `json:"checkpoints"`
	Connections int    `json:"connections"`
	Limit       int    `json:"limit,omitempty"`
	Writes      int    `json:"writes,omitempty"`
}

// The operations.
const (
	put          = "put"
	putWrites    = "put_writes"
	get          = "get"
	getByID      = "get_by_id"
	list         = "list"
	deltaHistory = "delta_history"
	fork         = "fork"
	copyThread   = "copy_thread"
	prune        = "prune"
	sweep        = "sweep"
	storePut     = "store_put"
	storeGet     = "store_get"
	storeSearch  = "store_search"
	storeBatch   = "store_batch"
)

// outcome is what a side says about the calls of one round.
type outcome struct {
	latencies []time.Duration
	clientCPU time.Duration // of the peer's process; 0 where it is ours
	sample    string
}

// side is a way of doing the operations.
type side interface {
	name() string
	about() about
	supports(op operation) bool
	// run calls the operation count times on op.Connections connections. What it needs is made ready by ready, which is not
	// measured.
	run(ctx context.Context, op operation, count int) (outcome, error)
	ready(ctx context.Context, op operation, count int) error
	// server is where the side's database is watched.
	server() *server
	close(ctx context.Context) error
}

// about says who a side is.
type about struct {
	Side     string            `json:"side"`
	Title    string            `json:"title"`
	Runtime  string            `json:"runtime,omitempty"`
	Versions map[string]string `json:"versions,omitempty"`
	Absent   string            `json:"absent,omitempty"`  // why it was not asked for
	Problem  string            `json:"problem,omitempty"` // why it could not be measured, though it was asked for
}

// call is one operation, made ready: do is timed, check is not.
type call struct {
	do    func(context.Context) error
	check func() error
}

// goSide does the operations in this process.
type goSide struct {
	id, title string
	watched   *server
	pool      *pgxpool.Pool
	payloads  payloads
	// prepare makes calls ready: a list for each connection, to be done in order. fresh is a name not used before.
	prepare map[string]func(ctx context.Context, op operation, fresh string, counts []int) ([][]call, error)
	calls   [][]call
}

var freshNames atomic.Int64

func (s *goSide) name() string    { return s.id }
func (s *goSide) server() *server { return s.watched }
func (s *goSide) about() about {
	return about{Side: s.id, Title: s.title, Runtime: runtime.Version()}
}

func (s *goSide) close(context.Context) error {
	s.pool.Close()
	return nil
}

func (s *goSide) supports(op operation) bool { return s.prepare[op.Name] != nil }

func (s *goSide) ready(ctx context.Context, op operation, count int) (err error) {
	counts := make([]int, op.Connections)
	for i := range count {
		counts[i%op.Connections]++
	}
	s.calls, err = s.prepare[op.Name](ctx, op, fmt.Sprintf("bench-%s-%d", op.Name, freshNames.Add(1)), counts)
	return err
}

func (s *goSide) run(ctx context.Context, _ operation, count int) (outcome, error) {
	calls := s.calls
	s.calls = nil
	times := make([][]time.Duration, len(calls))
	group, working := errgroup.WithContext(ctx)
	for worker := range calls {
		times[worker] = make([]time.Duration, 0, len(calls[worker]))
		group.Go(func() error {
			for _, c := range calls[worker] {
				start := time.Now()
				err := c.do(working)
				times[worker] = append(times[worker], time.Since(start))
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return outcome{}, err
	}
	// Only now: checks between the calls would leave the server idle, and take the processor from the other connections.
	for _, own := range calls {
		if err := checkRead(own); err != nil {
			return outcome{}, err
		}
	}
	done := outcome{latencies: make([]time.Duration, 0, count)}
	for _, own := range times {
		done.latencies = append(done.latencies, own...)
	}
	return done, nil
}

// allocations counts what one call allocates, in objects and bytes, without the checks of what it reads.
func (s *goSide) allocations(ctx context.Context, op operation, count int) (objects, bytes float64, err error) {
	op.Connections = 1
	if err := s.ready(ctx, op, count); err != nil {
		return 0, 0, err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, c := range s.calls[0] {
		if err := c.do(ctx); err != nil {
			return 0, 0, err
		}
	}
	runtime.ReadMemStats(&after)
	if err := checkRead(s.calls[0]); err != nil {
		return 0, 0, err
	}
	n := float64(count)
	return float64(after.Mallocs-before.Mallocs) / n, float64(after.TotalAlloc-before.TotalAlloc) / n, nil
}

// checkRead compares what calls have read with what was written.
func checkRead(calls []call) error {
	for _, c := range calls {
		if c.check == nil {
			continue
		}
		if err := c.check(); err != nil {
			return err
		}
	}
	return nil
}

// each makes calls that do not depend on one another.
func each(counts []int, one func(worker, i int) call) [][]call {
	calls := make([][]call, len(counts))
	for worker, count := range counts {
		for i := range count {
			calls[worker] = append(calls[worker], one(worker, i))
		}
	}
	return calls
}
