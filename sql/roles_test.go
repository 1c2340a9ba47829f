package sql_test

import (
	"context"
	"errors"
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/migrations"
)

// newSchema is a migrated schema whose name no other test uses, because its roles belong to the whole server; they are
// dropped at the end. Its name needs quoting.
func newSchema(t *testing.T) (*pgxpool.Pool, string) {
	t.Helper()
	db := newDatabase(t)
	schema := "S-" + strings.TrimPrefix(db.Config().ConnConfig.Database, "pgweft_")
	m, err := migrations.New(db.Config().ConnConfig, &migrations.Config{Schema: schema})
	require.NoError(t, err)
	require.NoError(t, m.Up(t.Context()))
	t.Cleanup(func() {
		for _, role := range []string{"app", "reader", "ops"} {
			dropRole(t, db, schema+"_"+role)
		}
	})
	return db, schema
}

func dropRole(t *testing.T, db *pgxpool.Pool, role string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	name := pgx.Identifier{role}.Sanitize()
	_, err := db.Exec(ctx, "drop owned by "+name+" cascade; drop role "+name)
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) && pgErr.Code == "42704" {
		return // the test did not make it
	}
	require.NoError(t, err)
}

// withRoles is newSchema with its roles granted.
func withRoles(t *testing.T) (*pgxpool.Pool, string) {
	t.Helper()
	db, schema := newSchema(t)
	exec(t, db, quoted("select @.grant_roles()", schema))
	return db, schema
}

func roleOf(schema, role string) string { return pgx.Identifier{schema + "_" + role}.Sanitize() }

// asRole runs do in a transaction under one of the schema's roles; it is rolled back.
func asRole(t *testing.T, db *pgxpool.Pool, schema, role string, do func(pgx.Tx)) {
	t.Helper()
	as(t, db, roleOf(schema, role), do)
}

// codes runs every smoke call, each against what the owner's calls made, and gives the SQLSTATE of each; "" is success.
func codes(t *testing.T, db *pgxpool.Pool, schema, role string) map[string]string {
	t.Helper()
	got := map[string]string{}
	inTx(t, db, func(tx pgx.Tx) {
		exec(t, tx, quoted("insert into @.retention_policies (name, keep_last) values ('p', 1)", schema))
		for _, call := range smoke {
			inSavepointKept(t, tx, func(sp pgx.Tx) error {
				exec(t, sp, "set local role "+roleOf(schema, role))
				err := attempt(t.Context(), sp, quoted(call.sql, schema))
				var pgErr *pgconn.PgError
				if errors.As(err, &pgErr) {
					got[call.function] = pgErr.Code
				} else {
					require.NoError(t, err, call.function)
					got[call.function] = ""
				}
				return errors.New("each call is undone, and with it the role")
			})
			inSavepointKept(t, tx, func(sp pgx.Tx) error {
				return attempt(t.Context(), sp, quoted(call.sql, schema)) // as the owner, for the calls that follow
			})
		}
	})
	return got
}

// allowed are the functions and views of the schema that a role has rights on, by role_rights.
func allowed(t *testing.T, db *pgxpool.Pool, schema, role string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, name := range column[string](t, db, quoted(`
		select p.proname from @.role_rights() r join pg_proc p on p.oid = r.object::regprocedure
		where r.kind = 'routine' and r.role = $1
		union all
		select c.relname from @.role_rights() r join pg_class c on c.oid = r.object::regclass
		where r.kind = 'table' and c.relkind = 'v' and r.role = $1`, schema), role) {
		names[name] = true
	}
	return names
}

func TestEveryRoleCanDoItsJobAndNothingElse(t *testing.T) {
	t.Parallel()
	db, schema := withRoles(t)
	wants := map[string]string{}
	for _, call := range smoke {
		wants[call.function] = ""
		if regexp.MustCompile(`^(LG00\d|2D000|0A000|42P01)$`).MatchString(call.want) {
			wants[call.function] = call.want
		}
	}
	const denied = "42501"
	for role, exceptions := range map[string]map[string]string{
		"app": {"checkpoints_touch": ""},
		"ops": {
			"checkpoints_touch": "",
			// An operator is no tenant.
			"missing_tenant": "",
		},
	} {
		may := allowed(t, db, schema, role)
		for function, got := range codes(t, db, schema, role) {
			want, ok := exceptions[function]
			switch {
			case ok:
			case !may[function]:
				want = denied
			default:
				want = wants[function]
			}
			require.Equal(t, want, got, "%s as %s", function, role)
		}
	}

	// The reader may call whatever only reads, and gets no values.
	may := allowed(t, db, schema, "reader")
	var refused []string
	for function, got := range codes(t, db, schema, "reader") {
		switch {
		case !may[function]:
			require.Equal(t, denied, got, "%s as reader", function)
		case got == denied:
			refused = append(refused, function)
		default:
			require.Equal(t, wants[function], got, "%s as reader", function)
		}
	}
	for _, function := range []string{"get_checkpoint", "list_checkpoints", "checkpoint_values", "channel_blobs", "pending_writes"} {
		require.Contains(t, refused, function, "values are not for readers")
	}
	for _, function := range []string{"list_threads", "ancestors", "schema_info", "checkpoints"} {
		require.NotContains(t, refused, function, "the shape of threads is")
	}

	exec(t, db, quoted("select @.grant_roles(p_reader_values => true)", schema))
	for function, got := range codes(t, db, schema, "reader") {
		if may[function] {
			require.Equal(t, wants[function], got, "%s as reader with values", function)
		}
	}
}

func TestRightsOnTablesAreTheLeast(t *testing.T) {
	t.Parallel()
	db, schema := withRoles(t)
	exec(t, db, quoted(`select @.put_checkpoint('t', '', 'c1', null, '{"id": "c1", "channel_versions": {"m": "1"}}', '{}',
		array['m'], array['1'], array['msgpack'], array['\x9107'::bytea])`, schema))
	for _, c := range []struct {
		role, sql string
		may       bool
	}{
		{"app", "insert into @.store (prefix, key, value) values ('p', 'k', '{}') on conflict (prefix, key) do update set value = excluded.value", true},
		{"app", "insert into @.checkpoint_blobs (thread_id, channel, version, type, blob) values ('t', 'm', '1', 'x', '') on conflict (thread_id, checkpoint_ns, channel, version) do nothing", true},
		{"app", "insert into @.checkpoint_writes (thread_id, checkpoint_id, task_id, idx, channel, blob) values ('t', 'c1', 'a', 0, 'm', '') " +
			"on conflict (thread_id, checkpoint_ns, checkpoint_id, task_id, idx) do update set blob = excluded.blob", true},
		{"app", "insert into @.checkpoints (thread_id, checkpoint_id, checkpoint) values ('t', 'c1', '{}') " +
			"on conflict (thread_id, checkpoint_ns, checkpoint_id) do update set checkpoint = excluded.checkpoint", true},
		{"app", "delete from @.checkpoints where thread_id = 't'", true},
		{"app", "select v from @.checkpoint_migrations order by v desc limit 1", true},
		{"app", "select v from @.store_migrations union all select v from @.vector_migrations", true},
		{"app", "insert into @.checkpoint_migrations (v) values (10)", false},
		{"app", "update @.checkpoint_blobs set blob = ''", false},
		{"app", "truncate @.checkpoints", false},
		{"app", "create table @.mine (id int)", false},
		{"app", "create table if not exists @.checkpoint_migrations (v integer primary key)", false},
		{"app", "create index on @.checkpoints (type)", false},
		{"app", "alter table @.checkpoints disable trigger all", false},
		{"app", "drop table @.store", false},
		{"app", "insert into @.retention_policies (name, keep_last) values ('p', 1)", false},
		{"app", "insert into @.checkpoint_pins (thread_id, checkpoint_id) values ('t', 'c1')", false},
		{"app", "delete from @.checkpoint_pins", false},
		{"app", "update @.settings set value = '{}'", false},
		{"app", "update @.schema_migrations set version = 1", false},
		{"app", "select from @_analytics.checkpoints", false},
		{"reader", "select thread_id, metadata from @.checkpoints", true},
		{"reader", "select thread_id, channel, version, type from @.checkpoint_blobs", true},
		{"reader", "select thread_id, source from @_analytics.checkpoints", true},
		{"reader", "select prefix, key, updated_at from @.store", true},
		{"reader", "select blob from @.checkpoint_blobs", false},
		{"reader", "select * from @.checkpoint_writes", false},
		{"reader", "select checkpoint from @.checkpoints", false},
		{"reader", "select value from @.store", false},
		{"reader", "select thread_id from @_analytics.checkpoint_blobs", false},
		{"reader", "select from @.retention_policies", false},
		{"reader", "delete from @.checkpoints", false},
		{"reader", "create table @_analytics.mine (id int)", false},
		{"ops", "select blob from @.checkpoint_blobs", true},
		{"ops", "select value from @_analytics.checkpoint_blobs", true},
		{"ops", "delete from @.retention_policies", true},
		{"ops", "insert into @.checkpoints (thread_id, checkpoint_id, checkpoint) values ('t', 'c2', '{}')", false},
		{"ops", "insert into @.checkpoint_writes (thread_id, checkpoint_id, task_id, idx, channel, blob) values ('t', 'c1', 'a', 0, 'm', '')", false},
		{"ops", "delete from @.settings", false},
		{"ops", "create table @.mine (id int)", false},
		{"ops", "truncate @.checkpoints", false},
	} {
		asRole(t, db, schema, c.role, func(tx pgx.Tx) {
			err := attempt(t.Context(), tx, quoted(c.sql, schema))
			if c.may {
				require.NoError(t, err, "%s: %s", c.role, c.sql)
				return
			}
			require.Error(t, err, "%s: %s", c.role, c.sql)
			requireState(t, "42501", err)
		})
	}
	exec(t, db, quoted("select @.grant_roles(p_reader_values => true)", schema))
	exec(t, db, quoted("select @.grant_roles()", schema)) // which leaves that as it is
	asRole(t, db, schema, "reader", func(tx pgx.Tx) {
		require.Equal(t, "[7]", value[string](t, tx, quoted("select value::text from @_analytics.checkpoint_blobs", schema)))
	})
	exec(t, db, quoted("select @.grant_roles(p_reader_values => false)", schema))
	asRole(t, db, schema, "reader", func(tx pgx.Tx) {
		requireState(t, "42501", attempt(t.Context(), tx, quoted("select value from @_analytics.checkpoint_blobs", schema)))
	})
}

func TestTheOperatorsRoleSweeps(t *testing.T) {
	t.Parallel()
	db, schema := withRoles(t)
	conn := connectAs(t, db, roleOf(schema, "ops"))
	exec(t, conn, quoted("call @.sweep()", schema))
	require.True(t, value[bool](t, conn, quoted("select (value ->> 'done')::boolean from @.settings where key = 'sweep'", schema)))
	app := connectAs(t, db, roleOf(schema, "app"))
	requireState(t, "42501", attempt(t.Context(), app, quoted("call @.sweep()", schema)))
}

// connectAs is a session whose role is set from its start, with settings as startup options.
func connectAs(t *testing.T, db *pgxpool.Pool, role string, settings ...string) *pgx.Conn {
	t.Helper()
	config := db.Config().ConnConfig.Copy()
	for i := 0; i < len(settings); i += 2 {
		config.RuntimeParams[settings[i]] = settings[i+1]
	}
	conn, err := pgx.ConnectConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close(context.WithoutCancel(t.Context()))) })
	exec(t, conn, "set role "+role)
	return conn
}

func TestEveryRoutineIsClassified(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	require.Empty(t, column[string](t, db, `
		select p.oid::regprocedure::text from pg_proc p
		where p.pronamespace in ('langgraph'::regnamespace, 'langgraph_analytics'::regnamespace) and p.prorettype <> 'trigger'::regtype
			and not exists (select from langgraph.role_rights() r where r.kind = 'routine' and r.object::regprocedure = p.oid)`),
		"whoever adds a volatile routine says in role_rights who may call it")
	require.Empty(t, column[string](t, db, `
		select r.object from langgraph.role_rights() r join pg_proc p on p.oid = case when r.kind = 'routine' then r.object::regprocedure end
		where r.role = 'owner' and p.provolatile <> 'v'`))
	require.Empty(t, column[string](t, db, `
		select c.oid::regclass::text from pg_class c
		where c.relnamespace in ('langgraph'::regnamespace, 'langgraph_analytics'::regnamespace) and c.relkind in ('r', 'p', 'v', 'm')
			and not exists (select from langgraph.role_rights() r where r.kind = 'table' and r.object::regclass = c.oid)`),
		"whoever adds a table or view says there who may use it")

	exec(t, db, "create function langgraph.newcomer() returns void language sql as 'select'")
	requireRefused(t, refusal{"LG002", "invalid routines", "langgraph.newcomer()", "another schema"},
		attempt(t.Context(), db, "select langgraph.grant_roles(true)"))
}

func TestGrantingIsRepeatableAndTakesBackWhatIsTooMuch(t *testing.T) {
	t.Parallel()
	db, schema := newSchema(t)
	grants := quoted(`
		select string_agg(concat_ws(' ', o.name, a.grantee::regrole, a.privilege_type), E'\n' order by o.name, a.grantee::regrole::text, a.privilege_type)
		from (
			select c.oid::regclass::text as name, c.relacl as acl from pg_class c where c.relnamespace in ('@'::regnamespace, '@_analytics'::regnamespace)
			union all select p.oid::regprocedure::text, p.proacl from pg_proc p where p.pronamespace in ('@'::regnamespace, '@_analytics'::regnamespace)
			union all select n.nspname, n.nspacl from pg_namespace n where n.oid in ('@'::regnamespace, '@_analytics'::regnamespace)
			union all select a.attrelid::regclass || '.' || a.attname, a.attacl from pg_attribute a join pg_class c on c.oid = a.attrelid
				where c.relnamespace = '@'::regnamespace
		) o, aclexplode(o.acl) a`, schema)
	planned := column[string](t, db, quoted("select @.grant_roles(true)", schema))
	require.Empty(t, column[string](t, db, "select rolname from pg_roles where rolname like $1", schema+"\\_%"), "a dry run makes nothing")
	require.Equal(t, planned, column[string](t, db, quoted("select @.grant_roles()", schema)))
	first := value[string](t, db, grants)
	require.Equal(t, []bool{false, false, false}, column[bool](t, db, "select rolcanlogin from pg_roles where rolname like $1", schema+"\\_%"))

	exec(t, db, quoted("grant all on all tables in schema @ to "+roleOf(schema, "reader"), schema))
	exec(t, db, quoted("grant create on schema @ to "+roleOf(schema, "app"), schema))
	exec(t, db, quoted("grant execute on all routines in schema @ to "+roleOf(schema, "app"), schema))
	exec(t, db, quoted("revoke all on @.store from "+roleOf(schema, "app"), schema))
	require.NotEqual(t, first, value[string](t, db, grants))
	exec(t, db, quoted("select @.grant_roles(p_reader_values => false)", schema))
	require.Equal(t, first, value[string](t, db, grants))

	inTx(t, db, func(tx pgx.Tx) {
		exec(t, tx, "alter role "+roleOf(schema, "ops")+" bypassrls")
		requireRefused(t, refusal{"LG002", "invalid roles", schema + "_ops", "nobypassrls"},
			attempt(t.Context(), tx, quoted("select @.grant_roles()", schema)))
	})
}

func TestWhoMayNotMakeRolesIsToldWhatTo(t *testing.T) {
	t.Parallel()
	schema := strings.Repeat("o", 40)
	conn := installed(t, schema)
	requireRefused(t, refusal{"42501", "permission denied to create role", "create role", "migrate roles --print"},
		attempt(t.Context(), conn, quoted("select @.grant_roles()", schema)))
}

func TestTheSmokeHasNoFunctionTwice(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for _, call := range smoke {
		seen[call.function]++
	}
	maps.DeleteFunc(seen, func(_ string, n int) bool { return n == 1 })
	require.Empty(t, seen)
}
