package pgsaver_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/internal/pgxtest"
	"github.com/pgweft/pgweft/pgsaver"
	"github.com/pgweft/pgweft/testcontainers"
)

func TestMain(m *testing.M) { testcontainers.Main(m, testcontainers.WithoutFsync()) }

// newPool connects to a database of the test's own; adjust changes the pool's configuration.
func newPool(t *testing.T, adjust ...pgxtest.Adjust) *pgxpool.Pool {
	t.Helper()
	return pgxtest.NewPool(t, testcontainers.NewDatabase(t).ConnString(), adjust...)
}

func newSaver(t *testing.T) *pgsaver.Saver {
	t.Helper()
	return pgsaver.New(newPool(t), nil)
}

func exec(t *testing.T, db pgsaver.DB, sql string, args ...any) {
	t.Helper()
	_, err := db.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

// count is the single number a query returns.
func count(t *testing.T, db pgsaver.DB, sql string) int {
	t.Helper()
	rows, err := db.Query(t.Context(), sql)
	require.NoError(t, err)
	n, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[int])
	require.NoError(t, err)
	return n
}

// step makes a checkpoint with these values, each under a first version.
func step(values map[string]any) *checkpoint.Checkpoint {
	cp := &checkpoint.Checkpoint{
		ID:              checkpoint.NewID(0),
		TS:              "2026-04-07T10:00:00+00:00",
		ChannelValues:   values,
		ChannelVersions: map[string]checkpoint.Version{},
	}
	for channel := range values {
		cp.ChannelVersions[channel] = checkpoint.NextVersion(checkpoint.Version{})
	}
	return cp
}

func put(t *testing.T, saver checkpoint.Saver, config checkpoint.Config, cp *checkpoint.Checkpoint) checkpoint.Config {
	t.Helper()
	saved, err := saver.Put(t.Context(), config, cp, checkpoint.Metadata{"source": "loop", "step": 0}, nil)
	require.NoError(t, err)
	return saved
}
