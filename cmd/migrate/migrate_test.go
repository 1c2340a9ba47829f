package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/cmd/internal/cli"
	"github.com/pgweft/pgweft/migrations"
	"github.com/pgweft/pgweft/testcontainers"
)

func TestMain(m *testing.M) {
	testcontainers.Main(m, testcontainers.WithoutMigrations(), testcontainers.WithoutVector(), testcontainers.WithoutFsync())
}

// shell runs command lines as a terminal or a script would.
type shell struct {
	env      map[string]string
	input    string
	terminal bool
}

type result struct {
	code           int
	stdout, stderr string
}

func (s shell) run(ctx context.Context, args ...string) result {
	var stdout, stderr strings.Builder
	code := run(ctx, args, cli.Environment{
		Getenv:      func(name string) string { return s.env[name] },
		Interactive: func() bool { return s.terminal },
		Stdin:       strings.NewReader(s.input),
		Stdout:      &stdout,
		Stderr:      &stderr,
	})
	return result{code: code, stdout: stdout.String(), stderr: stderr.String()}
}

func newShell(t *testing.T) (shell, string) {
	t.Helper()
	dsn := testcontainers.NewDatabase(t).ConnString()
	return shell{env: map[string]string{"DATABASE_URL": dsn}}, dsn
}

func execute(t *testing.T, dsn, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(context.Background())) }()
	_, err = conn.Exec(t.Context(), sql)
	require.NoError(t, err)
}

// latest is the newest version that is built in.
func latest(t *testing.T) int {
	t.Helper()
	connConfig, err := pgx.ParseConfig("")
	require.NoError(t, err)
	m, err := migrations.New(connConfig, nil)
	require.NoError(t, err)
	return m.Latest()
}

func TestTheLifeOfASchema(t *testing.T) {
	t.Parallel()
	sh, _ := newShell(t)
	last := latest(t)
	at := func(version int) string {
		return fmt.Sprintf("schema \"langgraph\" is at version %d of %d\n", version, last)
	}
	steps := []struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		{[]string{"version"}, cli.ExitOK, "0\n", fmt.Sprintf("the latest version is %d; run \"migrate up\"", last)},
		{[]string{"verify"}, cli.ExitFailed, "", `schema "langgraph" is at version 0, so there is nothing to verify`},
		{[]string{"up"}, cli.ExitOK, at(last), "migrated up 000002_store_tables ("},
		{[]string{"up"}, cli.ExitOK, at(last), ""},
		{[]string{"version"}, cli.ExitOK, fmt.Sprintln(last), ""},
		{[]string{"verify"}, cli.ExitOK, "schema \"langgraph\" is what was shipped\n", ""},
		{[]string{"down", "--yes"}, cli.ExitOK, at(last - 1), fmt.Sprintf("migrated down %06d_", last)},
		{[]string{"down", "2", "--yes"}, cli.ExitOK, at(last - 3), fmt.Sprintf("migrated down %06d_", last-2)},
		{[]string{"down", "99", "--yes"}, cli.ExitFailed, "", fmt.Sprintf("at most %d migrations can be undone, not 99", last-3)},
		{[]string{"goto", "3"}, cli.ExitOK, at(3), "migrated up 000003_policy_tables ("},
		{[]string{"goto", "99"}, cli.ExitFailed, "", fmt.Sprintf("no such version: 99; this binary knows versions 0 to %d", last)},
		{[]string{"goto", "0", "--yes"}, cli.ExitOK, at(0), "migrated down 000001_checkpoint_tables ("},
		{[]string{"up", "--schema", "other one"}, cli.ExitOK, fmt.Sprintf("schema \"other one\" is at version %d of %d\n", last, last), ""},
		{[]string{"version"}, cli.ExitOK, "0\n", ""},
	}
	for _, step := range steps {
		got := sh.run(t.Context(), step.args...)
		require.Equal(t, step.code, got.code, "%s: %s", step.args, got.stderr)
		require.Equal(t, step.stdout, got.stdout, step.args)
		require.Contains(t, got.stderr, step.stderr, step.args)
	}
	require.Empty(t, sh.run(t.Context(), "up", "--schema", "other one").stderr, "up to date: nothing to report")
}

func TestTheSchemaIsNamedByFlagThenEnvironmentThenDefault(t *testing.T) {
	t.Parallel()
	sh, dsn := newShell(t)
	delete(sh.env, "DATABASE_URL")
	sh.env["PGWEFT_SCHEMA"] = "from_environment"
	require.Equal(t, fmt.Sprintf("schema \"from_environment\" is at version 2 of %d\n", latest(t)),
		sh.run(t.Context(), "goto", "2", "--database", dsn).stdout)
	require.Equal(t, fmt.Sprintf("schema \"from_flag\" is at version 1 of %d\n", latest(t)),
		sh.run(t.Context(), "goto", "1", "--database", dsn, "--schema", "from_flag").stdout)
}

func TestGoingDownIsConfirmed(t *testing.T) {
	t.Parallel()
	sh, _ := newShell(t)
	require.Equal(t, cli.ExitOK, sh.run(t.Context(), "goto", "4").code)
	for _, command := range [][]string{{"down"}, {"goto", "3"}} {
		got := sh.run(t.Context(), command...)
		require.Equal(t, cli.ExitUsage, got.code, "without a terminal it refuses")
		require.Contains(t, got.stderr, "say --yes if that is meant")

		wrong := shell{env: sh.env, terminal: true, input: "yes\n"}.run(t.Context(), command...)
		require.Equal(t, cli.ExitFailed, wrong.code)
		require.Contains(t, wrong.stderr, "not confirmed; nothing was changed")
		require.Equal(t, "4\n", sh.run(t.Context(), "version").stdout)

		right := shell{env: sh.env, terminal: true, input: "langgraph\n"}.run(t.Context(), command...)
		require.Equal(t, cli.ExitOK, right.code, right.stderr)
		require.Contains(t, right.stderr, "Going down from version 4 to 3 removes")
		require.Equal(t, "3\n", sh.run(t.Context(), "version").stdout)
		require.Equal(t, cli.ExitOK, sh.run(t.Context(), "goto", "4").code, "going up is not asked about")
	}
}

func TestVerifyReportsDrift(t *testing.T) {
	t.Parallel()
	sh, dsn := newShell(t)
	require.Equal(t, cli.ExitOK, sh.run(t.Context(), "up").code)
	execute(t, dsn, "create table langgraph.mine (id int)")
	got := sh.run(t.Context(), "verify")
	require.Equal(t, cli.ExitOK, got.code)
	require.Equal(t, "extra table langgraph.mine\nschema \"langgraph\" is what was shipped\n", got.stdout)

	execute(t, dsn, "drop index langgraph.store_expires_at_idx; alter table langgraph.store alter expires_at set default now()")
	got = sh.run(t.Context(), "verify")
	require.Equal(t, cli.ExitFailed, got.code)
	require.Contains(t, got.stdout, "missing index store_expires_at_idx of table langgraph.store\n")
	require.Contains(t, got.stdout, "-timestamp with time zone\n+timestamp with time zone default now()\n")
	require.Contains(t, got.stderr, `schema "langgraph" differs from what was shipped in 2 places`)
}

func TestADirtySchemaIsExplainedAndForced(t *testing.T) {
	t.Parallel()
	sh, dsn := newShell(t)
	require.Equal(t, cli.ExitOK, sh.run(t.Context(), "goto", "4").code)
	execute(t, dsn, "update langgraph.schema_migrations set dirty = true")
	got := sh.run(t.Context(), "version")
	require.Equal(t, cli.ExitOK, got.code)
	require.Equal(t, "4\n", got.stdout)
	require.Contains(t, got.stderr, "migrate force 3 --schema langgraph    if it is not")
	require.Equal(t, cli.ExitFailed, sh.run(t.Context(), "up").code)
	require.Equal(t, fmt.Sprintf("schema \"langgraph\" is at version 4 of %d\n", latest(t)), sh.run(t.Context(), "force", "4").stdout)
	require.Equal(t, cli.ExitOK, sh.run(t.Context(), "verify").code)
}

func TestPrintNeedsNoDatabase(t *testing.T) {
	t.Parallel()
	sh := shell{env: map[string]string{"DATABASE_URL": "postgres://nobody@127.0.0.1:1/none"}}
	all := sh.run(t.Context(), "print")
	require.Equal(t, cli.ExitOK, all.code)
	require.Empty(t, all.stderr)
	require.Contains(t, all.stdout, fmt.Sprintf("from version 0 to version %d", latest(t)))
	require.True(t, strings.HasSuffix(all.stdout, fmt.Sprintf("(version, dirty) values (%d, false);\n\ncommit;\n", latest(t))))

	down := sh.run(t.Context(), "print", "--from", "2", "--to", "0", "--schema", "a b")
	require.Contains(t, down.stdout, `drop table "a b".checkpoints;`)
	require.NotContains(t, down.stdout, "create table \"a b\".checkpoints")
	require.Equal(t, cli.ExitFailed, sh.run(t.Context(), "print", "--from", "99").code)
}

func TestWrongUsageIsToldFromFailure(t *testing.T) {
	t.Parallel()
	sh := shell{}
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"no command", nil, "a command is missing"},
		{"an unknown command", []string{"upp"}, `unknown command "upp"; did you mean up?`},
		{"an unknown flag", []string{"up", "--force"}, "unknown flag: --force"},
		{"too many arguments", []string{"up", "3"}, `unknown command "3"`},
		{"a missing argument", []string{"goto"}, "accepts 1 arg(s), received 0"},
		{"no number", []string{"goto", "latest"}, `V is "latest"; it must be a whole number, 0 or more`},
		{"nothing to undo", []string{"down", "0"}, `N is "0"; it must be a whole number, 1 or more`},
		{"a bad connection string", []string{"version", "--database", "postgres://localhost:port/x"}, "cannot parse"},
		{"a schema name that cannot be", []string{"version", "--schema", "pg_x"}, "Postgres reserves it"},
		{"no lock timeout", []string{"version", "--lock-timeout", "0s"}, "it must be positive"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := sh.run(t.Context(), test.args...)
			require.Equal(t, cli.ExitUsage, got.code, got.stderr)
			require.Contains(t, got.stderr, test.want)
			require.Contains(t, got.stderr, "--help")
		})
	}
}

func TestAServerThatIsNotThereIsNamed(t *testing.T) {
	t.Parallel()
	got := shell{}.run(t.Context(), "up", "--database", "postgres://me:hidden@127.0.0.1:1/none")
	require.Equal(t, cli.ExitFailed, got.code)
	require.Contains(t, got.stderr, "127.0.0.1")
	require.Contains(t, got.stderr, "Check --database")
	require.NotContains(t, got.stderr, "hidden", "a password is never shown")
}

func TestACancelledCommandSaysSo(t *testing.T) {
	t.Parallel()
	sh, _ := newShell(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := sh.run(ctx, "up")
	require.Equal(t, cli.ExitFailed, got.code)
	require.Contains(t, got.stderr, "cancelled")
}

func TestEveryCommandHasHelp(t *testing.T) {
	t.Parallel()
	sh := shell{}
	for _, command := range []string{"", "up", "down", "goto", "version", "force", "print", "verify", "completion"} {
		got := sh.run(t.Context(), append(strings.Fields(command), "--help")...)
		require.Equal(t, cli.ExitOK, got.code)
		require.Contains(t, got.stdout, "Usage:", command)
	}
	require.Contains(t, sh.run(t.Context(), "--help").stdout, "Exit codes: 0 done, 1 failed (or verify found drift), 2 wrong usage.")
	require.Contains(t, sh.run(t.Context(), "completion", "bash").stdout, "bash completion V2 for migrate")
}
