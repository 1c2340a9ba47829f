package pgstore

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgweft/pgweft/internal/periodic"
	"github.com/pgweft/pgweft/store"
)

// DefaultSweepBatchSize is how many items Sweep removes at a time if SweepOptions do not say.
const DefaultSweepBatchSize = 1000

// SweepOptions say how Sweep works. The zero value takes every default.
type SweepOptions struct {
	// BatchSize is how many items one transaction removes at most; 0 means DefaultSweepBatchSize.
	BatchSize int
}

// Sweep removes expired items, by store_sweep, and says how many. Nobody reads them any more; this gives their space back. It
// commits in batches (inside a transaction, that decides), and leaves out what someone else is changing, also another
// sweep. Threads and retention policies are left to Sweep of package pgsaver, which sweeps everything.
func (s *Store) Sweep(ctx context.Context, options SweepOptions) (removed int64, err error) {
	if s.misconfigured != nil {
		return 0, s.misconfigured
	}
	if options.BatchSize == 0 {
		options.BatchSize = DefaultSweepBatchSize
	}
	if err := s.schema.Ready(ctx, s.db); err != nil {
		return 0, err
	}
	for {
		rows, err := s.db.Query(ctx, s.sql.sweep, page(options.BatchSize, 0))
		if err != nil {
			return removed, wrapError("sweep", err)
		}
		n, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[int64])
		if err != nil {
			return removed, wrapError("sweep", err)
		}
		removed += n
		if n < int64(options.BatchSize) {
			return removed, nil
		}
	}
}

// Sweeper sweeps at intervals, in a goroutine of its own, until it is closed.
type Sweeper struct{ runner *periodic.Runner }

// StartSweeper sweeps at once and then every interval. Any number of processes may do so. A sweep that fails does not end
// the Sweeper; onError, if it is not nil, hears of it, in the Sweeper's goroutine. The interval has to be positive
// (store.ErrInvalidArgument).
func (s *Store) StartSweeper(interval time.Duration, options SweepOptions, onError func(error)) (*Sweeper, error) {
	if interval <= 0 {
		return nil, fmt.Errorf("pgstore: start sweeper: %w: the interval is %s, and has to be positive",
			store.ErrInvalidArgument, interval)
	}
	sweep := func(ctx context.Context) error {
		_, err := s.Sweep(ctx, options)
		return err
	}
	return &Sweeper{runner: periodic.Start(interval, sweep, onError)}, nil
}

// Err is the error of the newest sweep that failed; nil when none has.
func (w *Sweeper) Err() error { return w.runner.Err() }

// Close ends a sweep that is under way, whose finished batches stay done, and waits until it has ended or ctx has.
func (w *Sweeper) Close(ctx context.Context) error { return w.runner.Close(ctx) }
