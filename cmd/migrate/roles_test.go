package main

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/cmd/internal/cli"
)

// newRolesShell has a schema whose name no other test uses, because roles belong to the whole server.
func newRolesShell(t *testing.T, schema string) (shell, string) {
	t.Helper()
	sh, dsn := newShell(t)
	sh.env["PGWEFT_SCHEMA"] = schema
	require.Equal(t, cli.ExitOK, sh.run(t.Context(), "up").code)
	t.Cleanup(func() {
		conn, err := pgx.Connect(context.WithoutCancel(t.Context()), dsn)
		require.NoError(t, err)
		for _, role := range []string{"_app", "_reader", "_ops"} {
			name := pgx.Identifier{schema + role}.Sanitize()
			_, err := conn.Exec(context.WithoutCancel(t.Context()), "drop owned by "+name+"; drop role "+name)
			require.NoError(t, err)
		}
		require.NoError(t, conn.Close(context.WithoutCancel(t.Context())))
	})
	return sh, dsn
}

func query[T any](t *testing.T, dsn, sql string) T {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(context.WithoutCancel(t.Context()))) }()
	rows, err := conn.Query(t.Context(), sql)
	require.NoError(t, err)
	v, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[T])
	require.NoError(t, err)
	return v
}

func TestRolesArePrintedAndGranted(t *testing.T) {
	t.Parallel()
	sh, dsn := newRolesShell(t, "Roles 1")
	printed := sh.run(t.Context(), "roles", "--print")
	require.Equal(t, cli.ExitOK, printed.code, printed.stderr)
	require.True(t, strings.HasPrefix(printed.stdout, `create role "Roles 1_app" nologin;`+"\n"), printed.stdout)
	require.Contains(t, printed.stdout, `grant usage on schema "Roles 1" to "Roles 1_app";`)
	require.Equal(t, 0, query[int](t, dsn, "select count(*)::int from pg_roles where rolname like 'Roles 1%'"), "printing makes nothing")

	execute(t, dsn, printed.stdout)
	const mayPut = `select has_function_privilege('Roles 1_app', '"Roles 1".put_writes(text,text,text,text,text,integer[],text[],text[],bytea[])', 'execute')`
	require.True(t, query[bool](t, dsn, mayPut), "the printed statements run")

	got := sh.run(t.Context(), "roles")
	require.Equal(t, cli.ExitOK, got.code, got.stderr)
	require.Equal(t, `roles "Roles 1_app", "Roles 1_reader" and "Roles 1_ops" have their rights`+"\n", got.stdout)

	const mayRead = `select has_column_privilege('Roles 1_reader', '"Roles 1".checkpoint_blobs', 'blob', 'select')`
	require.False(t, query[bool](t, dsn, mayRead))
	require.Equal(t, cli.ExitOK, sh.run(t.Context(), "roles", "--reader-values").code)
	require.True(t, query[bool](t, dsn, mayRead))
	require.Equal(t, "schema \"Roles 1\" is what was shipped\n", sh.run(t.Context(), "verify").stdout, "the roles' rights are no drift")

	// A migration that makes the functions anew leaves nobody without rights.
	require.Equal(t, cli.ExitOK, sh.run(t.Context(), "down", "--yes").code)
	up := sh.run(t.Context(), "up")
	require.Equal(t, cli.ExitOK, up.code, up.stderr)
	require.Contains(t, up.stderr, "granted the roles of the schema their rights")
	require.True(t, query[bool](t, dsn, mayPut))
	require.True(t, query[bool](t, dsn, mayRead), "and keeps what the reader may see")
	require.Equal(t, cli.ExitOK, sh.run(t.Context(), "roles", "--reader-values=false").code)
	require.False(t, query[bool](t, dsn, mayRead))
}

func TestADividedSchemaIsNoDriftAndMigratesUp(t *testing.T) {
	t.Parallel()
	sh, dsn := newRolesShell(t, "divided")
	require.Equal(t, cli.ExitOK, sh.run(t.Context(), "roles").code)
	execute(t, dsn, "select divided.enable_tenancy('setting')")
	got := sh.run(t.Context(), "verify")
	require.Equal(t, "schema \"divided\" is what was shipped\n", got.stdout, got.stderr)
	require.Equal(t, cli.ExitOK, sh.run(t.Context(), "up").code)
	execute(t, dsn, "select divided.disable_tenancy()")
	execute(t, dsn, "alter table divided.store enable row level security")
	require.Contains(t, sh.run(t.Context(), "verify").stdout, "extra row level security switch of table divided.store\n")
}

func TestRolesOfASchemaThatIsNotMigratedAreRefused(t *testing.T) {
	t.Parallel()
	sh, _ := newShell(t)
	got := sh.run(t.Context(), "roles")
	require.Equal(t, cli.ExitFailed, got.code)
	require.Contains(t, got.stderr, `run "migrate up" first`)
}
