package pgstore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/migrations"
	"github.com/pgweft/pgweft/pgstore"
	"github.com/pgweft/pgweft/store"
)

func TestASchemaThatDoesNotSuitIsRefusedWithTheCommandThatMendsIt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		config *pgstore.Config
		sql    string
		want   error
		text   string
	}{
		"a schema that does not exist": {
			config: &pgstore.Config{Schema: "nowhere"}, sql: "select 1",
			want: pgstore.ErrSchemaMissing, text: `migrate up --schema nowhere`,
		},
		"a schema that was migrated down": {
			sql:  "delete from langgraph.schema_migrations",
			want: pgstore.ErrSchemaMissing, text: `migrate up --schema langgraph`,
		},
		"an older schema": {
			sql:  "update langgraph.schema_migrations set version = version - 1",
			want: pgstore.ErrSchemaOutdated, text: `migrate up --schema langgraph`,
		},
		"a schema left half-migrated": {
			sql:  "update langgraph.schema_migrations set dirty = true",
			want: pgstore.ErrSchemaOutdated, text: `migrate version`,
		},
		"a newer schema that no longer serves this client": {
			sql: `create or replace function langgraph.schema_info()
				returns table (schema_version integer, minimum_client integer, dirty boolean, features jsonb)
				language sql as $$ select 1000, 999, false, '{}'::jsonb $$`,
			want: pgstore.ErrSchemaNewer, text: `upgrade github.com/pgweft/pgweft`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := newPool(t)
			exec(t, pool, test.sql)
			s := pgstore.New(pool, test.config)
			for _, op := range []store.Op{
				store.GetOp{Namespace: namespace, Key: "k"}, store.PutOp{Namespace: namespace, Key: "k", Value: text("v")},
			} {
				_, err := s.Batch(t.Context(), op)
				require.ErrorIs(t, err, test.want)
				require.ErrorContains(t, err, test.text)
				require.ErrorContains(t, err, "pgstore: ")
			}
			_, err := s.Sweep(t.Context(), pgstore.SweepOptions{})
			require.ErrorIs(t, err, test.want)
			require.Zero(t, query[int](t, pool, "select count(*)::int from langgraph.store"))
		})
	}
}

func TestAStoreNeedNotRestartAfterTheMigration(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	exec(t, pool, "update langgraph.schema_migrations set version = version - 1")
	s := pgstore.New(pool, nil)
	_, err := store.Get(t.Context(), s, namespace, "k")
	require.ErrorIs(t, err, pgstore.ErrSchemaOutdated)
	exec(t, pool, "update langgraph.schema_migrations set version = version + 1")
	_, err = store.Get(t.Context(), s, namespace, "k")
	require.ErrorIs(t, err, store.ErrNotFound)
}

func TestAnySchemaNameWorks(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	const schema = `we"ird 'x' Schema é`
	migrator, err := migrations.New(pool.Config().ConnConfig, &migrations.Config{Schema: schema})
	require.NoError(t, err)
	require.NoError(t, migrator.Up(t.Context()))
	config := indexed(newEmbedder(), "text")
	config.Schema = schema
	s := pgstore.New(pool, config)
	err = store.Put(t.Context(), s, namespace, "k", text("words"))
	require.ErrorIs(t, err, store.ErrNotEnabled)
	exec(t, pool, `select "we""ird 'x' Schema é".enable_vector_index($1)`, dims)
	exec(t, pool, `select "we""ird 'x' Schema é".enable_text_index()`)
	for range 2 {
		put(t, s, "k", "words")
	}
	for _, mode := range []store.Mode{"", store.ModeText, store.ModeHybrid} {
		found, err := store.Search(t.Context(), s, store.SearchOp{Query: "words", Mode: mode})
		require.NoError(t, err, mode)
		require.Equal(t, []string{"k"}, keys(found), mode)
	}
	require.Nil(t, value(t, pgstore.New(pool, nil), "k"), "the default schema is another one")
}
