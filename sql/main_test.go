package sql_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/testcontainers"
)

func TestMain(m *testing.M) { testcontainers.Main(m, testcontainers.WithoutFsync()) }

// querier is a pool, a connection or a transaction.
type querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// beginner is a pool, a connection or a transaction.
type beginner interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}

// newDatabase connects to a migrated database of the test's own. A statement that hangs fails its test.
func newDatabase(t *testing.T) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(testcontainers.NewDatabase(t).ConnString())
	require.NoError(t, err)
	config.MaxConns = 4
	config.ConnConfig.RuntimeParams["statement_timeout"] = "120s"
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

func exec(t *testing.T, db querier, sql string, args ...any) {
	t.Helper()
	_, err := db.Exec(t.Context(), sql, args...)
	require.NoError(t, err, sql)
}

// value is the single value of the single row that a query returns.
func value[T any](t *testing.T, db querier, sql string, args ...any) T {
	t.Helper()
	rows, err := db.Query(t.Context(), sql, args...)
	require.NoError(t, err, sql)
	v, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[T])
	require.NoError(t, err, sql)
	return v
}

// column is the only column of all rows that a query returns.
func column[T any](t *testing.T, db querier, sql string, args ...any) []T {
	t.Helper()
	rows, err := db.Query(t.Context(), sql, args...)
	require.NoError(t, err, sql)
	values, err := pgx.CollectRows(rows, pgx.RowTo[T])
	require.NoError(t, err, sql)
	return values
}

// table is all rows of a query, by the names of their columns. Every column needs a field of T, and every field a column.
func table[T any](t *testing.T, db querier, sql string, args ...any) []T {
	t.Helper()
	rows, err := db.Query(t.Context(), sql, args...)
	require.NoError(t, err, sql)
	values, err := pgx.CollectRows(rows, pgx.RowToStructByName[T])
	require.NoError(t, err, sql)
	return values
}

// attempt runs a statement and gives its error, from wherever the protocol reports it.
func attempt(ctx context.Context, db querier, sql string, args ...any) error {
	rows, err := db.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	_, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (any, error) { return row.Values() })
	return err
}

// refusal is an error of ours: its SQLSTATE, and what its message, DETAIL and HINT say at least.
type refusal struct{ code, message, detail, hint string }

// requireRefused requires the error, and that it says something under each of its three headings.
func requireRefused(t *testing.T, want refusal, err error) {
	t.Helper()
	var pgErr *pgconn.PgError
	require.ErrorAs(t, err, &pgErr)
	require.Equal(t, want.code, pgErr.Code, pgErr.Message)
	require.Contains(t, pgErr.Message, want.message)
	require.Contains(t, pgErr.Detail, want.detail)
	require.Contains(t, pgErr.Hint, want.hint)
	require.NotEmpty(t, pgErr.Message)
	require.Regexp(t, `\.$`, pgErr.Detail, "DETAIL is a sentence that says which")
	require.Regexp(t, `\.$`, pgErr.Hint, "HINT is a sentence that says what to do")
}

// requireState requires an error of Postgres' own.
func requireState(t *testing.T, code string, err error) {
	t.Helper()
	var pgErr *pgconn.PgError
	require.ErrorAs(t, err, &pgErr)
	require.Equal(t, code, pgErr.Code, pgErr.Message)
}

// inTx runs do in a transaction that is rolled back.
func inTx(t *testing.T, db beginner, do func(pgx.Tx)) {
	t.Helper()
	tx, err := db.Begin(t.Context())
	require.NoError(t, err)
	defer func() {
		if err := tx.Rollback(context.WithoutCancel(t.Context())); err != nil && !errors.Is(err, pgx.ErrTxClosed) {
			t.Errorf("roll back: %v", err)
		}
	}()
	do(tx)
}

// newRandom is a source of random test data. Its seed is logged; PGWEFT_TEST_SEED repeats a run.
func newRandom(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("PGWEFT_TEST_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("PGWEFT_TEST_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, seed))
}

// pick is one of the values.
func pick[T any](random *rand.Rand, values ...T) T { return values[random.IntN(len(values))] }

// newRole makes a role without any right, named after the database, for roles belong to the whole server.
func newRole(t *testing.T, db *pgxpool.Pool) string {
	t.Helper()
	role := "role_of_" + db.Config().ConnConfig.Database
	exec(t, db, "create role "+role+" nosuperuser")
	t.Cleanup(func() {
		_, err := db.Exec(context.WithoutCancel(t.Context()), "drop owned by "+role+" cascade; drop role "+role)
		require.NoError(t, err)
	})
	return role
}

// as runs do in a transaction under the role; it is rolled back.
func as(t *testing.T, db *pgxpool.Pool, role string, do func(pgx.Tx)) {
	t.Helper()
	inTx(t, db, func(tx pgx.Tx) {
		exec(t, tx, "set local role "+role)
		do(tx)
	})
}

// inSavepoint runs do in a part of the transaction that is rolled back, so that the transaction survives an error.
func inSavepoint(t *testing.T, tx pgx.Tx, do func(pgx.Tx)) {
	t.Helper()
	savepoint, err := tx.Begin(t.Context())
	require.NoError(t, err)
	do(savepoint)
	require.NoError(t, savepoint.Rollback(t.Context()))
}
