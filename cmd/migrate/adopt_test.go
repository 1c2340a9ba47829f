package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/cmd/internal/cli"
)

// langgraphStore is what the first version of LangGraph's Python store makes.
const langgraphStore = `create table store_migrations (v int primary key); insert into store_migrations values (0);
	create table store (prefix text not null, key text not null, value jsonb not null, created_at timestamptz default current_timestamp,
		updated_at timestamptz default current_timestamp, primary key (prefix, key));
	insert into store values ('a', 'k', '{"n": 1}')`

func TestAdoptPrintsItsPlanAndThenDoesIt(t *testing.T) {
	t.Parallel()
	sh, dsn := newShell(t)
	execute(t, dsn, langgraphStore)
	plan := sh.run(t.Context(), "adopt", "--from", "public", "--dry-run")
	require.Equal(t, cli.ExitOK, plan.code, plan.stderr)
	require.Empty(t, plan.stderr)
	for _, line := range []string{
		"found in schema \"public\":\n  LangGraph's Python store, at version 0 of 3 of its migrations\n",
		"The tables move to schema \"langgraph\":",
		" store     1  ", "every index built anew",
		"Lock: ACCESS EXCLUSIVE on them, from the beginning to the commit, for about 1s: nobody reads or writes them then.\n",
		"alter table \"public\".\"store\" set schema \"langgraph\";\n",
		"Note: LangGraph's libraries find the tables by search_path from now on: add options=-c search_path=langgraph to their connection strings.",
	} {
		require.Contains(t, plan.stdout, line)
	}
	require.Equal(t, "0\n", sh.run(t.Context(), "version").stdout, "a dry run changes nothing")

	done := sh.run(t.Context(), "adopt", "--from", "public")
	require.Equal(t, cli.ExitOK, done.code, done.stderr)
	require.Contains(t, done.stdout, plan.stdout)
	require.Contains(t, done.stdout, "schema \"langgraph\" is at version")
	require.Contains(t, done.stderr, "adopted store (")
	require.Equal(t, cli.ExitOK, sh.run(t.Context(), "verify").code)
}

func TestAdoptSaysWhyNot(t *testing.T) {
	t.Parallel()
	sh, dsn := newShell(t)
	require.Equal(t, cli.ExitUsage, sh.run(t.Context(), "adopt").code)
	require.Contains(t, sh.run(t.Context(), "adopt").stderr, "--from is missing; name the schema that LangGraph's tables are in, such as public")
	execute(t, dsn, langgraphStore+"; create view mine as select key from store")
	for _, args := range [][]string{{"adopt", "--from", "public", "--dry-run"}, {"adopt", "--from", "public"}} {
		refused := sh.run(t.Context(), args...)
		require.Equal(t, cli.ExitFailed, refused.code)
		require.Empty(t, refused.stdout)
		require.Contains(t, refused.stderr, "schema \"public\" cannot be adopted; nothing was changed:\n  - view mine (by column key of store) "+
			"keeps a column from changing; drop it, adopt, and make it again")
	}
}

func TestSizesAndDurationsAreRounded(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"0 bytes", "8192 bytes", "10 kB", "10 MB", "2048 GB"},
		[]string{size(0), size(8192), size(10240), size(10 << 20), size(2 << 40)})
	require.Equal(t, []string{"1s", "2s", "2m", "1h30m"},
		[]string{about(0), about(1.6e9), about(100e9), about(5400e9)})
}
