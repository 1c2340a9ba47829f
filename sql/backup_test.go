package sql_test

import (
	"bytes"
	"context"
	"os"
	osexec "os/exec"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/internal/pgclients"
	"github.com/pgweft/pgweft/migrations"
)

// ownedBackup is a schema that a role without superuser's rights owns, and how it is backed up and restored.
type ownedBackup struct {
	db            *pgxpool.Pool
	schema, owner string
}

// owned gives a schema to a role of its own.
func owned(t *testing.T, db *pgxpool.Pool, schema string) *ownedBackup {
	t.Helper()
	b := &ownedBackup{db: db, schema: schema, owner: newRole(t, db)}
	exec(t, db, quoted(`
		do $$
		declare
			v_object record;
		begin
			for v_object in
				select 'schema' as kind, n.oid::regnamespace::text as name from pg_namespace n where n.oid in ('@'::regnamespace, '@_analytics'::regnamespace)
				union all
				select case c.relkind when 'v' then 'view' else 'table' end, c.oid::regclass::text
				from pg_class c where c.relnamespace in ('@'::regnamespace, '@_analytics'::regnamespace) and c.relkind in ('r', 'v')
				union all
				select 'routine', p.oid::regprocedure::text from pg_proc p where p.pronamespace in ('@'::regnamespace, '@_analytics'::regnamespace)
			loop
				execute format('alter %s %s owner to `+b.owner+`', v_object.kind, v_object.name);
			end loop;
		end $$`, schema))
	return b
}

// run has a client do its work, and returns what it printed and what it complained of.
func (b *ownedBackup) run(t *testing.T, input []byte, env []string, client string, arguments ...string) ([]byte, string) {
	t.Helper()
	command := osexec.CommandContext(t.Context(), pgclients.Find(t, client), arguments...)
	command.Env = append(os.Environ(), env...)
	command.Stdin = bytes.NewReader(input)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		require.NotEmpty(t, stderr.String(), err)
	}
	return stdout.Bytes(), stderr.String()
}

// dump has pg_dump write the two schemas, as docs/dba.md does.
func (b *ownedBackup) dump(t *testing.T, env []string, options ...string) ([]byte, string) {
	t.Helper()
	return b.run(t, nil, env, "pg_dump", append([]string{
		"--format=custom", "--schema=" + pgx.Identifier{b.schema}.Sanitize(),
		"--schema=" + pgx.Identifier{b.schema + "_analytics"}.Sanitize(), "--dbname=" + b.db.Config().ConnString(),
	}, options...)...)
}

// restore has pg_restore make the schemas in another database.
func (b *ownedBackup) restore(t *testing.T, archive []byte, options ...string) *pgxpool.Pool {
	t.Helper()
	target := newDatabase(t)
	exec(t, target, "grant create on database "+target.Config().ConnConfig.Database+" to "+b.owner)
	t.Cleanup(func() { // roles cannot go while something here is theirs
		for _, role := range []string{b.owner, roleOf(b.schema, "app"), roleOf(b.schema, "reader"), roleOf(b.schema, "ops")} {
			_, err := target.Exec(context.WithoutCancel(t.Context()), "drop owned by "+role+" cascade")
			require.NoError(t, err)
		}
	})
	_, said := b.run(t, archive, nil, "pg_restore", append([]string{"--exit-on-error", "--dbname=" + target.Config().ConnString()}, options...)...)
	require.Empty(t, said)
	return target
}

// contents are all that a backup is for: rows, objects, owners, rights, and the rules that divide rows between tenants.
func (b *ownedBackup) contents(t *testing.T, db *pgxpool.Pool) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, name := range column[string](t, db, "select relname from pg_class where relnamespace = $1::regnamespace and relkind = 'r'",
		pgx.Identifier{b.schema}.Sanitize()) {
		all["rows of "+name] = value[string](t, db, "select coalesce(string_agg(r::text, E'\n' order by r::text), '') from "+
			pgx.Identifier{b.schema, name}.Sanitize()+" r")
	}
	for name, sql := range map[string]string{
		"owners": `select string_agg(o.name || ' ' || pg_get_userbyid(o.owner), E'\n' order by o.name) from (
			select c.oid::regclass::text as name, c.relowner as owner from pg_class c where c.relnamespace in ('@'::regnamespace, '@_analytics'::regnamespace)
			union all select p.oid::regprocedure::text, p.proowner from pg_proc p where p.pronamespace in ('@'::regnamespace, '@_analytics'::regnamespace)) o`,
		"rights": `select string_agg(concat_ws(' ', o.name, a.grantee, a.privilege_type), E'\n' order by o.name, a.grantee, a.privilege_type) from (
			select c.oid::regclass::text as name, c.relacl as acl from pg_class c where c.relnamespace in ('@'::regnamespace, '@_analytics'::regnamespace)
			union all select p.oid::regprocedure::text, p.proacl from pg_proc p where p.pronamespace in ('@'::regnamespace, '@_analytics'::regnamespace)
			union all select n.nspname, n.nspacl from pg_namespace n where n.oid in ('@'::regnamespace, '@_analytics'::regnamespace)
			union all select c.oid::regclass || '.' || a.attname, a.attacl from pg_attribute a join pg_class c on c.oid = a.attrelid
				where c.relnamespace = '@'::regnamespace) o, aclexplode(o.acl) a`,
		"policies": `select coalesce(string_agg(p::text, E'\n' order by p::text), '') from pg_policies p`,
		"row-level security": `select string_agg(concat_ws(' ', relname, relrowsecurity, relforcerowsecurity), E'\n' order by relname)
			from pg_class where relnamespace = '@'::regnamespace`,
		"triggers": `select string_agg(pg_get_triggerdef(t.oid), E'\n' order by t.tgrelid::regclass::text, t.tgname)
			from pg_trigger t join pg_class c on c.oid = t.tgrelid where c.relnamespace = '@'::regnamespace and not t.tgisinternal`,
		"constraints": `select string_agg(concat_ws(' ', conrelid::regclass, conname, pg_get_constraintdef(oid)), E'\n' order by conrelid::regclass::text, conname)
			from pg_constraint where connamespace = '@'::regnamespace`,
		"indexes": `select string_agg(pg_get_indexdef(i.indexrelid), E'\n' order by i.indexrelid::regclass::text)
			from pg_index i join pg_class c on c.oid = i.indrelid where c.relnamespace = '@'::regnamespace`,
	} {
		all[name] = value[string](t, db, quoted(sql, b.schema))
	}
	return all
}

func (b *ownedBackup) requireRestored(t *testing.T, target *pgxpool.Pool) {
	t.Helper()
	require.Equal(t, b.contents(t, b.db), b.contents(t, target))
	m, err := migrations.New(target.Config().ConnConfig, &migrations.Config{Schema: b.schema})
	require.NoError(t, err)
	drifts, err := m.Verify(t.Context())
	require.NoError(t, err)
	for _, d := range drifts {
		require.True(t, d.Harmless, "%v", d)
	}
}

func TestABackupBringsEverythingBack(t *testing.T) {
	t.Parallel()
	db, schema := withRoles(t)
	// What these make is in no migration, and a backup has to bring it.
	for _, enable := range []string{"enable_vector_index(2)", "enable_text_index('english')", "enable_filter_index()", "enable_guards()"} {
		exec(t, db, quoted("select @."+enable, schema))
	}
	b := owned(t, db, schema)
	for _, call := range smoke {
		switch call.function {
		case "put_checkpoint", "put_writes", "put_step", "fork_thread", "pin_checkpoint", "set_thread_ttl", "set_retention_policy":
			require.NoError(t, attempt(t.Context(), db, quoted(call.sql, schema)), call.function)
		}
	}
	exec(t, db, quoted("insert into @.store (prefix, key, value, expires_at, ttl_minutes) values ('p', 'k', '{\"é\": [1.50]}', now(), 0.5)", schema))
	exec(t, db, quoted(`
		select @.store_put(array['p'], array['v'], array['{"t": "an apple"}'::jsonb], array[null]::double precision[],
			array[1], array['t'], array['\x01'::bytea], array[true], array[1, 2]);
		select @.put_checkpoint('gone', '', 'c1', null, '{"id": "c1"}', '{}');
		select @.delete_thread('gone')`, schema))
	for who, options := range map[string][]string{"a superuser": nil, "the owner": {"--role=" + b.owner}} {
		// One after the other: what one drops of the owner's, its right to the other's database is part of.
		t.Run("by "+who, func(t *testing.T) {
			archive, said := b.dump(t, nil, options...)
			require.Empty(t, said)
			target := b.restore(t, archive, options...)
			b.requireRestored(t, target)
			inTx(t, target, func(tx pgx.Tx) { // and it is no museum
				exec(t, tx, quoted("select @.put_checkpoint('t', '', 'c9', 'c2', '{\"id\": \"c9\", \"channel_versions\": {\"m\": \"1\"}}', '{}')", schema))
				require.Equal(t, "c9", value[string](t, tx, quoted("select checkpoint_id from @.get_checkpoint('t')", schema)))
				require.Equal(t, 0, value[int](t, tx, quoted("select count(*) from @.fsck()", schema)))
				require.Equal(t, []string{"v"}, column[string](t, tx, quoted("select key from @.store_search('p', p_query_vector => '{1, 2}')", schema)))
				require.Equal(t, []string{"v"}, column[string](t, tx, quoted("select key from @.store_search('p', p_query_text => 'apples')", schema)))
				requireState(t, "LG005", attempt(t.Context(), tx, quoted("select @.put_checkpoint('gone', '', 'c2', null, '{\"id\": \"c2\"}', '{}')", schema)))
			})
		})
	}
}

func TestABackupOfADividedSchemaHasEveryTenant(t *testing.T) {
	t.Parallel()
	for _, mode := range tenancyModes {
		t.Run("by "+mode, func(t *testing.T) {
			t.Parallel()
			d := divided(t, mode)
			b := owned(t, d.db, d.schema)
			exec(t, d.db, quoted("select @.enable_tenancy($1)", d.schema), mode) // which binds the new owner
			d.fill(t, "alice")
			role := "--role=" + b.owner

			_, said := b.dump(t, nil, role)
			require.Contains(t, said, "query would be affected by row-level security policy", "the owner is told")
			if mode == "setting" {
				_, said = b.dump(t, nil, role, "--enable-row-security")
				require.Contains(t, said, "no tenant is set")
			}

			across := []string{"PGOPTIONS=-c langgraph.across_tenants=on"}
			for name, take := range map[string]func(t *testing.T) *pgxpool.Pool{
				"the owner, who says that it is for all tenants": func(t *testing.T) *pgxpool.Pool {
					t.Helper()
					archive, said := b.dump(t, across, role, "--enable-row-security")
					require.Empty(t, said)
					return b.restore(t, archive, role)
				},
				"a superuser": func(t *testing.T) *pgxpool.Pool {
					t.Helper()
					archive, said := b.dump(t, nil)
					require.Empty(t, said)
					return b.restore(t, archive)
				},
			} {
				t.Run(name, func(t *testing.T) {
					target := &tenancy{db: b.db, schema: d.schema, mode: mode, roles: d.roles}
					counts := func() map[string]int {
						seen := map[string]int{}
						for who := range d.roles {
							target.as(t, who, func(tx pgx.Tx) {
								seen[who] = value[int](t, tx, quoted("select count(*) from @.checkpoints", d.schema))
							})
						}
						return seen
					}
					want := counts()
					require.Positive(t, want["alice"])
					require.Zero(t, want["bob"])
					target.db = take(t)
					t.Cleanup(func() {
						for _, role := range d.roles {
							_, err := target.db.Exec(context.WithoutCancel(t.Context()), "drop owned by "+pgx.Identifier{role}.Sanitize()+" cascade")
							require.NoError(t, err)
						}
					})
					b.requireRestored(t, target.db)
					require.Equal(t, want, counts())
					target.as(t, "bob", func(tx pgx.Tx) {
						requireRefused(t, refusal{"LG007", "belongs to another tenant", "used it first", "another thread id"},
							attempt(t.Context(), tx, quoted("insert into @.checkpoints (thread_id, checkpoint_id, checkpoint) values ('t', 'x', '{}')", d.schema)))
					})
				})
			}
		})
	}
}
