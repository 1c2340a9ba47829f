package main

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/cmd/internal/cli"
	"github.com/pgweft/pgweft/migrations"
)

func TestWrongUsageIsToldFromFailure(t *testing.T) {
	t.Parallel()
	sh, _ := newShell(t)
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no command":                    {nil, "a command is missing"},
		"an unknown command":            {[]string{"thread"}, `unknown command "thread"; did you mean threads`},
		"no policy command":             {[]string{"policy"}, "a command is missing"},
		"an unknown policy command":     {[]string{"policy", "sett"}, `unknown command "sett"; did you mean set`},
		"an unknown flag":               {[]string{"threads", "--all"}, "unknown flag: --all"},
		"a missing argument":            {[]string{"tree"}, "accepts 1 arg(s), received 0"},
		"no threads to prune":           {[]string{"prune"}, "requires at least 1 arg(s)"},
		"a filter that is no JSON":      {[]string{"threads", "--filter", "{user_id: u-17}"}, "--filter is not JSON"},
		"a filter that is no object":    {[]string{"threads", "--filter", "[]"}, "A filter is a JSON object"},
		"a negative limit":              {[]string{"threads", "--limit", "-1"}, "a limit is not negative"},
		"a time that is none":           {[]string{"threads", "--before", "lunch"}, `invalid input syntax for type timestamp with time zone: "lunch"`},
		"a time beyond time":            {[]string{"threads", "--before", "2026-13-45"}, `date/time field value out of range`},
		"keeping nothing":               {[]string{"prune", "t", "--keep", "0", "--yes"}, "keep is at least 1"},
		"a policy without a rule":       {[]string{"policy", "set", "p"}, "at least one of idle_ttl, max_age and keep_last"},
		"a duration that is none":       {[]string{"ttl", "t", "for ever"}, `invalid input syntax for type interval: "for ever"`},
		"a TTL in the past":             {[]string{"ttl", "t", "-1 day"}, "unknown shorthand flag"},
		"a TTL of nothing":              {[]string{"ttl", "t", "0 days"}, "the interval is positive"},
		"a batch of nothing":            {[]string{"sweep", "--batch-size", "0"}, "batch_size is at least 1"},
		"two ways to choose namespaces": {[]string{"tree", "t", "--all", "--namespace", "n"}, "do not go together"},
		"a bad connection string":       {[]string{"threads", "--database", "postgres://localhost:port/x"}, "cannot parse"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := shell{t: t, env: sh.env}.run(test.args...)
			require.Equal(t, cli.ExitUsage, got.code, got.stderr)
			require.Contains(t, got.stderr, test.want)
			require.Contains(t, got.stderr, "--help")
		})
	}
}

func TestAServerThatIsNotThereIsNamed(t *testing.T) {
	t.Parallel()
	got := shell{t: t}.fails(cli.ExitFailed, "threads", "--database", "postgres://me:hidden@127.0.0.1:1/none")
	require.Contains(t, got, "127.0.0.1")
	require.Contains(t, got, "Check --database")
	require.NotContains(t, got, "hidden", "a password is never shown")
}

func TestAnUnsuitableSchemaIsRefusedWithWhatMendsIt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		sql, schema, want string
	}{
		"no schema":       {schema: "elsewhere", want: `schema "elsewhere": schema is missing; install it with "migrate up --schema elsewhere"`},
		"an empty one":    {sql: "drop schema langgraph cascade; create schema langgraph", want: `install it with "migrate up --schema langgraph"`},
		"a removed one":   {sql: "delete from langgraph.schema_migrations", want: `install it with "migrate up --schema langgraph"`},
		"an older one":    {sql: "update langgraph.schema_migrations set version = version - 1", want: `run "migrate up --schema langgraph"`},
		"a half-done one": {sql: "update langgraph.schema_migrations set dirty = true", want: `"migrate version --schema langgraph" says how to recover`},
		"a newer one": {
			sql: `create or replace function langgraph.schema_info()
				returns table (schema_version integer, minimum_client integer, dirty boolean, features jsonb)
				language sql as $$ select 1000, 999, false, '{}'::jsonb $$`,
			want: "upgrade pgweft",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sh, d := newShell(t)
			d.exec(test.sql)
			sh.env["PGWEFT_SCHEMA"] = test.schema
			for _, args := range [][]string{{"threads"}, {"prune", "t", "--yes"}, {"sweep"}} {
				require.Contains(t, sh.fails(cli.ExitFailed, args...), test.want)
			}
		})
	}
}

func TestAnySchemaNameWorks(t *testing.T) {
	t.Parallel()
	sh, d := newShell(t)
	const schema = `we"ird 'x' é`
	m, err := migrations.New(d.conn.Config(), &migrations.Config{Schema: schema})
	require.NoError(t, err)
	require.NoError(t, m.Up(t.Context()))
	require.Equal(t, "[]\n", sh.output("threads", "--json", "--schema", schema))
	sh.output("policy", "set", "p", "--keep-last", "1", "--schema", schema)
	sh.output("sweep", "--schema", schema)
	require.Zero(t, d.count("retention_policies", "true"))
}

func TestARoleWithoutRightsIsToldWhichItNeeds(t *testing.T) {
	t.Parallel()
	sh, d := newShell(t)
	role := "reader_" + strings.ToLower(strings.ReplaceAll(d.conn.Config().Database, "-", "_"))
	d.exec("create role " + role + " login password 'x'")
	t.Cleanup(func() {
		_, err := d.conn.Exec(context.Background(), "drop owned by "+role+"; drop role "+role)
		require.NoError(t, err)
	})
	asRole := shell{t: t, env: map[string]string{"DATABASE_URL": as(t, sh.env["DATABASE_URL"], role)}}
	got := asRole.fails(cli.ExitFailed, "threads")
	require.Contains(t, got, `check schema "langgraph": permission denied for schema langgraph (SQLSTATE 42501)`)
	require.Contains(t, got, "have the owner of the schema grant them")

	// What only looks needs only to look.
	d.exec("grant usage on schema langgraph to " + role + "; grant select on all tables in schema langgraph to " + role +
		"; grant execute on all functions in schema langgraph to " + role)
	d.saveInsurance()
	for _, args := range [][]string{
		{"threads"},
		{"tree", insurance},
		{"show", insurance},
		{"diff", insurance, "ckpt_001", "ckpt_002"},
		{"fsck", "--deep"},
		{"policy", "list"},
		{"prune", insurance, "--dry-run"},
		{"sweep", "--dry-run"},
		{"delete-runs", "r", "--dry-run"},
	} {
		asRole.output(args...)
	}
	require.Contains(t, asRole.fails(cli.ExitFailed, "prune", insurance, "--yes"), "permission denied")
}

// as is the connection string for another user.
func as(t *testing.T, dsn, role string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	require.NoError(t, err)
	u.User = url.UserPassword(role, "x")
	return u.String()
}

func TestCommandsAreNamedInThePostgresLog(t *testing.T) {
	t.Parallel()
	sh, d := newShell(t)
	d.exec(`create or replace function langgraph.list_threads(
			p_filter jsonb default null, p_before timestamptz default null, p_limit bigint default null)
		returns table (thread_id text, namespaces bigint, checkpoints bigint, first_activity timestamptz, last_activity timestamptz,
			status text, newest_checkpoint_id text, metadata jsonb)
		language sql as $$
			select current_setting('application_name'), 1, 1, now(), now(), current_setting('transaction_read_only'), '', '{}'::jsonb
		$$`)
	got := sh.output("threads", "--json")
	require.Equal(t, []string{"pgweft"}, threadIDs(t, got))
	require.Contains(t, got, `"status": "on"`, "what looks does so in a read-only transaction")
	u, err := url.Parse(sh.env["DATABASE_URL"])
	require.NoError(t, err)
	query := u.Query()
	query.Set("application_name", "mine")
	u.RawQuery = query.Encode()
	require.Equal(t, []string{"mine"}, threadIDs(t, sh.output("threads", "--json", "--database", u.String())))
}

func TestEveryCommandHasHelpWithExamples(t *testing.T) {
	t.Parallel()
	sh := shell{t: t}
	root := newRoot(environment{Environment: cli.Environment{Getenv: func(string) string { return "" }}})
	var visit func(cmd *cobra.Command, path []string)
	visit = func(cmd *cobra.Command, path []string) {
		help := sh.output(append(path, "--help")...)
		require.Contains(t, help, "Usage:")
		require.NotEmpty(t, cmd.Short, path)
		require.NotContains(t, cmd.Short, "\n")
		for _, line := range strings.Split(help, "\n") {
			require.LessOrEqual(t, len([]rune(line)), 130, "%s: %s", path, line)
		}
		for _, child := range cmd.Commands() {
			visit(child, append(append([]string{}, path...), child.Name()))
		}
	}
	visit(root, nil)
	for _, name := range []string{"threads", "tree", "show", "diff", "prune", "delete-runs", "sweep", "fsck", "doctor", "ttl", "pin"} {
		require.Contains(t, sh.output(name, "--help"), "Examples:\n  pgweft "+name)
	}
	require.Contains(t, sh.output("--help"), "Exit codes: 0 done, 1 failed (or fsck or doctor found something wrong), 2 wrong usage.")
	require.Contains(t, sh.output("completion", "bash"), "bash completion V2 for pgweft")
	require.Contains(t, sh.output("__complete", "tree", ""), ":4\n", "the shell offers no files")
}
