package pgsaver

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
)

// reportTimeout bounds how long a sweep that was cancelled still asks what it did.
const reportTimeout = 5 * time.Second

// Swept is what a sweep did, as it notes it in the database after each batch: of a sweep that failed, the batches before that.
type Swept struct {
	// Threads counts those that were looked at.
	Threads int64 `json:"threads"`
	// Checkpoints, and Rows with their values and writes, were removed.
	Checkpoints int64 `json:"checkpoints"`
	Rows        int64 `json:"rows"`
	// Bytes is the size of the removed values as they were stored, compressed.
	Bytes int64 `json:"bytes"`
	// StoreItems had expired and were removed.
	StoreItems int64 `json:"store_items"`
	// Done says that it came to the end; otherwise the next sweep goes on where it stopped.
	Done bool `json:"done"`
	// Batches says that it finished at least one batch. A sweep that found another running has done nothing.
	Batches bool `json:"-"`
	// Duration is how long it took, as its client saw it.
	Duration time.Duration `json:"-"`
}

func (s *Saver) observedSweep(ctx context.Context, options SweepOptions) error {
	ended := func(Swept, error) {}
	if options.Observe != nil {
		ctx, ended = options.Observe(ctx)
	}
	swept, err := s.reportedSweep(ctx, options)
	ended(swept, err)
	if options.Logger != nil {
		logSweep(ctx, options.Logger, swept, err)
	}
	return err
}

// reportedSweep asks the database before and after, whose clock tells whose row in the settings it is. The row may be that of
// another sweep that began meanwhile and went on from where this one was.
func (s *Saver) reportedSweep(ctx context.Context, options SweepOptions) (Swept, error) {
	started, err := queryRow[time.Time](ctx, s.db, s.sql.clock)
	if err != nil {
		return Swept{}, wrapError("sweep", err)
	}
	began := time.Now()
	sweepErr := s.sweep(ctx, options)
	duration := time.Since(began)

	reporting, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
	defer cancel()
	swept, err := s.swept(reporting, started)
	swept.Duration = duration
	if sweepErr != nil {
		// That there is no report as well says nothing more.
		return swept, sweepErr
	}
	return swept, wrapError("read what the sweep did", err)
}

func (s *Saver) swept(ctx context.Context, started time.Time) (Swept, error) {
	row, err := queryRow[[]byte](ctx, s.db, s.sql.swept, started)
	if errors.Is(err, pgx.ErrNoRows) {
		return Swept{}, nil
	}
	if err != nil {
		return Swept{}, err
	}
	swept := Swept{Batches: true}
	return swept, json.Unmarshal(row, &swept)
}

// queryRow is the one value of the one row of a query; pgx.ErrNoRows where there is none.
func queryRow[T any](ctx context.Context, db DB, sql string, args ...any) (T, error) {
	rows, err := db.Query(ctx, sql, args...)
	if err != nil {
		var none T
		return none, err
	}
	return pgx.CollectOneRow(rows, pgx.RowTo[T])
}

func logSweep(ctx context.Context, logger *slog.Logger, swept Swept, err error) {
	did := []any{
		slog.Int64("threads", swept.Threads), slog.Int64("checkpoints", swept.Checkpoints), slog.Int64("rows", swept.Rows),
		slog.Int64("bytes", swept.Bytes), slog.Int64("store_items", swept.StoreItems), slog.Bool("done", swept.Done),
		slog.Duration("duration", swept.Duration),
	}
	switch {
	case err != nil && ctx.Err() != nil:
		logger.InfoContext(ctx, "sweep was ended", append(did, slog.Any("cause", context.Cause(ctx)))...)
	case err != nil:
		logger.ErrorContext(ctx, "sweep failed", append(did, slog.Any("error", err))...)
	case !swept.Batches:
		logger.InfoContext(ctx, "sweep left the work to another that is running", slog.Duration("duration", swept.Duration))
	default:
		logger.InfoContext(ctx, "swept", did...)
	}
}
