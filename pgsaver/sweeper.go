package pgsaver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/internal/periodic"
)

// SweepOptions say how Sweep works. The zero value takes every default.
type SweepOptions struct {
	// BatchSize is how many threads, and items of the store, one transaction looks at; 0 means 100.
	BatchSize int
	// Logger receives one record for each sweep with what it removed: Info, or Error where it failed. Nil logs nothing.
	Logger *slog.Logger
	// MaxDuration is when to stop beginning batches; 0 goes on to the end. The next sweep goes on where this one stopped.
	MaxDuration time.Duration
	// Observe is called when a sweep begins, and what it returns when it has ended: for metrics and traces (package otelweft).
	// The sweep runs in the context it returns. Nil observes nothing.
	Observe func(ctx context.Context) (context.Context, func(Swept, error))
}

// Sweep removes what has had its time, by the procedure sweep: expired store items, idle threads, and what retention
// policies condemn. It commits in batches, so it cannot run inside a transaction (checkpoint.ErrInvalidArgument). If another
// sweep is running in the database, it leaves the work to that one and returns. How far it is, Postgres says in notices: see
// OnNotice of pgconn.Config. What it did goes to options.Logger and options.Observe, which cost two more round trips.
func (s *Saver) Sweep(ctx context.Context, options SweepOptions) error {
	if options.Logger == nil && options.Observe == nil {
		return s.sweep(ctx, options)
	}
	return s.observedSweep(ctx, options)
}

func (s *Saver) sweep(ctx context.Context, options SweepOptions) error {
	if err := s.ready(ctx, s.db); err != nil {
		return err
	}
	if options.BatchSize == 0 {
		options.BatchSize = 100
	}
	var limit *time.Duration
	if options.MaxDuration != 0 {
		limit = &options.MaxDuration
	}
	_, err := s.db.Exec(ctx, s.sql.sweep, options.BatchSize, limit)
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) && pgErr.Code == pgerrcode.InvalidTransactionTermination {
		return fmt.Errorf("pgsaver: sweep: %w: it commits after each batch, so it cannot run inside a transaction; "+
			"call it on a Saver of the pool: %w", checkpoint.ErrInvalidArgument, err)
	}
	return wrapError("sweep", err)
}

// Sweeper sweeps at intervals, in a goroutine of its own, until it is closed.
type Sweeper struct{ runner *periodic.Runner }

// StartSweeper sweeps at once and then every interval. Any number of processes may do so: one sweep runs at a time. A sweep
// that fails does not end the Sweeper; onError, if it is not nil, hears of it, in the Sweeper's goroutine. The interval has
// to be positive (checkpoint.ErrInvalidArgument).
func (s *Saver) StartSweeper(interval time.Duration, options SweepOptions, onError func(error)) (*Sweeper, error) {
	if interval <= 0 {
		return nil, fmt.Errorf("pgsaver: start sweeper: %w: the interval is %s, and has to be positive",
			checkpoint.ErrInvalidArgument, interval)
	}
	sweep := func(ctx context.Context) error { return s.Sweep(ctx, options) }
	return &Sweeper{runner: periodic.Start(interval, sweep, onError)}, nil
}

// Err is the error of the newest sweep that failed; nil when none has.
func (w *Sweeper) Err() error { return w.runner.Err() }

// Close ends a sweep that is under way, whose finished batches stay done, and waits until it has ended or ctx has.
func (w *Sweeper) Close(ctx context.Context) error { return w.runner.Close(ctx) }
