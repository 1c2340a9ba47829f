package pgsaver_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/checkpoint/checkpointtest"
	"github.com/pgweft/pgweft/internal/pgbouncertest"
	"github.com/pgweft/pgweft/internal/pgxtest"
	"github.com/pgweft/pgweft/migrations"
	"github.com/pgweft/pgweft/pgsaver"
	"github.com/pgweft/pgweft/testcontainers"
)

// newTenancy is a schema of a name of its own, because its roles belong to the whole server, divided by the setting
// langgraph.tenant. The login connects as the application does, without rights beyond its role's.
func newTenancy(tb testing.TB, mode string) (db *testcontainers.Database, schema, login string) {
	tb.Helper()
	db = testcontainers.NewDatabase(tb)
	config, err := pgxpool.ParseConfig(db.ConnString())
	require.NoError(tb, err)
	schema = strings.TrimPrefix(db.Name(), "pgweft_")
	m, err := migrations.New(config.ConnConfig, &migrations.Config{Schema: schema})
	require.NoError(tb, err)
	require.NoError(tb, m.Up(tb.Context()))
	_, err = m.Roles(tb.Context(), migrations.RolesOptions{})
	require.NoError(tb, err)
	admin, err := pgx.ConnectConfig(tb.Context(), config.ConnConfig)
	require.NoError(tb, err)
	name := pgx.Identifier{schema}.Sanitize()
	login = "login_" + schema
	statements := []string{
		"create role " + login + " login password 'login' in role " + pgx.Identifier{schema + "_app"}.Sanitize(),
	}
	if mode != "" {
		statements = append(statements, "select "+name+".enable_tenancy('"+mode+"')")
	}
	for _, statement := range statements {
		_, err = admin.Exec(tb.Context(), statement)
		require.NoError(tb, err)
	}
	tb.Cleanup(func() {
		ctx := context.WithoutCancel(tb.Context())
		for _, role := range []string{login, schema + "_app", schema + "_reader", schema + "_ops"} {
			role = pgx.Identifier{role}.Sanitize()
			_, err := admin.Exec(ctx, "drop owned by "+role+" cascade; drop role "+role)
			require.NoError(tb, err)
		}
		require.NoError(tb, admin.Close(ctx))
	})
	return db, schema, login
}

func asLogin(login string) func(*pgxpool.Config) {
	return func(config *pgxpool.Config) { config.ConnConfig.User, config.ConnConfig.Password = login, "login" }
}

// A saver of a tenant, under the application's role, does all that a saver does, but for what is not the application's.
func TestConformanceOfATenant(t *testing.T) {
	t.Parallel()
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			db, schema, login := newTenancy(t, "setting")
			pool := tenantPool(t, db.ConnString(), schema, login, pgxtest.WithExecMode(mode))
			checkpointtest.Run(t, func(*testing.T) checkpoint.Saver {
				return pgsaver.New(pgsaver.ForTenant(pool, "acme"), &pgsaver.Config{Schema: schema})
			})
		})
	}
}

// tenantPool has operators' rights as well where a conformance suite prunes; they would see all tenants' rows, if no tenant
// were named.
func tenantPool(t *testing.T, connString, schema, login string, adjust ...func(*pgxpool.Config)) *pgxpool.Pool {
	t.Helper()
	admin := pgxtest.NewPool(t, connString)
	exec(t, admin, "grant execute on all routines in schema "+pgx.Identifier{schema}.Sanitize()+" to "+login)
	return pgxtest.NewPool(t, connString, append(adjust, asLogin(login))...)
}

func TestTenantsThroughPgBouncerDoNotSeeEachOther(t *testing.T) {
	t.Parallel()
	db, schema, login := newTenancy(t, "setting")
	direct, err := pgx.ParseConfig(db.TCPConnString())
	require.NoError(t, err)
	pooler := pgbouncertest.Start(t,
		fmt.Sprintf("host=%s port=%d user=%s password=login dbname=%s", direct.Host, direct.Port, login, db.Name()),
		map[string]string{"default_pool_size": "1"})
	pool := pgxtest.NewPool(t, pooler.ConnString(db.Name()), pgxtest.WithExecMode(pgx.QueryExecModeExec))
	saverOf := func(tenant string) *pgsaver.Saver {
		return pgsaver.New(pgsaver.ForTenant(pool, tenant), &pgsaver.Config{Schema: schema})
	}
	alice, bob := saverOf("alice"), saverOf("bob")
	config := checkpoint.Config{ThreadID: "t"}
	saved := put(t, alice, config, step(map[string]any{"m": []any{"hers"}}))

	_, err = bob.Get(t.Context(), config)
	require.ErrorIs(t, err, checkpoint.ErrNotFound)
	_, err = bob.Put(t.Context(), config, step(nil), checkpoint.Metadata{}, nil)
	require.ErrorIs(t, err, checkpoint.ErrTenant)
	require.ErrorContains(t, err, "belongs to another tenant")
	err = bob.PutWrites(t.Context(), saved, []checkpoint.Write{{Channel: "m", Value: 1}}, "task", "")
	require.ErrorIs(t, err, checkpoint.ErrTenant)
	require.NoError(t, bob.DeleteThread(t.Context(), "t"), "which deletes nothing")
	tuple, err := alice.Get(t.Context(), config)
	require.NoError(t, err)
	require.Equal(t, saved.CheckpointID, tuple.Checkpoint.ID)

	_, err = pgsaver.New(pool, &pgsaver.Config{Schema: schema}).Get(t.Context(), config)
	require.ErrorIs(t, err, checkpoint.ErrTenant, "the one server connection keeps no tenant")
	_, err = saverOf("").Get(t.Context(), config)
	require.ErrorContains(t, err, "the tenant has no name")

	// In the application's own transaction.
	inTx(t, pool, func(tx pgx.Tx) {
		inside := pgsaver.New(pgsaver.ForTenant(tx, "alice"), &pgsaver.Config{Schema: schema})
		_, err := inside.Get(t.Context(), config)
		require.NoError(t, err)
		_, err = inside.WithTx(tx).Get(t.Context(), config)
		require.NoError(t, err, "named once, the tenant stays for the transaction")
	})
}
