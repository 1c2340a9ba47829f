package pgstore_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pgweft/pgweft/internal/pgbouncertest"
	"github.com/pgweft/pgweft/internal/pgxtest"
	"github.com/pgweft/pgweft/store"
	"github.com/pgweft/pgweft/store/storetest"
	"github.com/pgweft/pgweft/testcontainers"
)

// In transaction mode, where a setting or a prepared statement of one transaction is not there in the next. The default exec
// mode names prepared statements, and needs a PgBouncer that keeps them; DescribeExec takes two round trips, between which
// the pooler changes the connection.
func TestConformanceThroughPgBouncer(t *testing.T) {
	t.Parallel()
	modes := []pgx.QueryExecMode{pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol}
	db := testcontainers.NewDatabase(t)
	pooler := pgbouncertest.Start(t, db.TCPConnString(), map[string]string{"default_pool_size": "3"})
	if pooler.KeepsPreparedStatements() {
		modes = append(modes, pgx.QueryExecModeCacheStatement)
	}
	for _, mode := range modes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			db := testcontainers.NewDatabase(t)
			pooler := pgbouncertest.Start(t, db.TCPConnString(), map[string]string{"default_pool_size": "3"})
			pool := pgxtest.NewPool(t, pooler.ConnString(db.Name()), pgxtest.WithExecMode(mode))
			exec(t, pool, "select langgraph.enable_vector_index($1)", dims)
			exec(t, pool, "select langgraph.enable_text_index()")
			harness := harnessOn(pool)
			harness.Index = &store.IndexConfig{Dims: dims}
			harness.Text = true
			storetest.Run(t, func(*testing.T) storetest.Harness { return harness })
		})
	}
}
