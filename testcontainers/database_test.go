package testcontainers

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/migrations"
)

func TestAClone(t *testing.T) {
	t.Parallel()

	t.Run("has the migrated schema and the extension", func(t *testing.T) {
		t.Parallel()
		db := NewDatabase(t)
		require.Equal(t, db.Name(), queryValue[string](t, db.ConnString(), "select current_database()"))
		require.Equal(t, "public", queryValue[string](t, db.ConnString(),
			"select extnamespace::regnamespace::text from pg_extension where extname = 'vector'"))
		connConfig, err := pgx.ParseConfig(db.ConnString())
		require.NoError(t, err)
		migrator, err := migrations.New(connConfig, nil)
		require.NoError(t, err)
		require.Positive(t, migrator.Latest())
		require.Equal(t, migrator.Latest(), queryValue[int](t, db.ConnString(),
			"select version from langgraph.schema_migrations where not dirty"))
	})

	t.Run("sees nothing of another clone", func(t *testing.T) {
		t.Parallel()
		one, other := NewDatabase(t), NewDatabase(t)
		require.NotEqual(t, one.Name(), other.Name())
		execute(t, one.ConnString(), "create table only_here ()")
		require.True(t, queryValue[bool](t, one.ConnString(), "select to_regclass('only_here') is not null"))
		require.False(t, queryValue[bool](t, other.ConnString(), "select to_regclass('only_here') is not null"))
		require.False(t, queryValue[bool](t, sharedServer(t).ConnString(), "select to_regclass('only_here') is not null"))
	})

	t.Run("is copied while the migrated database is in use", func(t *testing.T) {
		t.Parallel()
		err := withConn(t.Context(), sharedServer(t).ConnString(), func(conn *pgx.Conn) error {
			NewDatabase(t)
			return conn.Ping(t.Context())
		})
		require.NoError(t, err)
	})

	t.Run("is reached through TCP as well", func(t *testing.T) {
		t.Parallel()
		db := NewDatabase(t)
		require.Equal(t, db.Name(), queryValue[string](t, db.TCPConnString(),
			"select current_database() where inet_server_addr() is not null"))
	})

	t.Run("is gone after Drop, also with sessions in it, and Drop may be repeated", func(t *testing.T) {
		t.Parallel()
		db, err := sharedServer(t).Clone(t.Context())
		require.NoError(t, err)
		conn, err := pgx.Connect(t.Context(), db.ConnString())
		require.NoError(t, err)
		defer conn.Close(context.Background())
		require.NoError(t, db.Drop(t.Context()))
		require.NoError(t, db.Drop(t.Context()))
		require.Error(t, conn.Ping(t.Context()))
		require.False(t, databaseExists(t, sharedServer(t), db.Name()))
		require.NotContains(t, sharedServer(t).undropped(), db.Name())
	})

	t.Run("that is cancelled is not left behind", func(t *testing.T) {
		t.Parallel()
		p := runOwn(t, WithBackend(Local), WithoutMigrations())
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := p.Clone(ctx)
		require.ErrorIs(t, err, context.Canceled)
		require.Empty(t, p.undropped())
		require.Equal(t, 2, queryValue[int](t, p.ConnString(),
			"select count(*)::int from pg_database where starts_with(datname, 'pgweft_')"), "the template and the first copy")
	})
}

func TestNewDatabaseEndsWithTheTest(t *testing.T) {
	t.Parallel()
	p := sharedServer(t)
	var conn *pgx.Conn
	t.Run("a test that leaves a session open", func(t *testing.T) {
		db := NewDatabase(t)
		var err error
		conn, err = pgx.Connect(t.Context(), db.ConnString())
		require.NoError(t, err)
		require.Contains(t, p.undropped(), db.Name())
	})
	require.NotContains(t, p.undropped(), conn.Config().Database)
	// The client hears why (57P01), unless it writes to the closed connection before it has read that.
	require.Error(t, conn.Ping(t.Context()))
	require.True(t, conn.IsClosed())
}

func TestRetiredDatabasesAreDroppedTogether(t *testing.T) {
	t.Parallel()
	p := runOwn(t, WithBackend(Local), WithoutMigrations(), WithoutFsync())
	p.retiredLimit = 3
	retire := func() *Database {
		db, err := p.Clone(t.Context())
		require.NoError(t, err)
		require.NoError(t, p.retire(t.Context(), db))
		return db
	}
	for range p.retiredLimit - 1 {
		require.True(t, databaseExists(t, p, retire().Name()))
	}
	require.False(t, databaseExists(t, p, retire().Name()))
	require.Empty(t, p.undropped())
	require.Equal(t, 2, queryValue[int](t, p.ConnString(),
		"select count(*)::int from pg_database where starts_with(datname, 'pgweft_')"), "the template and the first copy")
}

func TestTheTemplateCannotBeConnectedTo(t *testing.T) {
	t.Parallel()
	p := sharedServer(t)
	_, err := pgx.Connect(t.Context(), p.server.connString(p.template))
	requireCode(t, "55000", err)
}

func databaseExists(t *testing.T, p *Postgres, name string) bool {
	t.Helper()
	return queryValue[bool](t, p.ConnString(), "select exists (select from pg_database where datname = $1)", name)
}

func BenchmarkClone(b *testing.B) {
	p := sharedServer(b)
	for b.Loop() {
		db, err := p.Clone(b.Context())
		require.NoError(b, err)
		b.StopTimer()
		require.NoError(b, db.Drop(b.Context()))
		b.StartTimer()
	}
}

func BenchmarkCloneAndDrop(b *testing.B) {
	p := sharedServer(b)
	for b.Loop() {
		db, err := p.Clone(b.Context())
		require.NoError(b, err)
		require.NoError(b, db.Drop(b.Context()))
	}
}
