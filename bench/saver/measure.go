package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pgweft/pgweft/bench/internal/measuring"
)

// benchmarkCase is one operation that sides are compared at.
type benchmarkCase struct {
	Name       string    `json:"name"`
	Group      string    `json:"group"`
	Operation  operation `json:"operation"`
	Durability string    `json:"synchronous_commit"`
	Database   int       `json:"database_checkpoints"`
	Results    []result  `json:"results"`

	// allModes measures every mode of the peers, not the first alone.
	allModes bool
	// goOnly leaves the peers out.
	goOnly bool
	// manyRounds is for what differs most from round to round and decides a target.
	manyRounds bool
	// count is how many operations a round has; 0 for as many as fit in its time.
	count int
	// sample is what peers have to say they read or wrote.
	sample string
}

// result is what one side did in a case. What could not be measured is null.
type result struct {
	Side        string   `json:"side"`
	Problem     string   `json:"problem,omitempty"`
	Operations  int      `json:"operations_per_round,omitempty"`
	PerSecond   float64  `json:"per_second,omitempty"` // the median of the rounds
	Slowest     float64  `json:"per_second_min,omitempty"`
	Fastest     float64  `json:"per_second_max,omitempty"`
	P50         float64  `json:"p50_ms,omitempty"`
	P95         float64  `json:"p95_ms,omitempty"`
	P99         float64  `json:"p99_ms,omitempty"`
	ServerCPU   *float64 `json:"server_cpu_us"` // per operation, the median of the rounds
	ClientCPU   *float64 `json:"client_cpu_us"` // of the peer's process
	WAL         float64  `json:"wal_bytes"`     // per operation, the median of the rounds
	Disk        *float64 `json:"disk_bytes"`    // per operation, over all rounds; only of operations that put
	Allocations *float64 `json:"client_allocations"`
	Allocated   *float64 `json:"client_allocated_bytes"`
}

// measurer runs cases.
type measurer struct {
	rounds    int
	roundTime time.Duration
	warmUps   int
	progress  *measuring.Progress
}

// manyTimes is how many times more rounds a case with many has.
const manyTimes = 3

// maxOperations bounds a round, so that fast operations do not fill the memory with what is made ready for them.
const maxOperations = 3000

// sideRun is one side at work on a case.
type sideRun struct {
	side
	count     int
	latencies []time.Duration
	perSecond []float64
	serverCPU []float64
	clientCPU []float64
	wal       []float64
	disk      int64
	result    result
}

// measure runs the rounds of a case in turns. A side that fails is out of the case; the error is in its result.
func (m *measurer) measure(ctx context.Context, c *benchmarkCase, sides []side) error {
	m.progress.Stage("%s", c.Name)
	var runs []*sideRun
	for _, s := range sides {
		run := &sideRun{side: s, result: result{Side: s.name()}}
		if err := run.begin(ctx, c, m); err != nil {
			if err := run.failed(ctx, err); err != nil {
				return err
			}
		}
		runs = append(runs, run)
	}
	rounds := m.rounds
	if c.manyRounds {
		rounds *= manyTimes
	}
	for _, inTurn := range measuring.Turns(m.progress, rounds, runs) {
		for _, run := range inTurn {
			if run.result.Problem != "" {
				continue
			}
			if err := run.round(ctx, c); err != nil {
				if err := run.failed(ctx, err); err != nil {
					return err
				}
			}
		}
	}
	for _, run := range runs {
		c.Results = append(c.Results, run.end(c))
	}
	return nil
}

// failed notes why a side is out. Our own sides have to work, and an interrupt ends everything.
func (r *sideRun) failed(ctx context.Context, err error) error {
	_, isPeer := r.side.(*peerSide)
	if ctx.Err() != nil || !isPeer {
		return fmt.Errorf("%s: %w", r.name(), errors.Join(ctx.Err(), err))
	}
	r.result.Problem = err.Error()
	return nil
}

// begin warms up and finds out how many operations a round has.
func (r *sideRun) begin(ctx context.Context, c *benchmarkCase, m *measurer) error {
	op := c.Operation
	r.count = c.count
	warm := m.warmUps * op.Connections
	if r.count > 0 {
		warm = min(warm, r.count)
	} else {
		trial, err := r.call(ctx, op, op.Connections)
		if err != nil {
			return err
		}
		// What takes long needs no settled plans.
		warm = min(warm, max(op.Connections, int(m.roundTime/slices.Max(trial.latencies))*op.Connections))
	}
	trial, err := r.call(ctx, op, warm)
	if err != nil {
		return err
	}
	if r.count == 0 {
		slices.Sort(trial.latencies)
		median := trial.latencies[len(trial.latencies)/2]
		r.count = op.Connections * min(maxOperations/op.Connections, max(2, int(m.roundTime/max(median, 1))))
	}
	return r.allocate(ctx, c)
}

func (r *sideRun) call(ctx context.Context, op operation, count int) (outcome, error) {
	if err := r.ready(ctx, op, count); err != nil {
		return outcome{}, err
	}
	return r.run(ctx, op, count)
}

func (r *sideRun) allocate(ctx context.Context, c *benchmarkCase) error {
	counted, ok := r.side.(interface {
		allocations(ctx context.Context, op operation, count int) (objects, bytes float64, err error)
	})
	if !ok {
		return nil
	}
	objects, bytes, err := counted.allocations(ctx, c.Operation, min(r.count, 10))
	r.result.Allocations, r.result.Allocated = &objects, &bytes
	return err
}

func (r *sideRun) round(ctx context.Context, c *benchmarkCase) error {
	op := c.Operation
	if err := r.ready(ctx, op, r.count); err != nil {
		return err
	}
	measuresDisk := measuresDisk(op)
	before, err := r.server().read(ctx, measuresDisk)
	if err != nil {
		return err
	}
	done, err := r.run(ctx, op, r.count)
	if err != nil {
		return err
	}
	after, err := r.server().read(ctx, measuresDisk)
	if err != nil {
		return err
	}
	if _, isPeer := r.side.(*peerSide); isPeer && done.sample != c.sample {
		return fmt.Errorf("%w: %q, not %q", errRead, done.sample, c.sample)
	}
	r.add(op, done, before, after)
	return nil
}

func measuresDisk(op operation) bool {
	switch op.Name {
	case put, putWrites, storePut, copyThread, fork:
		return true
	}
	return false
}

func (r *sideRun) add(op operation, done outcome, before, after usage) {
	n := float64(len(done.latencies))
	var total time.Duration
	for _, latency := range done.latencies {
		total += latency
	}
	r.latencies = append(r.latencies, done.latencies...)
	// By Little's law, which leaves out what a peer does between the calls.
	r.perSecond = append(r.perSecond, float64(op.Connections)*n/total.Seconds())
	if cpu, known := cpuBetween(before, after); known {
		r.serverCPU = append(r.serverCPU, float64(cpu.Nanoseconds())/1000/n)
	}
	if done.clientCPU > 0 {
		r.clientCPU = append(r.clientCPU, float64(done.clientCPU.Nanoseconds())/1000/n)
	}
	r.wal = append(r.wal, float64(after.wal-before.wal)/n)
	r.disk += after.disk - before.disk
}

func (r *sideRun) end(c *benchmarkCase) result {
	if r.result.Problem != "" {
		return result{Side: r.name(), Problem: r.result.Problem}
	}
	res := r.result
	res.Operations = r.count
	res.PerSecond, res.Slowest, res.Fastest = median(r.perSecond), slices.Min(r.perSecond), slices.Max(r.perSecond)
	res.P50, res.P95, res.P99 = measuring.Percentile(r.latencies, 50), measuring.Percentile(r.latencies, 95), measuring.Percentile(r.latencies, 99)
	res.ServerCPU, res.ClientCPU = medianOf(r.serverCPU), medianOf(r.clientCPU)
	res.WAL = median(r.wal)
	if measuresDisk(c.Operation) {
		disk := float64(r.disk) / float64(len(r.latencies))
		res.Disk = &disk
	}
	return res
}

// medianOf is nil where there is nothing.
func medianOf(values []float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	m := median(values)
	return &m
}

// median is the middle value, or the mean of the two in the middle.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
