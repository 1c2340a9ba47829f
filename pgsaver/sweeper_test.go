package pgsaver_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/internal/pgxtest"
	"github.com/pgweft/pgweft/pgsaver"
)

func TestSweepThroughEveryExecMode(t *testing.T) {
	t.Parallel()
	for _, mode := range pgxtest.ExecModes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			notices := make(chan string, 100)
			db := patientPool(t, pgxtest.WithExecMode(mode), func(config *pgxpool.Config) {
				config.ConnConfig.OnNotice = func(_ *pgconn.PgConn, notice *pgconn.Notice) { notices <- notice.Message }
			})
			chains(t, db, 3, 12)
			saver := pgsaver.New(db, nil)
			require.NoError(t, saver.SetThreadTTL(t.Context(), "t002", 36*time.Hour+time.Millisecond))
			exec(t, db, keepOneSQL)

			preview, err := saver.SweepPreview(t.Context())
			require.NoError(t, err)
			require.Len(t, preview, 3)
			require.Equal(t, checkpoint.Removed{
				ThreadID: "t001", Checkpoints: 9, Blobs: 10, Writes: 9, Bytes: preview[1].Bytes, Kept: 2,
			}, preview[1])
			require.Positive(t, preview[1].Bytes)

			require.NoError(t, saver.Sweep(t.Context(), pgsaver.SweepOptions{BatchSize: 2, MaxDuration: time.Hour}))
			require.Regexp(t, `^sweep: 2 threads looked at, 18 checkpoints \(56 rows, \d+ bytes\) and 0 store items removed$`, <-notices)
			require.Regexp(t, `^sweep: 3 threads looked at, 27 checkpoints \(84 rows, \d+ bytes\) and 0 store items removed$`, <-notices)
			require.Equal(t, [3]int{9, 15, 6}, tableRows(t, db, ""))

			exec(t, db, "update langgraph.checkpoint_writes set created_at = now() - interval '36:00:01'")
			backdate(t, db, "36:00:01")
			require.NoError(t, saver.Sweep(t.Context(), pgsaver.SweepOptions{}))
			require.Equal(t, [3]int{6, 10, 4}, tableRows(t, db, ""))
			require.Equal(t, 0, count(t, db, "select count(*)::int from langgraph.thread_ttls"))
		})
	}
}

// backdate makes checkpoints that old, as if nothing had touched them since.
func backdate(t *testing.T, db *pgxpool.Pool, age string) {
	t.Helper()
	tx, err := db.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "set local session_replication_role = replica")
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(),
		"update langgraph.checkpoints set created_at = now() - $1::interval, updated_at = now() - $1::interval", age)
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))
}

func TestSweepRefuses(t *testing.T) {
	t.Parallel()
	db := patientPool(t)
	saver := pgsaver.New(db, nil)

	t.Run("to run inside a transaction, and says why", func(t *testing.T) {
		t.Parallel()
		tx, err := db.Begin(t.Context())
		require.NoError(t, err)
		err = saver.WithTx(tx).Sweep(t.Context(), pgsaver.SweepOptions{})
		require.ErrorIs(t, err, checkpoint.ErrInvalidArgument)
		require.ErrorContains(t, err, "cannot run inside a transaction; call it on a Saver of the pool")
		requireState(t, "2D000", err)
		require.NoError(t, tx.Rollback(t.Context()))
	})
	for name, options := range map[string]pgsaver.SweepOptions{
		"a negative batch size": {BatchSize: -1}, "a negative duration": {MaxDuration: -time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.ErrorIs(t, saver.Sweep(t.Context(), options), checkpoint.ErrInvalidArgument)
		})
	}
	t.Run("to be repeated at no interval", func(t *testing.T) {
		t.Parallel()
		for _, interval := range []time.Duration{0, -time.Second} {
			_, err := saver.StartSweeper(interval, pgsaver.SweepOptions{}, nil)
			require.ErrorIs(t, err, checkpoint.ErrInvalidArgument)
		}
	})
}

func TestSweepInPiecesGoesOnWhereItStopped(t *testing.T) {
	t.Parallel()
	db := patientPool(t)
	chains(t, db, 3, 12)
	exec(t, db, keepOneSQL)
	saver := pgsaver.New(db, nil)
	for _, rows := range []int{27, 18, 9, 9} {
		require.NoError(t, saver.Sweep(t.Context(), pgsaver.SweepOptions{BatchSize: 1, MaxDuration: time.Nanosecond}))
		require.Equal(t, rows, count(t, db, "select count(*)::int from langgraph.checkpoints"))
	}
}

// unreliable is a DB whose first statements that sweep fail, and which tells of every other.
type unreliable struct {
	pgsaver.DB
	failures atomic.Int32
	swept    chan struct{}
}

var errUnreliable = errors.New("the network is down")

func (u *unreliable) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	if u.failures.Add(-1) >= 0 {
		return pgconn.CommandTag{}, errUnreliable
	}
	tag, err := u.DB.Exec(ctx, sql, args...)
	select {
	case u.swept <- struct{}{}:
	case <-ctx.Done():
	}
	return tag, err
}

func (u *unreliable) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return u.DB.Query(ctx, sql, args...)
}

func TestASweeperSweepsAtOnceAndAgainAndSurvivesErrors(t *testing.T) {
	t.Parallel()
	db := patientPool(t)
	chains(t, db, 2, 12)
	exec(t, db, keepOneSQL)
	flaky := &unreliable{DB: db, swept: make(chan struct{})}
	flaky.failures.Store(2)
	heard := make(chan error, 10)
	sweeper, err := pgsaver.New(flaky, nil).StartSweeper(time.Millisecond, pgsaver.SweepOptions{}, func(err error) { heard <- err })
	require.NoError(t, err)
	require.ErrorIs(t, <-heard, errUnreliable)
	require.ErrorIs(t, <-heard, errUnreliable)
	<-flaky.swept
	require.Equal(t, [3]int{6, 10, 4}, tableRows(t, db, ""))
	require.ErrorIs(t, sweeper.Err(), errUnreliable, "the newest that failed")

	chains(t, db, 3, 2) // t002 is new, the others go on from what is there
	<-flaky.swept
	<-flaky.swept // it began after the chains were saved
	require.NoError(t, sweeper.Close(t.Context()))
	require.NoError(t, sweeper.Close(t.Context()), "closing again is no error")
	require.Empty(t, heard)
	require.Equal(t, 2, count(t, db, "select count(*)::int from langgraph.checkpoints where thread_id = 't002'"),
		"the second needs the first, which wrote to d")
}

func TestClosingASweeperEndsASweepThatIsUnderWay(t *testing.T) {
	t.Parallel()
	db := patientPool(t)
	chains(t, db, 3, 12)
	exec(t, db, keepOneSQL)
	holder := newSession(t, db)
	hold, err := holder.Begin(t.Context())
	require.NoError(t, err)
	_, err = hold.Exec(t.Context(), "select from langgraph.checkpoints where thread_id = 't001' for update")
	require.NoError(t, err)

	heard := make(chan error, 1)
	sweeper, err := pgsaver.New(db, nil).StartSweeper(time.Hour, pgsaver.SweepOptions{BatchSize: 1}, func(err error) { heard <- err })
	require.NoError(t, err)
	blocked := func() int {
		return count(t, db, "select count(*)::int from pg_stat_activity where datname = current_database() and "+
			"cardinality(pg_blocking_pids(pid)) > 0")
	}
	require.Eventually(t, func() bool { return blocked() == 1 }, patience, 2*time.Millisecond,
		"the sweep does not wait for the lock")
	require.NoError(t, sweeper.Close(t.Context()))
	require.NoError(t, sweeper.Err())
	require.Empty(t, heard, "being closed is no failure")
	// The server hears of it a little later than its client, and must before the lock is free.
	require.Eventually(t, func() bool { return blocked() == 0 }, patience, 2*time.Millisecond,
		"the server has not heard that the sweep is cancelled")

	require.NoError(t, hold.Commit(t.Context()))
	require.Equal(t, [3]int{3, 5, 2}, tableRows(t, db, "where thread_id = 't000'"), "what it committed stays done")
	require.Equal(t, [3]int{12, 15, 11}, tableRows(t, db, "where thread_id = 't001'"))
}

// stuck is a DB that does not hear of cancelling.
type stuck struct {
	pgsaver.DB
	entered, release chan struct{}
}

func (s *stuck) Exec(context.Context, string, ...any) (pgconn.CommandTag, error) {
	close(s.entered)
	<-s.release
	return pgconn.CommandTag{}, nil
}

func TestClosingASweeperWaitsNoLongerThanItsContext(t *testing.T) {
	t.Parallel()
	db := &stuck{DB: patientPool(t), entered: make(chan struct{}), release: make(chan struct{})}
	sweeper, err := pgsaver.New(db, nil).StartSweeper(time.Hour, pgsaver.SweepOptions{}, nil)
	require.NoError(t, err)
	<-db.entered
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, sweeper.Close(ctx), context.Canceled)
	close(db.release)
	require.NoError(t, sweeper.Close(t.Context()))
}
