package pgsaver_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/migrations"
	"github.com/pgweft/pgweft/pgsaver"
)

func TestASchemaThatDoesNotSuitIsRefusedWithTheCommandThatMendsIt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		config *pgsaver.Config
		sql    string
		want   error
		text   string
	}{
		"a schema that does not exist": {
			config: &pgsaver.Config{Schema: "nowhere"}, sql: "select 1",
			want: pgsaver.ErrSchemaMissing, text: `migrate up --schema nowhere`,
		},
		"a schema without the functions": {
			sql:  "drop function langgraph.schema_info",
			want: pgsaver.ErrSchemaMissing, text: `migrate up --schema langgraph`,
		},
		"a schema that was migrated down": {
			sql:  "delete from langgraph.schema_migrations",
			want: pgsaver.ErrSchemaMissing, text: `migrate up --schema langgraph`,
		},
		"an older schema": {
			sql:  "update langgraph.schema_migrations set version = version - 1",
			want: pgsaver.ErrSchemaOutdated, text: `migrate up --schema langgraph`,
		},
		"a schema left half-migrated": {
			sql:  "update langgraph.schema_migrations set dirty = true",
			want: pgsaver.ErrSchemaOutdated, text: `migrate version`,
		},
		"a newer schema that no longer serves this client": {
			sql: `create or replace function langgraph.schema_info()
				returns table (schema_version integer, minimum_client integer, dirty boolean, features jsonb)
				language sql as $$ select 1000, 999, false, '{}'::jsonb $$`,
			want: pgsaver.ErrSchemaNewer, text: `upgrade github.com/pgweft/pgweft`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := newPool(t)
			exec(t, pool, test.sql)
			saver := pgsaver.New(pool, test.config)
			_, err := saver.Get(t.Context(), checkpoint.Config{ThreadID: "t"})
			require.ErrorIs(t, err, test.want)
			require.ErrorContains(t, err, test.text)
			_, err = saver.Put(t.Context(), checkpoint.Config{ThreadID: "t"}, step(nil), nil, nil)
			require.ErrorIs(t, err, test.want)
			require.Zero(t, count(t, pool, "select count(*) from langgraph.checkpoints"))
		})
	}
}

func TestANewerSchemaThatStillServesThisClientIsFine(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	exec(t, pool, "update langgraph.schema_migrations set version = 1000")
	put(t, pgsaver.New(pool, nil), checkpoint.Config{ThreadID: "t"}, step(nil))
}

func TestASaverNeedNotRestartAfterTheMigration(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	exec(t, pool, "update langgraph.schema_migrations set version = 1")
	saver := pgsaver.New(pool, nil)
	_, err := saver.Get(t.Context(), checkpoint.Config{ThreadID: "t"})
	require.ErrorIs(t, err, pgsaver.ErrSchemaOutdated)
	exec(t, pool, "update langgraph.schema_migrations set version = $1", pgsaver.SchemaVersion)
	_, err = saver.Get(t.Context(), checkpoint.Config{ThreadID: "t"})
	require.ErrorIs(t, err, checkpoint.ErrNotFound)
}

func TestAnySchemaNameWorks(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	const schema = `we"ird 'x' Schema é`
	migrator, err := migrations.New(pool.Config().ConnConfig, &migrations.Config{Schema: schema})
	require.NoError(t, err)
	require.NoError(t, migrator.Up(t.Context()))
	saver := pgsaver.New(pool, &pgsaver.Config{Schema: schema})
	config := put(t, saver, checkpoint.Config{ThreadID: "t"}, step(map[string]any{"c": []any{"v"}}))
	tuple, err := saver.Get(t.Context(), config)
	require.NoError(t, err)
	require.Equal(t, []any{"v"}, tuple.Checkpoint.ChannelValues["c"])
	_, err = pgsaver.New(pool, nil).Get(t.Context(), config)
	require.ErrorIs(t, err, checkpoint.ErrNotFound, "the default schema is another one")
}

func TestTheClientNeedsTheSchemaItShipsWith(t *testing.T) {
	t.Parallel()
	migrator, err := migrations.New(newPool(t).Config().ConnConfig, nil)
	require.NoError(t, err)
	require.Equal(t, pgsaver.SchemaVersion, migrator.Latest())
}
