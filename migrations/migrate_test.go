package migrations_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	stock "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/pgweft/pgweft/migrations"
)

func TestEveryMigrationGoesUpDownAndUpToTheSameSchema(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{migrations.DefaultSchema, oddSchema} {
		t.Run(schema, func(t *testing.T) {
			t.Parallel()
			m := newMigrator(t, newDatabase(t), &migrations.Config{Schema: schema})
			require.Empty(t, dump(t, m), "an absent schema has nothing in it")
			for v := 1; v <= m.Latest(); v++ {
				before := dump(t, m)
				require.NoError(t, m.Goto(t.Context(), v))
				require.Equal(t, v, version(t, m))
				up := dump(t, m)
				require.NotEqual(t, before, up)
				require.NoError(t, m.Down(t.Context(), 1))
				require.Equal(t, v-1, version(t, m))
				require.Equal(t, before, dump(t, m))
				require.NoError(t, m.Up(t.Context()))
				require.NoError(t, m.Goto(t.Context(), v))
				require.Equal(t, up, dump(t, m))
			}
		})
	}
}

func TestTheDumpDoesNotDependOnTheSchemasName(t *testing.T) {
	t.Parallel()
	c := newDatabase(t)
	var texts []string
	// "store" and "checkpoints" are names of tables as well, "value" one of a column, "public" exists already.
	for _, schema := range []string{migrations.DefaultSchema, oddSchema, "store", "checkpoints", "value", "public", "Select"} {
		m := newMigrator(t, c, &migrations.Config{Schema: schema})
		require.NoError(t, m.Up(t.Context()))
		texts = append(texts, dump(t, m))
		require.Equal(t, texts[0], texts[len(texts)-1], schema)
		drifts, err := m.Verify(t.Context())
		require.NoError(t, err)
		require.Empty(t, drifts, schema)
	}
	require.Contains(t, texts[0], "create table @extschema@.checkpoints (")
	require.NotContains(t, texts[0], "langgraph.checkpoints", "no name of a schema is left")
}

func TestDownToNothingLeavesBothSchemasAndTheVersionTable(t *testing.T) {
	t.Parallel()
	c := newDatabase(t)
	m := newMigrator(t, c, nil)
	require.NoError(t, m.Up(t.Context()))
	require.NoError(t, m.Goto(t.Context(), 0))
	require.Equal(t, 0, version(t, m))
	require.Equal(t, []string{"schema_migrations"}, value[[]string](t, c, `select array_agg(relname::text) from pg_class
		where relnamespace = 'langgraph'::regnamespace and relkind <> 'i'`))
	require.Equal(t, 0, value[int](t, c, `select count(*) from pg_proc where pronamespace in ('langgraph'::regnamespace, 'langgraph_analytics'::regnamespace)`))
}

func TestTwentyMigratorsOfAnEmptyDatabaseAllSucceed(t *testing.T) {
	t.Parallel()
	c := newDatabase(t)
	group, ctx := errgroup.WithContext(t.Context())
	for range 20 {
		group.Go(func() error {
			m, err := migrations.New(c, nil)
			if err != nil {
				return err
			}
			return m.Up(ctx)
		})
	}
	require.NoError(t, group.Wait())
	m := newMigrator(t, c, nil)
	require.Equal(t, m.Latest(), version(t, m))
	require.Equal(t, 1, value[int](t, c, `select count(*) from langgraph.schema_migrations`))
}

func TestTheStockToolReadsOurVersion(t *testing.T) {
	t.Parallel()
	c := newDatabase(t)
	m := newMigrator(t, c, nil)
	require.NoError(t, m.Goto(t.Context(), 2))
	db := stdlib.OpenDB(*c)
	driver, err := stock.WithInstance(db, &stock.Config{SchemaName: migrations.DefaultSchema})
	require.NoError(t, err)
	t.Cleanup(func() { _ = driver.Close() })
	number, dirty, err := driver.Version()
	require.NoError(t, err)
	require.Equal(t, 2, number)
	require.False(t, dirty)

	require.NoError(t, driver.SetVersion(1, false), "and we read what it writes")
	require.Equal(t, 1, version(t, m))
}

func TestOwnersWithoutSuperuser(t *testing.T) {
	t.Parallel()
	t.Run("with CREATE on the database need nothing prepared", func(t *testing.T) {
		t.Parallel()
		c := newDatabase(t)
		role, as := newRole(t, c)
		execute(t, c, "grant create on database "+c.Database+" to "+role)
		m := newMigrator(t, as, nil)
		require.NoError(t, m.Up(t.Context()))
		require.Equal(t, role, value[string](t, c, `select pg_get_userbyid(relowner) from pg_class where oid = 'langgraph.checkpoints'::regclass`))
		drifts, err := m.Verify(t.Context())
		require.NoError(t, err)
		require.Empty(t, drifts)
		require.NoError(t, m.Goto(t.Context(), 0))
	})
	t.Run("with schemas made for them need nothing else", func(t *testing.T) {
		t.Parallel()
		c := newDatabase(t)
		role, as := newRole(t, c)
		execute(t, c, "create schema langgraph authorization "+role+"; create schema langgraph_analytics authorization "+role)
		m := newMigrator(t, as, nil)
		require.NoError(t, m.Up(t.Context()))
		require.NoError(t, m.Down(t.Context(), 1))
		require.NoError(t, m.Up(t.Context()))
		_, err := m.Verify(t.Context())
		require.ErrorContains(t, err, "grant create on database")
	})
	t.Run("without either are told what a DBA has to run", func(t *testing.T) {
		t.Parallel()
		c := newDatabase(t)
		role, as := newRole(t, c)
		m := newMigrator(t, as, nil)
		require.ErrorContains(t, m.Up(t.Context()), `create schema if not exists "langgraph" authorization "`+role+`"`)
		execute(t, c, "create schema langgraph; create schema langgraph_analytics")
		require.ErrorContains(t, m.Up(t.Context()), `grant usage, create on schema "langgraph" to "`+role+`"`)
		require.Equal(t, 0, value[int](t, c, `select count(*) from pg_class where relnamespace = 'langgraph'::regnamespace`))
	})
}

func TestSettingsOfTheSessionDoNotReachMigrations(t *testing.T) {
	t.Parallel()
	c := newDatabase(t)
	slow := fstest.MapFS{
		"000001_slow.up.sql":   {Data: []byte("select pg_sleep(1); create table @extschema@.slow (search_path text default current_setting('search_path'));")},
		"000001_slow.down.sql": {Data: []byte("drop table @extschema@.slow;")},
	}
	for name, setting := range map[string]string{
		"statement_timeout": "500ms", "search_path": "nowhere", "standard_conforming_strings": "off", "check_function_bodies": "off",
	} {
		c.RuntimeParams[name] = setting
	}
	m := newMigrator(t, c, &migrations.Config{Files: slow})
	require.NoError(t, m.Up(t.Context()))
	require.Equal(t, 1, version(t, m))
	plain := newMigrator(t, c, &migrations.Config{Schema: "plain"})
	require.NoError(t, plain.Up(t.Context()))
	drifts, err := plain.Verify(t.Context())
	require.NoError(t, err)
	require.Empty(t, drifts)
}

// failing is a second migration that fails on its last statement, on line 5.
var failing = fstest.MapFS{
	"000001_first.up.sql":    {Data: []byte("create table @extschema@.first (id int);")},
	"000001_first.down.sql":  {Data: []byte("drop table @extschema@.first;")},
	"000002_second.up.sql":   {Data: []byte("create table @extschema@.second (id int);\n\n-- what fails\nselect 1,\n  no_such_column from @extschema@.first;\n")},
	"000002_second.down.sql": {Data: []byte("drop table @extschema@.second;")},
}

func TestAFailedMigrationChangesNothing(t *testing.T) {
	t.Parallel()
	c := newDatabase(t)
	m := newMigrator(t, c, &migrations.Config{Files: failing})
	err := m.Up(t.Context())
	var failure *migrations.MigrationError
	require.ErrorAs(t, err, &failure)
	require.Equal(t, "000002_second", failure.Migration)
	require.Equal(t, migrations.DirectionUp, failure.Direction)
	require.Equal(t, 1, failure.Version)
	require.Equal(t, 5, failure.Line)
	require.ErrorContains(t, err, `migration 000002_second (up) failed and was rolled back; schema "langgraph" is still at version 1`)
	require.ErrorContains(t, err, `line 5 of 000002_second.up.sql: ERROR: column "no_such_column" does not exist`)
	var pgErr *pgconn.PgError
	require.ErrorAs(t, err, &pgErr)
	require.Equal(t, "42703", pgErr.Code)

	require.Equal(t, 1, version(t, m))
	require.Equal(t, "create table @extschema@.first (\n  id integer\n);\n", dump(t, m))
}

func TestAFailedDownMigrationChangesNothing(t *testing.T) {
	t.Parallel()
	c := newDatabase(t)
	m := newMigrator(t, c, nil)
	require.NoError(t, m.Up(t.Context()))
	execute(t, c, "create view public.mine as select thread_id from langgraph.checkpoints")
	before := dump(t, m)
	require.NoError(t, m.Goto(t.Context(), 1))
	err := m.Goto(t.Context(), 0)
	var failure *migrations.MigrationError
	require.ErrorAs(t, err, &failure)
	require.Equal(t, migrations.DirectionDown, failure.Direction)
	require.Equal(t, 1, failure.Version)
	require.ErrorContains(t, err, "view public.mine depends on table langgraph.checkpoints")
	require.ErrorContains(t, err, "migrations never cascade")
	require.Equal(t, 1, version(t, m))
	require.NoError(t, m.Up(t.Context()))
	require.Equal(t, before, dump(t, m))
}

func TestALockThatOthersHoldGivesAClearError(t *testing.T) {
	t.Parallel()
	c := newDatabase(t)
	m := newMigrator(t, c, &migrations.Config{LockTimeout: 50 * time.Millisecond})
	require.NoError(t, m.Goto(t.Context(), 2))
	reader := connect(t, c)
	tx, err := reader.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "select from langgraph.store")
	require.NoError(t, err)

	err = m.Down(t.Context(), 1)
	var failure *migrations.MigrationError
	require.ErrorAs(t, err, &failure)
	require.ErrorContains(t, err, "SQLSTATE 55P03")
	require.ErrorContains(t, err, "pg_blocking_pids")
	require.Equal(t, 2, version(t, m))
	require.NoError(t, tx.Rollback(t.Context()))
	require.NoError(t, m.Down(t.Context(), 1))
}

// onMessage tells a test that a record was logged.
type onMessage struct {
	slog.Handler
	message string
	seen    chan struct{}
}

func (h onMessage) Enabled(context.Context, slog.Level) bool { return true }

func (h onMessage) Handle(_ context.Context, r slog.Record) error {
	if r.Message == h.message {
		close(h.seen)
	}
	return nil
}

func TestTheWaitForAnotherMigratorIsEndedByTheContextAlone(t *testing.T) {
	t.Parallel()
	c := newDatabase(t)
	other := connect(t, c)
	tx, err := other.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "select pg_advisory_xact_lock(hashtextextended('pgweft migrate langgraph', 0))")
	require.NoError(t, err)

	waiting := onMessage{message: "waiting for another migrator of this schema", seen: make(chan struct{})}
	// A lock timeout this short would end the wait at once if it applied to it.
	m := newMigrator(t, c, &migrations.Config{Logger: slog.New(waiting), LockTimeout: time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- m.Up(ctx) }()
	<-waiting.seen
	// The advisory lock is waited for in the database itself: look until it is.
	for value[int](t, c, "select count(*) from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())") == 0 {
		require.NoError(t, t.Context().Err())
	}
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.NoError(t, tx.Rollback(t.Context()))
	require.Equal(t, 0, value[int](t, c, "select count(*) from pg_namespace where nspname = 'langgraph'"))
}

func TestADirtySchemaIsRefusedWithTheWayOut(t *testing.T) {
	t.Parallel()
	c := newDatabase(t)
	m := newMigrator(t, c, &migrations.Config{Schema: "my agents"})
	require.NoError(t, m.Goto(t.Context(), 3))
	execute(t, c, `update "my agents".schema_migrations set dirty = true`)

	_, verifyErr := m.Verify(t.Context())
	for command, err := range map[string]error{
		"up": m.Up(t.Context()), "down": m.Down(t.Context(), 1), "goto": m.Goto(t.Context(), 0), "verify": verifyErr,
	} {
		require.ErrorIs(t, err, migrations.ErrDirty, command)
		require.ErrorContains(t, err, "migrate print --schema 'my agents' --from 2 --to 3", command)
		require.ErrorContains(t, err, "migrate force 3 --schema 'my agents'    if it is there", command)
		require.ErrorContains(t, err, "migrate force 2 --schema 'my agents'    if it is not", command)
	}
	v, err := m.Version(t.Context())
	require.NoError(t, err)
	require.Equal(t, migrations.Version{Number: 3, Dirty: true, Latest: m.Latest()}, v)

	require.NoError(t, m.Force(t.Context(), 3))
	require.NoError(t, m.Up(t.Context()))
	drifts, err := m.Verify(t.Context())
	require.NoError(t, err)
	require.Empty(t, drifts)
}

func TestASchemaFromTheFutureIsRefused(t *testing.T) {
	t.Parallel()
	c := newDatabase(t)
	m := newMigrator(t, c, nil)
	require.NoError(t, m.Up(t.Context()))
	execute(t, c, "update langgraph.schema_migrations set version = 9000")
	before := dump(t, m)
	_, verifyErr := m.Verify(t.Context())
	for command, err := range map[string]error{
		"up": m.Up(t.Context()), "down": m.Down(t.Context(), 1), "goto": m.Goto(t.Context(), 1), "verify": verifyErr,
	} {
		require.ErrorIs(t, err, migrations.ErrNewerSchema, command)
		require.ErrorContains(t, err, fmt.Sprintf(`schema "langgraph" is at version 9000 and this binary knows versions up to %d; upgrade the binary`, m.Latest()), command)
	}
	require.Equal(t, before, dump(t, m))
	require.Equal(t, 9000, version(t, m))
}

func TestVersionsThatDoNotExistAreRefused(t *testing.T) {
	t.Parallel()
	c := newDatabase(t)
	m := newMigrator(t, c, nil)
	require.NoError(t, m.Goto(t.Context(), 2))
	for name, err := range map[string]error{
		"down past 0":   m.Down(t.Context(), 3),
		"down by 0":     m.Down(t.Context(), 0),
		"goto below 0":  m.Goto(t.Context(), -1),
		"goto beyond":   m.Goto(t.Context(), m.Latest()+1),
		"force beyond":  m.Force(t.Context(), m.Latest()+1),
		"print beyond":  m.Print(&strings.Builder{}, 0, m.Latest()+1),
		"print below 0": m.Print(&strings.Builder{}, -1, 1),
	} {
		require.ErrorIs(t, err, migrations.ErrNoSuchVersion, name)
	}
	require.ErrorContains(t, m.Down(t.Context(), 3), "is at version 2, so at most 2 migrations can be undone, not 3")
	require.Equal(t, 2, version(t, m))
}

func TestSessionsThatMoveTheSchemaTheOtherWayAreNoticed(t *testing.T) {
	t.Parallel()
	c := newDatabase(t)
	// Between our first and our second step somebody takes the first one back.
	undo := func(record slog.Record) {
		if record.Message == "migrated up" {
			execute(t, c, "truncate langgraph.schema_migrations; drop table langgraph.first")
		}
	}
	m := newMigrator(t, c, &migrations.Config{Files: failing, Logger: slog.New(each(undo))})
	require.ErrorContains(t, m.Up(t.Context()), "was at version 1, and another session has moved it to 0 meanwhile")
}

type each func(slog.Record)

func (e each) Enabled(context.Context, slog.Level) bool      { return true }
func (e each) Handle(_ context.Context, r slog.Record) error { e(r); return nil }
func (e each) WithAttrs([]slog.Attr) slog.Handler            { return e }
func (e each) WithGroup(string) slog.Handler                 { return e }

func TestMigrationsMustBeCompleteAndNumberedWithoutAGap(t *testing.T) {
	t.Parallel()
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	tests := []struct {
		name  string
		files fstest.MapFS
		want  string
	}{
		{"a gap", fstest.MapFS{"000002_b.up.sql": file("select 1;"), "000002_b.down.sql": file("select 1;")}, "none has version 1"},
		{"no way back", fstest.MapFS{"000001_a.up.sql": file("select 1;")}, "000001_a must have an up and a down file"},
		{"two names", fstest.MapFS{"000001_a.up.sql": file("select 1;"), "000001_b.down.sql": file("select 1;")}, "version 1 has two names"},
		{"a name that says nothing", fstest.MapFS{"tables.sql": file("select 1;")}, "NNNNNN_name.up.sql"},
		{"transaction control", fstest.MapFS{"000001_a.up.sql": file("select 1;\ncommit;")}, `line 2: "commit" controls the transaction`},
		{"a statement that does not end", fstest.MapFS{"000001_a.up.sql": file("select 1")}, "does not end in a semicolon"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, err := pgx.ParseConfig("host=localhost")
			require.NoError(t, err)
			_, err = migrations.New(c, &migrations.Config{Files: test.files})
			require.ErrorContains(t, err, test.want)
		})
	}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	c, err := pgx.ParseConfig("host=localhost")
	require.NoError(t, err)
	_, err = migrations.New(nil, nil)
	require.ErrorContains(t, err, "connConfig is nil")
	_, err = migrations.New(c, &migrations.Config{LockTimeout: -1})
	require.ErrorContains(t, err, "must not be negative")
	_, err = migrations.New(c, &migrations.Config{Schema: "pg_x"})
	require.ErrorContains(t, err, "Postgres reserves it")
}

func TestALostConnectionLeavesTheMigrationUndone(t *testing.T) {
	t.Parallel()
	c := newDatabase(t)
	lost := maps.Clone(failing)
	lost["000002_second.up.sql"] = &fstest.MapFile{Data: []byte("create table @extschema@.second (id int);\nselect pg_terminate_backend(pg_backend_pid());")}
	m := newMigrator(t, c, &migrations.Config{Files: lost})
	var failure *migrations.MigrationError
	require.ErrorAs(t, m.Up(t.Context()), &failure)
	require.Equal(t, 2, failure.Line)
	require.Equal(t, 1, version(t, m))
	require.Equal(t, "create table @extschema@.first (\n  id integer\n);\n", dump(t, m))
}

func TestACancelledMigrationIsUndone(t *testing.T) {
	t.Parallel()
	c := newDatabase(t)
	slow := maps.Clone(failing)
	slow["000002_second.up.sql"] = &fstest.MapFile{Data: []byte("do $x$ begin raise notice 'it runs'; perform pg_sleep(600); end $x$;")}
	running := onMessage{message: "server says", seen: make(chan struct{})}
	m := newMigrator(t, c, &migrations.Config{Files: slow, Logger: slog.New(running)})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- m.Up(ctx) }()
	<-running.seen
	cancel()
	err := <-ended
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "migration 000002_second (up) failed and was rolled back")
	require.Equal(t, 1, version(t, m))
	require.Equal(t, 0, value[int](t, c, "select count(*) from pg_stat_activity where datname = current_database() and query like '%pg_sleep(600)%' and pid <> pg_backend_pid()"),
		"the server was told to stop")
}

func TestAnUnreachableServerIsAConnectError(t *testing.T) {
	t.Parallel()
	c := newDatabase(t)
	c.Database += "_absent"
	m := newMigrator(t, c, nil)
	var connectErr *pgconn.ConnectError
	require.ErrorAs(t, m.Up(t.Context()), &connectErr)
}
