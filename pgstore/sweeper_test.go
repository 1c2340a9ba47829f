package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/internal/pgxtest"
	"github.com/pgweft/pgweft/pgstore"
	"github.com/pgweft/pgweft/store"
)

// expired puts so many items that have expired, and one that has not.
func expired(t *testing.T, pool *pgxpool.Pool, n int) {
	t.Helper()
	ops := []store.Op{store.PutOp{Namespace: namespace, Key: "alive", Value: text("v"), TTL: time.Hour}}
	for i := range n {
		ops = append(ops, store.PutOp{Namespace: namespace, Key: fmt.Sprint(i), Value: text("v"), TTL: time.Hour})
	}
	_, err := pgstore.New(pool, nil).Batch(t.Context(), ops...)
	require.NoError(t, err)
	exec(t, pool, "update langgraph.store set expires_at = now() - interval '1 second' where key <> 'alive'")
}

func remaining(t *testing.T, pool *pgxpool.Pool) int {
	t.Helper()
	return query[int](t, pool, "select count(*)::int from langgraph.store")
}

func TestSweepRemovesWhatHasExpiredInEveryExecMode(t *testing.T) {
	t.Parallel()
	for _, mode := range pgxtest.ExecModes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			pool := newPool(t, pgxtest.WithExecMode(mode))
			expired(t, pool, 7)
			s := pgstore.New(pool, nil)
			removed, err := s.Sweep(t.Context(), pgstore.SweepOptions{BatchSize: 3})
			require.NoError(t, err)
			require.Equal(t, int64(7), removed)
			require.Equal(t, 1, remaining(t, pool))
			require.NotNil(t, value(t, s, "alive"))
			removed, err = s.Sweep(t.Context(), pgstore.SweepOptions{})
			require.NoError(t, err)
			require.Zero(t, removed)
		})
	}
}

func TestSweepLeavesOutWhatSomeoneElseIsChanging(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	expired(t, pool, 3)
	s := pgstore.New(pool, nil)
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	exec(t, tx, "select from langgraph.store where key = '1' for update")
	removed, err := s.Sweep(t.Context(), pgstore.SweepOptions{})
	require.NoError(t, err)
	require.Equal(t, int64(2), removed)
	require.NoError(t, tx.Commit(t.Context()))
	removed, err = s.Sweep(t.Context(), pgstore.SweepOptions{})
	require.NoError(t, err)
	require.Equal(t, int64(1), removed)
}

func TestSweepInsideATransactionIsPartOfIt(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	expired(t, pool, 3)
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	removed, err := pgstore.New(pool, nil).WithTx(tx).Sweep(t.Context(), pgstore.SweepOptions{BatchSize: 1})
	require.NoError(t, err)
	require.Equal(t, int64(3), removed)
	require.NoError(t, tx.Rollback(t.Context()))
	require.Equal(t, 4, remaining(t, pool))
}

func TestSweepRefuses(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	s := pgstore.New(pool, nil)
	_, err := s.Sweep(t.Context(), pgstore.SweepOptions{BatchSize: -1})
	require.ErrorIs(t, err, store.ErrInvalidArgument)
	for _, interval := range []time.Duration{0, -time.Second} {
		_, err := s.StartSweeper(interval, pgstore.SweepOptions{}, nil)
		require.ErrorIs(t, err, store.ErrInvalidArgument)
	}
}

// unreliable is a DB whose first sweeps fail, and which tells of every other.
type unreliable struct {
	pgstore.DB
	failures atomic.Int32
	swept    chan struct{}
}

var errUnreliable = errors.New("the network is down")

func (u *unreliable) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if u.failures.Add(-1) >= 0 {
		return nil, errUnreliable
	}
	select {
	case u.swept <- struct{}{}:
	case <-ctx.Done():
	}
	return u.DB.Query(ctx, sql, args...)
}

func TestASweeperSweepsAtOnceAndAgainAndSurvivesErrors(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	flaky := &unreliable{DB: pool, swept: make(chan struct{})}
	flaky.failures.Store(2)
	expired(t, pool, 3)
	heard := make(chan error, 10)
	sweeper, err := pgstore.New(flaky, nil).StartSweeper(time.Millisecond, pgstore.SweepOptions{}, func(err error) { heard <- err })
	require.NoError(t, err)
	require.ErrorIs(t, <-heard, errUnreliable)
	require.ErrorIs(t, <-heard, errUnreliable)
	<-flaky.swept // the check of the schema
	<-flaky.swept
	<-flaky.swept // the sweep before this one is done
	require.Equal(t, 1, remaining(t, pool))
	require.ErrorIs(t, sweeper.Err(), errUnreliable, "the newest that failed")

	expired(t, pool, 2)
	<-flaky.swept
	<-flaky.swept
	require.Equal(t, 1, remaining(t, pool))
	require.NoError(t, sweeper.Close(t.Context()))
	require.NoError(t, sweeper.Close(t.Context()), "closing again is no error")
	require.Empty(t, heard)
}

// stuck is a DB that does not hear of cancelling.
type stuck struct {
	pgstore.DB
	entered, release chan struct{}
}

func (s *stuck) Query(context.Context, string, ...any) (pgx.Rows, error) {
	close(s.entered)
	<-s.release
	return nil, errUnreliable
}

func TestClosingASweeperWaitsNoLongerThanItsContext(t *testing.T) {
	t.Parallel()
	db := &stuck{DB: newPool(t), entered: make(chan struct{}), release: make(chan struct{})}
	sweeper, err := pgstore.New(db, nil).StartSweeper(time.Hour, pgstore.SweepOptions{}, nil)
	require.NoError(t, err)
	<-db.entered
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, sweeper.Close(ctx), context.Canceled)
	close(db.release)
	require.NoError(t, sweeper.Close(t.Context()))
	require.NoError(t, sweeper.Err(), "being closed is no failure")
}
