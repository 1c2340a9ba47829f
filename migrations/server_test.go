package migrations_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/migrations"
)

var databases atomic.Int64

// newDatabase makes an empty database and gives its configuration.
func newDatabase(t *testing.T) *pgx.ConnConfig {
	t.Helper()
	name := fmt.Sprintf("t%d_%d", os.Getpid(), databases.Add(1))
	admin, err := pgx.Connect(t.Context(), "postgres://postgres@127.0.0.1:54411/postgres")
	require.NoError(t, err)
	_, err = admin.Exec(t.Context(), "create database "+name)
	require.NoError(t, err)
	require.NoError(t, admin.Close(t.Context()))
	t.Cleanup(func() {
		admin, err := pgx.Connect(context.Background(), "postgres://postgres@127.0.0.1:54411/postgres")
		require.NoError(t, err)
		_, err = admin.Exec(context.Background(), "drop database "+name+" with (force)")
		require.NoError(t, err)
		require.NoError(t, admin.Close(context.Background()))
	})
	c, err := pgx.ParseConfig("postgres://postgres@127.0.0.1:54411/" + name)
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
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func exec1(t *testing.T, c *pgx.ConnConfig, sql string) {
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
	name := fmt.Sprintf("owner_%d_%d", os.Getpid(), databases.Add(1))
	exec1(t, c, "create role "+name+" nosuperuser")
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
