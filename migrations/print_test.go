package migrations_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/migrations"
)

// runPrinted prints a script and has psql run it; it returns what psql wrote to standard error.
func runPrinted(t *testing.T, m *migrations.Migrator, c *pgx.ConnConfig, from, to int) (string, error) {
	t.Helper()
	var script, stderr strings.Builder
	require.NoError(t, m.Print(&script, from, to))
	cmd := exec.CommandContext(t.Context(), psql(t), "--no-psqlrc", "--quiet", "--file", "-", c.ConnString())
	cmd.Stdin = strings.NewReader(script.String())
	cmd.Stderr = &stderr
	err := cmd.Run()
	return stderr.String(), err
}

func TestAPrintedScriptDoesWhatUpDoes(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{migrations.DefaultSchema, oddSchema} {
		t.Run(schema, func(t *testing.T) {
			t.Parallel()
			c := newDatabase(t)
			config := &migrations.Config{Schema: schema}
			m := newMigrator(t, c, config)
			reference := newMigrator(t, newDatabase(t), config)
			walk := []int{0, m.Latest(), 2, m.Latest() - 1, m.Latest(), 0}
			for i, to := range walk[1:] {
				stderr, err := runPrinted(t, m, c, walk[i], to)
				require.NoError(t, err, stderr)
				require.NoError(t, reference.Goto(t.Context(), to))
				require.Equal(t, to, version(t, m))
				require.Equal(t, dump(t, reference), dump(t, m))
			}
			require.NoError(t, m.Up(t.Context()), "and the tool goes on from there")
		})
	}
}

func TestAPrintedScriptRefusesAnotherVersion(t *testing.T) {
	t.Parallel()
	c := newDatabase(t)
	m := newMigrator(t, c, nil)
	require.NoError(t, m.Goto(t.Context(), 2))
	before := dump(t, m)

	for from, to := range map[int]int{0: m.Latest(), 1: 2, 3: m.Latest(), m.Latest(): 0} {
		stderr, err := runPrinted(t, m, c, from, to)
		require.Error(t, err)
		require.Contains(t, stderr, "the schema is at version 2, and this script starts from version")
		require.Contains(t, stderr, "--from 2")
	}
	execute(t, c, "update langgraph.schema_migrations set dirty = true")
	stderr, err := runPrinted(t, m, c, 2, 3)
	require.Error(t, err)
	require.Contains(t, stderr, "marked dirty at version 2")
	require.Equal(t, before, dump(t, m))
}

func TestAPrintedScriptOnAnEmptyDatabaseLeavesNothingWhenRefused(t *testing.T) {
	t.Parallel()
	c := newDatabase(t)
	stderr, err := runPrinted(t, newMigrator(t, c, nil), c, 1, 2)
	require.Error(t, err)
	require.Contains(t, stderr, "the schema is at version 0")
	require.Equal(t, 0, value[int](t, c, "select count(*) from pg_namespace where nspname like 'langgraph%'"))
}

func TestAPrintedScriptNeedsNoRightToCreateSchemasThatExist(t *testing.T) {
	t.Parallel()
	c := newDatabase(t)
	role, as := newRole(t, c)
	execute(t, c, "create schema langgraph authorization "+role+"; create schema langgraph_analytics authorization "+role)
	var script strings.Builder
	m := newMigrator(t, as, nil)
	require.NoError(t, m.Print(&script, 0, m.Latest()))
	cmd := exec.CommandContext(t.Context(), psql(t), "--no-psqlrc", "--quiet", "--command", "set role "+role, "--file", "-", c.ConnString())
	cmd.Stdin = strings.NewReader(script.String())
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, string(output))
	require.Equal(t, m.Latest(), version(t, m))
	require.Equal(t, role, value[string](t, c, `select pg_get_userbyid(relowner) from pg_class where oid = 'langgraph.checkpoints'::regclass`))
}
