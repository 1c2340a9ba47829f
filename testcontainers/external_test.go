package testcontainers

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// Not parallel: it changes the environment, and compares lists of databases.
func TestTheServerOfDatabaseURL(t *testing.T) {
	host := runOwn(t, WithBackend(Local), WithoutMigrations())
	config, err := pgx.ParseConfig(host.TCPConnString())
	require.NoError(t, err)
	for form, dsn := range map[string]string{
		"as a URL": host.TCPConnString(),
		"as keywords": fmt.Sprintf("host=%s port=%d user=%s password=%s dbname=%s sslmode=disable",
			config.Host, config.Port, config.User, config.Password, config.Database),
	} {
		t.Run(form, func(t *testing.T) {
			t.Setenv("DATABASE_URL", dsn)
			t.Setenv(binariesVariable, t.TempDir()) // DATABASE_URL goes first
			before := databasesOf(t, host)

			p, err := Run(t.Context())
			require.NoError(t, err)
			require.Equal(t, DatabaseURL, p.Backend())
			require.True(t, queryValue[bool](t, p.ConnString(), "select to_regclass('langgraph.checkpoints') is not null"))
			require.Equal(t, int(config.Port), queryValue[int](t, p.ConnString(), "select inet_server_port()"))
			clone, err := p.Clone(t.Context())
			require.NoError(t, err)
			require.Equal(t, clone.Name(), queryValue[string](t, clone.ConnString(), "select current_database()"))
			require.Len(t, databasesOf(t, host), len(before)+3, "a template, the first copy, a clone")

			require.ErrorIs(t, p.Stop(t.Context()), ErrNotManaged)
			require.ErrorIs(t, p.Kill(t.Context()), ErrNotManaged)
			require.ErrorIs(t, p.Start(t.Context()), ErrNotManaged)

			require.NoError(t, p.Close(t.Context()))
			require.Equal(t, before, databasesOf(t, host))
			require.False(t, queryValue[bool](t, host.ConnString(), "select to_regnamespace('langgraph') is not null"),
				"the database that DATABASE_URL names is not migrated")
		})
	}
}

func databasesOf(t *testing.T, p *Postgres) []string {
	t.Helper()
	return queryValue[[]string](t, p.ConnString(), "select array_agg(datname::text order by datname) from pg_database")
}

func TestDatabaseURLMustBeUsable(t *testing.T) {
	t.Parallel()
	withURL := func(dsn string, more ...Option) error {
		more = append(more, WithBackend(DatabaseURL), func(c *config) { c.databaseURL = dsn })
		p, err := Run(t.Context(), more...)
		require.Nil(t, p)
		return err
	}
	require.ErrorContains(t, withURL(""), "DATABASE_URL is not set")
	require.ErrorContains(t, withURL("postgres://localhost:port"), "DATABASE_URL: cannot parse")
	require.ErrorContains(t, withURL("postgres://postgres:secret@127.0.0.1:1/postgres"), "the server at DATABASE_URL")
	require.NotContains(t, withURL("postgres://postgres:secret@127.0.0.1:1/postgres").Error(), "secret")
	require.ErrorContains(t, withURL("postgres://localhost", WithSettings(map[string]string{"work_mem": "5MB"})),
		"WithSettings cannot change the server that DATABASE_URL names")
}

func TestAConnectionStringIsTurnedToAnotherDatabase(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]string{
		"postgres://u:p%40ss@h:5433/db?sslmode=disable": "postgres://u:p%40ss@h:5433/other?sslmode=disable",
		"postgresql://h":                                           "postgresql://h/other",
		"postgres:///db?host=%2Frun%2Fpg&port=6":                   "postgres:///other?host=%2Frun%2Fpg&port=6",
		"postgres://h/?dbname=db":                                  "postgres://h/other",
		"host=h dbname=db":                                         "host=h dbname=db dbname='other'",
		"host=/run/pg user=u options='-c search_path=a' port=5433": "host=/run/pg user=u options='-c search_path=a' port=5433 dbname='other'",
	} {
		got := withDatabase(dsn, "other")
		require.Equal(t, want, got)
		parsed, err := pgx.ParseConfig(got)
		require.NoError(t, err)
		require.Equal(t, "other", parsed.Database, dsn)
		require.Equal(t, dsn, withDatabase(dsn, ""))
	}
}
