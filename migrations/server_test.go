package migrations_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/migrations"
	"github.com/pgweft/pgweft/testcontainers"
)

func TestMain(m *testing.M) {
	testcontainers.Main(m, testcontainers.WithoutMigrations(), testcontainers.WithoutVector(), testcontainers.WithoutFsync())
}

// newDatabase makes an empty database and gives the configuration of a superuser's session in it.
func newDatabase(t *testing.T) *pgx.ConnConfig {
	t.Helper()
	c, err := pgx.ParseConfig(testcontainers.NewDatabase(t).ConnString())
	require.NoError(t, err)
	return c
}

// oddSchema needs quoting in every way a name can.
const oddSchema = `we"ird 'x' Schema$é`

func newMigrator(t *testing.T, c *pgx.ConnConfig, config *migrations.Config) *migrations.Migrator {
	t.Helper()
	m, err := migrations.New(c, config)
	require.NoError(t, err)
	return m
}

// connect opens a session of its own, closed with the test.
func connect(t *testing.T, c *pgx.ConnConfig) *pgx.Conn {
	t.Helper()
	conn, err := pgx.ConnectConfig(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close(context.Background())) })
	return conn
}

func execute(t *testing.T, c *pgx.ConnConfig, sql string) {
	t.Helper()
	_, err := connect(t, c).Exec(t.Context(), sql)
	require.NoError(t, err, sql)
}

func value[T any](t *testing.T, c *pgx.ConnConfig, sql string) T {
	t.Helper()
	var v T
	require.NoError(t, connect(t, c).QueryRow(t.Context(), sql).Scan(&v), sql)
	return v
}

// newRole makes a role without any right, and the configuration of a session under it.
func newRole(t *testing.T, c *pgx.ConnConfig) (string, *pgx.ConnConfig) {
	t.Helper()
	name := "owner_of_" + c.Database
	execute(t, c, "create role "+name+" nosuperuser")
	t.Cleanup(func() {
		conn, err := pgx.ConnectConfig(context.Background(), c)
		require.NoError(t, err)
		_, err = conn.Exec(context.Background(), "drop owned by "+name+" cascade; drop role "+name)
		require.NoError(t, err)
		require.NoError(t, conn.Close(context.Background()))
	})
	as := c.Copy()
	as.RuntimeParams["role"] = name
	return name, as
}

func dump(t *testing.T, m *migrations.Migrator) string {
	t.Helper()
	text, err := m.Dump(t.Context())
	require.NoError(t, err)
	return text
}

func version(t *testing.T, m *migrations.Migrator) int {
	t.Helper()
	v, err := m.Version(t.Context())
	require.NoError(t, err)
	require.False(t, v.Dirty)
	return v.Number
}

// psql finds the client that belongs to a server on this machine.
func psql(t *testing.T) string {
	t.Helper()
	if path, err := exec.LookPath("psql"); err == nil {
		return path
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/psql")
	require.NoError(t, err)
	if len(found) == 0 {
		t.Skip("psql is not installed, so a printed script cannot be run as a DBA would run it")
	}
	return found[len(found)-1]
}
