package pgsaver_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/checkpoint/checkpointtest"
	"github.com/pgweft/pgweft/internal/pgbouncertest"
	"github.com/pgweft/pgweft/internal/pgxtest"
	"github.com/pgweft/pgweft/pgsaver"
	"github.com/pgweft/pgweft/testcontainers"
)

// pooled is a database behind a PgBouncer of the test's own.
func pooled(t *testing.T, settings map[string]string) (*pgbouncertest.Pooler, string) {
	t.Helper()
	db := testcontainers.NewDatabase(t)
	pooler := pgbouncertest.Start(t, db.TCPConnString(), settings)
	return pooler, pooler.ConnString(db.Name())
}

// The default mode names prepared statements, and needs a PgBouncer that keeps them; DescribeExec takes two round trips,
// between which the pooler changes the connection.
func TestConformanceThroughPgBouncer(t *testing.T) {
	t.Parallel()
	pooler, connString := pooled(t, map[string]string{"default_pool_size": "3"})
	modes := []pgx.QueryExecMode{pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol}
	if pooler.KeepsPreparedStatements() {
		modes = append(modes, pgx.QueryExecModeCacheStatement)
	}
	for _, mode := range modes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			pool := pgxtest.NewPool(t, connString, pgxtest.WithExecMode(mode))
			checkpointtest.Run(t, func(*testing.T) checkpoint.Saver { return pgsaver.New(pool, nil) })
		})
	}
}

func TestPreparedStatementsBehindPgBouncerAreExplainedOrWork(t *testing.T) {
	t.Parallel()
	pooler, connString := pooled(t, map[string]string{"default_pool_size": "2"})
	connect := func() *pgx.Conn {
		conn, err := pgx.Connect(t.Context(), connString)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, conn.Close(context.WithoutCancel(t.Context()))) })
		return conn
	}
	saver := pgsaver.New(connect(), nil)
	list := func() error {
		for _, err := range saver.List(t.Context(), checkpoint.Config{ThreadID: "t"}, checkpoint.ListOptions{}) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	require.NoError(t, list(), "the statement is prepared on the one server connection there is")
	holder, err := connect().Begin(t.Context())
	require.NoError(t, err)
	err = list() // on another, because the holder has that one
	require.NoError(t, holder.Rollback(t.Context()))
	if pooler.KeepsPreparedStatements() {
		require.NoError(t, err)
		return
	}
	require.ErrorIs(t, err, pgsaver.ErrPreparedStatement)
	require.ErrorContains(t, err, "default_query_exec_mode=exec")
}

func TestTheServersTimeLimitsAreExplained(t *testing.T) {
	t.Parallel()
	_, connString := pooled(t, nil)
	pool := pgxtest.NewPool(t, connString, pgxtest.WithExecMode(pgx.QueryExecModeExec))
	saver := pgsaver.New(pool, nil)
	config := put(t, saver, checkpoint.Config{ThreadID: "t"}, step(map[string]any{"m": []any{1}}))

	t.Run("statement_timeout", func(t *testing.T) {
		t.Parallel()
		inTx(t, pool, func(tx pgx.Tx) {
			exec(t, tx, "set local statement_timeout = '100ms'")
			holdThread(t, pool, func() {
				_, err := saver.WithTx(tx).Fork(t.Context(), config, checkpoint.ForkOptions{})
				require.ErrorIs(t, err, pgsaver.ErrTimeout)
				require.ErrorContains(t, err, "statement_timeout")
			})
		})
	})
	t.Run("lock_timeout", func(t *testing.T) {
		t.Parallel()
		inTx(t, pool, func(tx pgx.Tx) {
			exec(t, tx, "set local lock_timeout = '100ms'")
			holdThread(t, pool, func() {
				_, err := saver.WithTx(tx).Fork(t.Context(), config, checkpoint.ForkOptions{})
				require.ErrorIs(t, err, pgsaver.ErrTimeout)
				require.ErrorContains(t, err, "lock_timeout")
			})
		})
	})
	t.Run("the saver goes on afterwards", func(t *testing.T) {
		t.Parallel()
		_, err := saver.Get(t.Context(), config)
		require.NoError(t, err)
	})
}

// inTx runs do in a transaction that is rolled back.
func inTx(t *testing.T, pool *pgxpool.Pool, do func(pgx.Tx)) {
	t.Helper()
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }() // some tests lose the connection
	do(tx)
}

// holdThread holds the lock of thread t while do runs.
func holdThread(t *testing.T, pool *pgxpool.Pool, do func()) {
	t.Helper()
	inTx(t, pool, func(tx pgx.Tx) {
		exec(t, tx, "select langgraph.lock_thread('t')")
		do()
	})
}

func TestAnIdleTransactionThatWasEndedIsExplained(t *testing.T) {
	t.Parallel()
	for _, direct := range []bool{true, false} {
		t.Run(map[bool]string{true: "directly", false: "through PgBouncer"}[direct], func(t *testing.T) {
			t.Parallel()
			var connString string
			if direct {
				connString = testcontainers.NewDatabase(t).ConnString()
			} else {
				_, connString = pooled(t, nil)
			}
			pool := pgxtest.NewPool(t, connString, pgxtest.WithExecMode(pgx.QueryExecModeExec))
			saver := pgsaver.New(pool, nil)
			config := put(t, saver, checkpoint.Config{ThreadID: "t"}, step(nil))
			inTx(t, pool, func(tx pgx.Tx) {
				var pid uint32
				require.NoError(t, tx.QueryRow(t.Context(), "select pg_backend_pid()").Scan(&pid))
				exec(t, tx, "set local idle_in_transaction_session_timeout = '50ms'")
				awaitEnd(t, pool, pid)
				_, err := saver.WithTx(tx).Get(t.Context(), config)
				require.Error(t, err)
				require.True(t, tx.Conn().IsClosed(), "the connection is not used again")
			})
			_, err := saver.Get(t.Context(), config)
			require.NoError(t, err, "the pool gives another connection")
		})
	}
}

// awaitEnd waits until the server has ended a session.
func awaitEnd(t *testing.T, pool *pgxpool.Pool, pid uint32) {
	t.Helper()
	// The server wakes up for each of these questions, so there is no need to pause between them.
	for {
		rows, err := pool.Query(t.Context(), "select pg_sleep(0.01), exists (select from pg_stat_activity where pid = $1::int)", pid)
		require.NoError(t, err)
		there, err := pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (bool, error) {
			var pause any
			var there bool
			err := row.Scan(&pause, &there)
			return there, err
		})
		require.NoError(t, err)
		if !there {
			return
		}
	}
}

func TestAnExhaustedPoolerIsExplained(t *testing.T) {
	t.Parallel()
	t.Run("no server connection is free", func(t *testing.T) {
		t.Parallel()
		_, connString := pooled(t, map[string]string{"default_pool_size": "1", "query_wait_timeout": "1"})
		pool := pgxtest.NewPool(t, connString, pgxtest.WithExecMode(pgx.QueryExecModeExec))
		saver := pgsaver.New(pool, nil)
		config := put(t, saver, checkpoint.Config{ThreadID: "t"}, step(nil))
		inTx(t, pool, func(tx pgx.Tx) {
			exec(t, tx, "select 1") // holds the only one
			_, err := saver.Get(t.Context(), config)
			require.ErrorIs(t, err, pgsaver.ErrTooBusy)
			require.ErrorContains(t, err, "default_pool_size")
		})
		_, err := saver.Get(t.Context(), config)
		require.NoError(t, err)
	})
	t.Run("no client is taken", func(t *testing.T) {
		t.Parallel()
		_, connString := pooled(t, map[string]string{"max_client_conn": "1"})
		pool := pgxtest.NewPool(t, connString, pgxtest.WithExecMode(pgx.QueryExecModeExec))
		saver := pgsaver.New(pool, nil)
		inTx(t, pool, func(tx pgx.Tx) {
			exec(t, tx, "select 1")
			_, err := saver.Get(t.Context(), checkpoint.Config{ThreadID: "t"})
			require.ErrorIs(t, err, pgsaver.ErrTooBusy)
			require.ErrorContains(t, err, "max_client_conn")
		})
	})
	t.Run("the server has no connection left", func(t *testing.T) {
		t.Parallel()
		db := testcontainers.NewDatabase(t)
		pool := pgxtest.NewPool(t, db.ConnString())
		role := "few_" + db.Name()
		exec(t, pool, "create role "+role+" login superuser connection limit 0 password 'few'")
		t.Cleanup(func() {
			_, err := pool.Exec(context.WithoutCancel(t.Context()), "drop role "+role)
			require.NoError(t, err)
		})
		exec(t, pool, "alter role "+role+" nosuperuser")
		few := pgxtest.NewPool(t, db.ConnString(), func(config *pgxpool.Config) {
			config.ConnConfig.User, config.ConnConfig.Password = role, "few"
		})
		_, err := pgsaver.New(few, nil).Get(t.Context(), checkpoint.Config{ThreadID: "t"})
		require.ErrorIs(t, err, pgsaver.ErrTooBusy)
		require.ErrorContains(t, err, "max_connections")
	})
}

func TestManyWritersShareFewServerConnections(t *testing.T) {
	t.Parallel()
	_, connString := pooled(t, map[string]string{"default_pool_size": "2"})
	pool := pgxtest.NewPool(t, connString, pgxtest.WithExecMode(pgx.QueryExecModeExec), func(config *pgxpool.Config) { config.MaxConns = 20 })
	saver := pgsaver.New(pool, nil)
	var group sync.WaitGroup
	errs := make(chan error, 20)
	for n := range 20 {
		group.Go(func() {
			config := checkpoint.Config{ThreadID: fmt.Sprint("t", n)}
			for range 5 {
				cp := step(map[string]any{"m": []any{n}})
				if _, err := saver.Put(context.Background(), config, cp, checkpoint.Metadata{}, cp.ChannelVersions); err != nil {
					errs <- err
					return
				}
				tuple, err := saver.Get(context.Background(), config)
				if err == nil && tuple.Checkpoint.ID != cp.ID {
					err = fmt.Errorf("thread %d: read %s after %s", n, tuple.Checkpoint.ID, cp.ID)
				}
				if err != nil {
					errs <- err
					return
				}
			}
		})
	}
	group.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	require.Equal(t, 100, count(t, pool, "select count(*)::int from langgraph.checkpoints"))
}
