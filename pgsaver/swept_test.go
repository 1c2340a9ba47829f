package pgsaver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	osexec "os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/internal/pgxtest"
	"github.com/pgweft/pgweft/pgsaver"
)

// logRecords are records of a logger without their times and durations, which no test can know.
type logRecords struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (r *logRecords) Write(text []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(text)
}

func (r *logRecords) logger() *slog.Logger {
	return slog.New(slog.NewJSONHandler(r, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "duration" {
			return slog.Attr{}
		}
		return a
	}}))
}

// take returns the records since the last time.
func (r *logRecords) take(t *testing.T) []map[string]any {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var taken []map[string]any
	for decoder := json.NewDecoder(&r.text); decoder.More(); {
		var record map[string]any
		require.NoError(t, decoder.Decode(&record))
		taken = append(taken, record)
	}
	r.text.Reset()
	return taken
}

func TestASweepTellsItsObserverAndItsLoggerWhatItDid(t *testing.T) {
	t.Parallel()
	for _, mode := range pgxtest.ExecModes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			db := patientPool(t, pgxtest.WithExecMode(mode))
			chains(t, db, 3, 12)
			saver := pgsaver.New(db, nil)
			exec(t, db, keepOneSQL)
			preview, err := saver.SweepPreview(t.Context())
			require.NoError(t, err)
			var condemned int64
			for _, thread := range preview {
				condemned += thread.Bytes
			}
			logs := &logRecords{}
			var seen []pgsaver.Swept
			options := pgsaver.SweepOptions{
				BatchSize: 2, Logger: logs.logger(), MaxDuration: time.Hour,
				Observe: func(ctx context.Context) (context.Context, func(pgsaver.Swept, error)) {
					return ctx, func(swept pgsaver.Swept, err error) {
						require.NoError(t, err)
						require.Positive(t, swept.Duration)
						swept.Duration = 0
						seen = append(seen, swept)
					}
				},
			}
			require.NoError(t, saver.Sweep(t.Context(), options))
			require.NoError(t, saver.Sweep(t.Context(), options))
			require.Equal(t, []pgsaver.Swept{
				{Threads: 3, Checkpoints: 27, Rows: 84, Bytes: condemned, Done: true, Batches: true},
				{Threads: 3, Done: true, Batches: true},
			}, seen)
			require.Equal(t, map[string]any{
				"level": "INFO", "msg": "swept", "threads": 3.0, "checkpoints": 27.0, "rows": 84.0, "bytes": float64(condemned),
				"store_items": 0.0, "done": true,
			}, logs.take(t)[0])
		})
	}
}

func TestASweepThatFailedTellsWhatItHadDone(t *testing.T) {
	t.Parallel()
	db := patientPool(t)
	chains(t, db, 3, 12)
	exec(t, db, keepOneSQL)
	holder := newSession(t, db)
	hold, err := holder.Begin(t.Context())
	require.NoError(t, err)
	_, err = hold.Exec(t.Context(), "select from langgraph.checkpoints where thread_id = 't001' for update")
	require.NoError(t, err)
	logs := &logRecords{}
	ctx, cancel := context.WithCancel(t.Context())
	var seen pgsaver.Swept
	ended := make(chan error, 1)
	go func() {
		ended <- pgsaver.New(db, nil).Sweep(ctx, pgsaver.SweepOptions{
			BatchSize: 1, Logger: logs.logger(),
			Observe: func(ctx context.Context) (context.Context, func(pgsaver.Swept, error)) {
				return ctx, func(swept pgsaver.Swept, _ error) { seen = swept }
			},
		})
	}()
	require.Eventually(t, func() bool {
		return count(t, db, "select count(*)::int from pg_stat_activity where datname = current_database() and "+
			"cardinality(pg_blocking_pids(pid)) > 0") == 1
	}, patience, 2*time.Millisecond, "the sweep does not wait for the lock")
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.Equal(t, int64(1), seen.Threads)
	require.Equal(t, int64(9), seen.Checkpoints)
	require.True(t, seen.Batches)
	require.False(t, seen.Done)
	records := logs.take(t)
	require.Len(t, records, 1)
	require.Equal(t, "sweep was ended", records[0]["msg"])
	require.Equal(t, "context canceled", records[0]["cause"])
	require.NoError(t, hold.Rollback(t.Context()))
}

// contextDB fails to sweep, and keeps the context it was to sweep in.
type contextDB struct {
	pgsaver.DB
	swept context.Context
}

func (c *contextDB) Exec(ctx context.Context, _ string, _ ...any) (pgconn.CommandTag, error) {
	c.swept = ctx
	return pgconn.CommandTag{}, errUnreliable
}

func TestASweepRunsInTheContextOfItsObserverAndItsFailureIsLogged(t *testing.T) {
	t.Parallel()
	type key struct{}
	db := &contextDB{DB: patientPool(t)}
	logs := &logRecords{}
	var heard error
	require.ErrorIs(t, pgsaver.New(db, nil).Sweep(t.Context(), pgsaver.SweepOptions{
		Logger: logs.logger(),
		Observe: func(ctx context.Context) (context.Context, func(pgsaver.Swept, error)) {
			return context.WithValue(ctx, key{}, "span"), func(swept pgsaver.Swept, err error) {
				require.False(t, swept.Batches)
				heard = err
			}
		},
	}), errUnreliable)
	require.ErrorIs(t, heard, errUnreliable)
	require.Equal(t, "span", db.swept.Value(key{}))
	records := logs.take(t)
	require.Len(t, records, 1)
	require.Equal(t, "ERROR", records[0]["level"])
	require.Contains(t, records[0]["error"], errUnreliable.Error())
}

func TestASweepBesideAnotherSaysSo(t *testing.T) {
	t.Parallel()
	db := patientPool(t)
	holder := newSession(t, db)
	other, err := holder.Begin(t.Context())
	require.NoError(t, err)
	_, err = other.Exec(t.Context(), "select pg_advisory_xact_lock(hashtextextended('pgweft sweep', 7069))")
	require.NoError(t, err)
	logs := &logRecords{}
	require.NoError(t, pgsaver.New(db, nil).Sweep(t.Context(), pgsaver.SweepOptions{Logger: logs.logger()}))
	require.NoError(t, other.Rollback(t.Context()))
	require.Equal(t, []map[string]any{{"level": "INFO", "msg": "sweep left the work to another that is running"}}, logs.take(t))
	err = pgsaver.New(db, nil).Sweep(t.Context(), pgsaver.SweepOptions{BatchSize: -1, Logger: logs.logger()})
	require.ErrorIs(t, err, checkpoint.ErrInvalidArgument)
	require.Equal(t, "sweep failed", logs.take(t)[0]["msg"])
}

func TestWhoImportsASaverCarriesNeitherOpenTelemetryNorPrometheus(t *testing.T) {
	t.Parallel()
	command := osexec.CommandContext(t.Context(), "go", "list", "-deps", ".", "../checkpoint/...", "../serde/...", "../migrations")
	printed, err := command.Output()
	require.NoError(t, err)
	packages := strings.Fields(string(printed))
	require.Contains(t, packages, "github.com/pgweft/pgweft/pgsaver")
	for _, name := range packages {
		require.False(t, strings.HasPrefix(name, "go.opentelemetry.io/") || strings.HasPrefix(name, "github.com/prometheus/"), name)
	}
}
