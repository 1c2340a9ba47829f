package sql_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// tenancy is a schema divided between tenants, and how to become one.
type tenancy struct {
	db     *pgxpool.Pool
	schema string
	mode   string
	roles  map[string]string
}

var tenancyModes = []string{"setting", "role"}

// divided makes a schema with roles and two tenants, alice and bob, each a login's role of its own. All may run everything
// that is not owner's, so that row-level security alone keeps them apart.
func divided(t *testing.T, mode string) *tenancy {
	t.Helper()
	db, schema := withRoles(t)
	d := &tenancy{db: db, schema: schema, mode: mode, roles: map[string]string{}}
	for _, tenant := range []string{"alice", "bob"} {
		role := schema + " " + tenant
		d.roles[tenant] = role
		exec(t, db, "create role "+pgx.Identifier{role}.Sanitize()+" nosuperuser")
		t.Cleanup(func() { dropRole(t, db, role) })
		exec(t, db, quoted("grant usage on schema @, @_analytics to "+pgx.Identifier{role}.Sanitize(), schema))
		exec(t, db, quoted("grant execute on all routines in schema @, @_analytics to "+pgx.Identifier{role}.Sanitize(), schema))
		exec(t, db, quoted("grant all on all tables in schema @, @_analytics to "+pgx.Identifier{role}.Sanitize(), schema))
	}
	exec(t, db, quoted("select @.enable_tenancy($1)", schema), mode)
	return d
}

// tenant is the value of the column tenant for one of the two.
func (d *tenancy) tenant(name string) string {
	if d.mode == "role" {
		return d.roles[name]
	}
	return name
}

// become makes the rest of a transaction a tenant's.
func (d *tenancy) become(t *testing.T, tx pgx.Tx, name string) {
	t.Helper()
	exec(t, tx, "set local role "+pgx.Identifier{d.roles[name]}.Sanitize())
	if d.mode == "setting" {
		exec(t, tx, "select set_config('langgraph.tenant', $1, true)", name)
	}
}

func (d *tenancy) as(t *testing.T, name string, do func(pgx.Tx)) {
	t.Helper()
	inTx(t, d.db, func(tx pgx.Tx) {
		d.become(t, tx, name)
		do(tx)
	})
}

// fill saves as a tenant what every smoke call looks for, and commits it.
func (d *tenancy) fill(t *testing.T, name string) {
	t.Helper()
	tx, err := d.db.Begin(t.Context())
	require.NoError(t, err)
	d.become(t, tx, name)
	for _, call := range smoke {
		switch call.function {
		case "put_checkpoint", "put_writes", "put_step", "copy_thread", "set_thread_ttl", "pin_checkpoint", "fork_checkpoint":
			require.NoError(t, attempt(t.Context(), tx, quoted(call.sql, d.schema)), call.function)
		}
	}
	exec(t, tx, quoted("insert into @.store (prefix, key, value) values ('p', 'k', '{\"secret\": 1}')", d.schema))
	require.NoError(t, tx.Commit(t.Context()))
}

// answer is all that a statement says: its rows, or its error.
func answer(t *testing.T, tx pgx.Tx, sql string) string {
	t.Helper()
	result := ""
	inSavepoint(t, tx, func(sp pgx.Tx) {
		rows, err := sp.Query(t.Context(), sql)
		var lines []string
		if err == nil {
			lines, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
				values, err := row.Values()
				return fmt.Sprint(values), err
			})
		}
		var pgErr *pgconn.PgError
		if errors.As(err, &pgErr) {
			result = fmt.Sprintf("%s: %s %s", pgErr.Code, pgErr.Message, pgErr.Detail)
			return
		}
		require.NoError(t, err, sql)
		result = strings.Join(lines, "\n")
	})
	return result
}

// untold are calls whose result is another each time.
var untold = []string{"new_checkpoint_id"}

func TestNoFunctionOrViewTellsOneTenantOfAnother(t *testing.T) {
	t.Parallel()
	for _, mode := range tenancyModes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			// What bob sees beside alice has to be what he sees alone.
			beside, alone := divided(t, mode), divided(t, mode)
			beside.fill(t, "alice")
			exec(t, beside.db, quoted("call @.sweep()", beside.schema))
			owned := value[int](t, beside.db, quoted("select count(*) from @.checkpoints", beside.schema))
			require.Greater(t, owned, 2)

			normal := func(d *tenancy, text string) string {
				text = strings.ReplaceAll(text, d.schema, "<schema>")
				return strings.ReplaceAll(text, strings.ReplaceAll(d.schema, `"`, `""`), "<schema>")
			}
			told := map[string][2]string{}
			for i, d := range []*tenancy{beside, alone} {
				d.as(t, "bob", func(tx pgx.Tx) {
					for _, call := range smoke {
						pair := told[call.function]
						pair[i] = normal(d, answer(t, tx, quoted(call.sql, d.schema)))
						told[call.function] = pair
					}
				})
			}
			for function, pair := range told {
				switch {
				case slices.Contains(untold, function):
				case strings.HasPrefix(pair[0], "LG007: thread 't' belongs to another tenant"):
					// A write to alice's thread; all that bob learns is that the id is taken.
				default:
					require.Equal(t, pair[1], pair[0], function)
				}
			}
			for _, function := range []string{"put_checkpoint", "put_writes", "put_step", "set_thread_ttl"} {
				require.Contains(t, told[function][0], "LG007: thread 't' belongs to another tenant", function)
			}
			require.Equal(t, owned, value[int](t, beside.db, quoted("select count(*) from @.checkpoints", beside.schema)), "nothing of hers went")
		})
	}
}

func TestNoTableTellsOneTenantOfAnother(t *testing.T) {
	t.Parallel()
	for _, mode := range tenancyModes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			d := divided(t, mode)
			d.fill(t, "alice")
			exec(t, d.db, quoted("insert into @.retention_policies (name, keep_last) values ('p', 1)", d.schema))
			exec(t, d.db, quoted("call @.sweep()", d.schema))
			shared := []string{"checkpoint_migrations", "schema_migrations", "store_migrations", "vector_migrations"}
			relations := column[string](t, d.db, quoted(`
				select c.oid::regclass::text from pg_class c
				where c.relnamespace in ('@'::regnamespace, '@_analytics'::regnamespace) and c.relkind in ('r', 'p', 'v', 'm') and c.relname <> all ($1)
				order by 1`, d.schema), shared)
			require.Greater(t, len(relations), 11)
			for _, relation := range relations {
				if strings.HasSuffix(relation, ".settings") {
					continue
				}
				d.as(t, "alice", func(tx pgx.Tx) {
					if strings.HasPrefix(relation, pgx.Identifier{d.schema}.Sanitize()+".") && !strings.HasSuffix(relation, ".retention_policies") &&
						!strings.HasSuffix(relation, ".deleted_threads") {
						require.Positive(t, value[int](t, tx, "select count(*)::int from "+relation), relation)
					}
				})
				d.as(t, "bob", func(tx pgx.Tx) {
					require.Zero(t, value[int](t, tx, "select count(*)::int from "+relation), relation)
				})
			}
			d.as(t, "bob", func(tx pgx.Tx) {
				require.Equal(t, []string{"tenancy"}, column[string](t, tx, quoted("select key from @.settings", d.schema)))
				for _, table := range []string{"checkpoints", "checkpoint_blobs", "checkpoint_writes", "store", "thread_ttls", "checkpoint_pins"} {
					tag, err := tx.Exec(t.Context(), quoted("update @."+table+" set created_at = now()", d.schema))
					require.NoError(t, err)
					require.Zero(t, tag.RowsAffected(), table)
					tag, err = tx.Exec(t.Context(), quoted("delete from @."+table, d.schema))
					require.NoError(t, err)
					require.Zero(t, tag.RowsAffected(), table)
				}
			})
		})
	}
}

func TestGuardsSeeTheThreadsOfEveryTenant(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"setting", "role"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			d := divided(t, mode)
			exec(t, d.db, quoted("select @.enable_guards()", d.schema))
			d.as(t, "alice", func(tx pgx.Tx) {
				for _, id := range []string{"1", "2"} {
					exec(t, tx, quoted(`insert into @.checkpoints (thread_id, checkpoint_ns, checkpoint_id, checkpoint, metadata)
						values ('guarded', '', $1, '{}', '{}')`, d.schema), id)
				}
				exec(t, tx, quoted("delete from @.checkpoints where thread_id = 'guarded' and checkpoint_id = '1'", d.schema))
				exec(t, tx, quoted(`insert into @.checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
					values ('guarded', '', 'm', '1', 'json', '1')`, d.schema))
				inSavepoint(t, tx, func(tx pgx.Tx) {
					requireState(t, "LG003", attempt(t.Context(), tx, quoted(`insert into @.checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
						values ('guarded', '', 'm', '1', 'json', '2') on conflict do nothing`, d.schema)))
				})
				exec(t, tx, quoted(`insert into @.checkpoints (thread_id, checkpoint_ns, checkpoint_id, checkpoint, metadata)
					values ('guarded', '', '3', '{}', '{}')`, d.schema))
				exec(t, tx, quoted("delete from @.checkpoints where thread_id = 'guarded'", d.schema))
				requireState(t, "LG005", attempt(t.Context(), tx, quoted(`insert into @.checkpoints (thread_id, checkpoint_ns, checkpoint_id, checkpoint, metadata)
					values ('guarded', '', '4', '{}', '{}')`, d.schema)))
			})
		})
	}
}

func TestEveryTableIsDividedOrShared(t *testing.T) {
	t.Parallel()
	d := divided(t, "setting")
	require.Equal(t, []string{"checkpoint_migrations", "schema_migrations", "store_migrations", "vector_migrations"},
		column[string](t, d.db, quoted(`
			select c.relname from pg_class c
			where c.relnamespace = '@'::regnamespace and c.relkind in ('r', 'p') and not c.relrowsecurity order by 1`, d.schema)),
		"whoever adds a table says in tenant_tables how it is divided")
	require.Equal(t, []string{"deleted_threads", "retention_policies", "settings", "thread_tenants"}, column[string](t, d.db, quoted(`
		select c.relname from pg_class c
		where c.relnamespace = '@'::regnamespace and c.relrowsecurity and not c.relforcerowsecurity order by 1`, d.schema)),
		"the owner, too, is bound wherever agents' data are")
	require.Empty(t, column[string](t, d.db, quoted(`
		select c.oid::regclass::text from pg_class c
		where c.relnamespace = '@_analytics'::regnamespace and c.relkind = 'v' and not 'security_invoker=true' = any (c.reloptions)`, d.schema)))
}

func TestWithoutATenantNothingIsToldAndNothingSaved(t *testing.T) {
	t.Parallel()
	d := divided(t, "setting")
	d.fill(t, "alice")
	want := refusal{"LG007", "no tenant is set", "Row-level security is on", "set_config('langgraph.tenant'"}
	for _, sql := range []string{
		"select * from @.get_checkpoint('t')",
		"select * from @.list_checkpoints()",
		"select * from @.list_threads()",
		"select * from @_analytics.checkpoints",
		"select * from @.checkpoint_blobs where thread_id = 't'",
		"select * from @.store",
		"select @.delete_thread('t')",
		`select @.put_checkpoint('n', '', 'c1', null, '{"id": "c1"}', '{}')`,
		"insert into @.store (prefix, key, value) values ('p', 'k2', '{}')",
		"select * from @.thread_tenants",
	} {
		asRole(t, d.db, d.schema, "app", func(tx pgx.Tx) {
			if strings.Contains(sql, "thread_tenants") || strings.Contains(sql, "_analytics") {
				exec(t, tx, "reset role")
				exec(t, tx, "set local role "+pgx.Identifier{d.roles["bob"]}.Sanitize())
			}
			err := attempt(t.Context(), tx, quoted(sql, d.schema))
			require.Error(t, err, sql)
			requireRefused(t, want, err)
		})
	}
	// Empty is not a tenant, and neither is one that an earlier transaction of the connection named.
	asRole(t, d.db, d.schema, "app", func(tx pgx.Tx) {
		exec(t, tx, "set local langgraph.tenant = ''")
		requireRefused(t, want, attempt(t.Context(), tx, quoted("select * from @.get_checkpoint('t')", d.schema)))
	})
	conn := connectAs(t, d.db, roleOf(d.schema, "app"))
	exec(t, conn, quoted("select set_config('langgraph.tenant', 'alice', true), count(*) from @.schema_info()", d.schema))
	requireRefused(t, want, attempt(t.Context(), conn, quoted("select * from @.get_checkpoint('t')", d.schema)))
}

func TestTheTenantIsToldByTransactionOrAtTheStartOfASession(t *testing.T) {
	t.Parallel()
	d := divided(t, "setting")
	d.fill(t, "alice")
	counts := func(q querier) int {
		return value[int](t, q, quoted("select count(*)::int from @.get_checkpoint('t')", d.schema))
	}
	require.Equal(t, 1, counts(connectAs(t, d.db, roleOf(d.schema, "app"), "options", "-c langgraph.tenant=alice")))
	require.Equal(t, 0, counts(connectAs(t, d.db, roleOf(d.schema, "app"), "options", "-c langgraph.tenant=bob")))
	require.Equal(t, 1, counts(connectAs(t, d.db, roleOf(d.schema, "app"), "langgraph.tenant", "alice")))
	// One transaction after the other on one connection, as a pooler in transaction mode makes them.
	conn := connectAs(t, d.db, roleOf(d.schema, "app"))
	for _, c := range []struct {
		tenant string
		count  int
	}{{"alice", 1}, {"bob", 0}, {"alice", 1}} {
		inTx(t, conn, func(tx pgx.Tx) {
			exec(t, tx, "select set_config('langgraph.tenant', $1, true)", c.tenant)
			require.Equal(t, c.count, counts(tx))
		})
	}
}

func TestATenantCannotGiveOrTakeRows(t *testing.T) {
	t.Parallel()
	for _, mode := range tenancyModes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			d := divided(t, mode)
			d.fill(t, "alice")
			alice := d.tenant("alice")
			for sql, code := range map[string]string{
				"insert into @.checkpoints (thread_id, checkpoint_id, checkpoint, tenant) values ('new', 'c', '{}', $1)":                                                          "42501",
				"insert into @.checkpoints (thread_id, checkpoint_id, checkpoint, tenant) values ('t', 'c', '{}', $1)":                                                            "42501",
				"insert into @.store (prefix, key, value, tenant) values ('p', 'k9', '{}', $1)":                                                                                   "42501",
				"insert into @.store (prefix, key, value) values ('p', 'k', to_jsonb($1::text)) on conflict do nothing":                                                           "LG007",
				"insert into @.store (prefix, key, value) values ('p', 'k', to_jsonb($1::text)) on conflict (prefix, key) do update set value = excluded.value":                   "LG007",
				"insert into @.checkpoint_blobs (thread_id, channel, version, type, blob) values ('t', 'm', '1', $1, '') on conflict do nothing":                                  "LG007",
				"insert into @.checkpoint_writes (thread_id, checkpoint_id, task_id, idx, channel, type, blob) values ('t', 'c1', 'task', 0, 'x', $1, '') on conflict do nothing": "LG007",
				"insert into @.thread_tenants (thread_id, tenant) values ('mine', $1)":                                                                                            "42501",
			} {
				d.as(t, "bob", func(tx pgx.Tx) {
					err := attempt(t.Context(), tx, quoted(sql, d.schema), alice)
					require.Error(t, err, sql)
					requireState(t, code, err)
				})
			}
			d.as(t, "bob", func(tx pgx.Tx) {
				exec(t, tx, quoted("insert into @.store (prefix, key, value) values ('p', 'bob', '{}')", d.schema))
				requireState(t, "42501", attempt(t.Context(), tx, quoted("update @.store set tenant = $1", d.schema), alice))
			})
			// A search_path of his own does not change what a tenant is.
			d.as(t, "bob", func(tx pgx.Tx) {
				exec(t, tx, "reset role")
				exec(t, tx, quoted("create schema evil; grant usage on schema evil to public", d.schema))
				exec(t, tx, "create function evil.current_setting(text, boolean) returns text language sql as $$ select 'alice' $$")
				exec(t, tx, "create function evil.pg_has_role(name, regrole, text) returns boolean language sql as $$ select true $$")
				d.become(t, tx, "bob")
				exec(t, tx, "set local search_path = evil, pg_catalog")
				require.Zero(t, value[int](t, tx, quoted("select count(*)::int from @.checkpoints", d.schema)))
			})
		})
	}
}

func TestOperatorsWorkAcrossTenantsOrForOne(t *testing.T) {
	t.Parallel()
	for _, mode := range tenancyModes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			d := divided(t, mode)
			d.fill(t, "alice")
			threads := quoted("select string_agg(thread_id, ' ' order by thread_id) from @.list_threads()", d.schema)
			asRole(t, d.db, d.schema, "ops", func(tx pgx.Tx) {
				require.Equal(t, "copy t", value[string](t, tx, threads))
				exec(t, tx, "select set_config('langgraph.tenant', $1, true)", d.tenant("bob"))
				require.Nil(t, value[*string](t, tx, threads), "acting for bob")
				exec(t, tx, "select set_config('langgraph.tenant', $1, true)", d.tenant("alice"))
				require.Equal(t, "copy t", value[string](t, tx, threads))
				exec(t, tx, quoted("select @.set_thread_ttl('t', '2 days')", d.schema))
			})
			asRole(t, d.db, d.schema, "ops", func(tx pgx.Tx) {
				requireRefused(t, refusal{"LG007", "no tenant is set", "Nobody would own", "langgraph.tenant"},
					attempt(t.Context(), tx, quoted("select @.set_thread_ttl('x', '1 day')", d.schema)))
			})
			exec(t, d.db, quoted("insert into @.retention_policies (name, keep_last) values ('p', 1)", d.schema))
			exec(t, d.db, quoted("select @.unpin_checkpoint('t', '', 'c1')", d.schema))
			exec(t, connectAs(t, d.db, roleOf(d.schema, "ops")), quoted("call @.sweep()", d.schema))
			d.as(t, "alice", func(tx pgx.Tx) {
				require.Equal(t, 1, value[int](t, tx, quoted("select count(*)::int from @.list_checkpoints('t', '')", d.schema)))
			})
		})
	}
}

func TestTheOwnerIsBoundUnlessItSaysOtherwise(t *testing.T) {
	t.Parallel()
	d := divided(t, "setting")
	owner := newRole(t, d.db)
	exec(t, d.db, "grant create on database "+d.db.Config().ConnConfig.Database+" to "+owner)
	for _, name := range column[string](t, d.db, quoted(`select c.oid::regclass::text from pg_class c
		where c.relnamespace in ('@'::regnamespace, '@_analytics'::regnamespace) and c.relkind in ('r', 'v')`, d.schema)) {
		exec(t, d.db, "alter table "+name+" owner to "+owner)
	}
	for _, name := range column[string](t, d.db, quoted(`select p.oid::regprocedure::text from pg_proc p
		where p.pronamespace in ('@'::regnamespace, '@_analytics'::regnamespace)`, d.schema)) {
		exec(t, d.db, "alter routine "+name+" owner to "+owner)
	}
	exec(t, d.db, quoted("grant all on schema @, @_analytics to "+owner, d.schema))
	as(t, d.db, owner, func(tx pgx.Tx) {
		exec(t, tx, quoted("select @.enable_tenancy('setting')", d.schema)) // again, after a change of owner
		require.NoError(t, tx.Commit(t.Context()))
	})
	d.fill(t, "alice")
	count := quoted("select count(*)::int from @.checkpoints", d.schema)
	as(t, d.db, owner, func(tx pgx.Tx) {
		inSavepoint(t, tx, func(sp pgx.Tx) { requireState(t, "LG007", attempt(t.Context(), sp, count)) })
		exec(t, tx, "set local langgraph.across_tenants = 'on'")
		require.Positive(t, value[int](t, tx, count))
	})
	d.as(t, "bob", func(tx pgx.Tx) {
		exec(t, tx, "set local langgraph.across_tenants = 'on'")
		require.Zero(t, value[int](t, tx, count), "that is for the owner")
		requireState(t, "LG007", attempt(t.Context(), tx,
			quoted("insert into @.store (prefix, key, value) values ('p', 'k', '{}') on conflict do nothing", d.schema)))
	})
}

func TestTenancyIsEnabledOnDataAndTakenBack(t *testing.T) {
	t.Parallel()
	db, schema := withRoles(t)
	exec(t, db, quoted(`select @.put_checkpoint('old', '', 'c1', null, '{"id": "c1"}', '{}')`, schema))
	requireRefused(t, refusal{"LG002", "invalid tenancy", "belong to no tenant", "p_existing"},
		attempt(t.Context(), db, quoted("select @.enable_tenancy('setting')", schema)))
	for _, mode := range []any{nil, "schema"} {
		requireRefused(t, refusal{"LG002", "invalid tenancy", "mode", `"role" or "setting"`},
			attempt(t.Context(), db, quoted("select @.enable_tenancy($1)", schema), mode))
	}
	exec(t, db, quoted("select @.enable_tenancy('setting', 'first')", schema))
	exec(t, db, quoted("select @.enable_tenancy('setting')", schema)) // again is fine
	newest := func(tenant string) *string {
		var id *string
		asRole(t, db, schema, "app", func(tx pgx.Tx) {
			exec(t, tx, "select set_config('langgraph.tenant', $1, true)", tenant)
			id = value[*string](t, tx, quoted("select max(checkpoint_id) from @.get_checkpoint('old')", schema))
		})
		return id
	}
	require.NotNil(t, newest("first"))
	require.Nil(t, newest("second"))
	require.JSONEq(t, `{"mode": "setting"}`, value[string](t, db, quoted("select (features -> 'settings' -> 'tenancy')::text from @.schema_info()", schema)))

	exec(t, db, quoted("select @.disable_tenancy()", schema))
	require.NotNil(t, newest("second"), "everybody sees everything again")
	exec(t, db, quoted(`select @.put_checkpoint('between', '', 'c1', null, '{"id": "c1"}', '{}')`, schema))
	exec(t, db, quoted("select @.enable_tenancy('setting', 'second')", schema))
	require.NotNil(t, newest("first"), "who owned what was remembered")
	require.Nil(t, newest("second"))
	require.Equal(t, "second", value[string](t, db, quoted("select tenant from @.thread_tenants where thread_id = 'between'", schema)))

	exec(t, db, quoted("select @.disable_tenancy(p_forget => true)", schema))
	require.Empty(t, column[string](t, db, quoted(`
		select a.attrelid::regclass::text from pg_attribute a join pg_class c on c.oid = a.attrelid
		where c.relnamespace = '@'::regnamespace and c.relname <> 'thread_tenants' and a.attname = 'tenant' and not a.attisdropped
		union all select polname from pg_policy p join pg_class c on c.oid = p.polrelid where c.relnamespace = '@'::regnamespace
		union all select relname from pg_class where relnamespace = '@'::regnamespace and (relrowsecurity or relforcerowsecurity)
		union all select tgname from pg_trigger t join pg_class c on c.oid = t.tgrelid where c.relnamespace = '@'::regnamespace and tgname like 'tenancy%'
		union all select relname from pg_class where relnamespace = '@'::regnamespace and relname like '%\_tenant\_%'`, schema)))
	require.Zero(t, value[int](t, db, quoted("select count(*)::int from @.thread_tenants", schema)))
	require.NotNil(t, newest("nobody"))
}
