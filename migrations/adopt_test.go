package migrations_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/migrations"
)

// saverSteps are what each of the migrations of LangGraph's Python saver leaves behind; 0 to 4 are also the JavaScript
// saver's. interop/python adopts what the real library makes.
var saverSteps = []string{
	`create table checkpoint_migrations (v int primary key)`,
	`create table checkpoints (thread_id text not null, checkpoint_ns text not null default '', checkpoint_id text not null,
		parent_checkpoint_id text, type text, checkpoint jsonb not null, metadata jsonb not null default '{}',
		primary key (thread_id, checkpoint_ns, checkpoint_id))`,
	`create table checkpoint_blobs (thread_id text not null, checkpoint_ns text not null default '', channel text not null,
		version text not null, type text not null, blob bytea not null, primary key (thread_id, checkpoint_ns, channel, version))`,
	`create table checkpoint_writes (thread_id text not null, checkpoint_ns text not null default '', checkpoint_id text not null,
		task_id text not null, idx int not null, channel text not null, type text, blob bytea not null,
		primary key (thread_id, checkpoint_ns, checkpoint_id, task_id, idx))`,
	`alter table checkpoint_blobs alter blob drop not null`,
	``,
	`create index checkpoints_thread_id_idx on checkpoints (thread_id)`,
	`create index checkpoint_blobs_thread_id_idx on checkpoint_blobs (thread_id)`,
	`create index checkpoint_writes_thread_id_idx on checkpoint_writes (thread_id)`,
	`alter table checkpoint_writes add task_path text not null default ''`,
}

// storeSteps are the same for its Python store; versions count the steps from 0.
var storeSteps = []string{
	`create table store (prefix text not null, key text not null, value jsonb not null, created_at timestamptz default current_timestamp,
		updated_at timestamptz default current_timestamp, primary key (prefix, key))`,
	`create index store_prefix_idx on store (prefix text_pattern_ops)`,
	`alter table store add expires_at timestamptz, add ttl_minutes int`,
	`create index idx_store_expires_at on store (expires_at) where expires_at is not null`,
}

// vectorTable has real[] for the extension's type, which makes no difference to an adoption.
const vectorTable = `create table vector_migrations (v int primary key); insert into vector_migrations select generate_series(0, 2);
	create table store_vectors (prefix text not null, key text not null, field_name text not null, embedding real[],
		created_at timestamptz default current_timestamp, updated_at timestamptz default current_timestamp,
		primary key (prefix, key, field_name), foreign key (prefix, key) references store (prefix, key) on delete cascade)`

func saverAt(version int) string {
	return strings.Join(saverSteps[:version+1], ";\n") + fmt.Sprintf(";\ninsert into checkpoint_migrations select generate_series(0, %d);\n", version)
}

func storeAt(version int) string {
	return "create table store_migrations (v int primary key);\n" + strings.Join(storeSteps[:version+1], ";\n") +
		fmt.Sprintf(";\ninsert into store_migrations select generate_series(0, %d);\n", version)
}

// threads fills the saver's tables as far as they are there: a thread of two checkpoints as Python writes it.
func threads(version int) string {
	sql := ""
	if version >= 1 {
		sql += `insert into checkpoints values
			('t', '', '1', null, null, '{"v": 4, "id": "1", "ts": "2026-02-28T10:00:00.5+00:00", "channel_versions": {"a": "1.5"}}', '{"step": -1}'),
			('t', '', '2', '1', null, '{"v": 4, "id": "2", "ts": "2028-02-29T10:00:00+02:00", "channel_versions": {"a": "1.5"}}', '{"step": 0}'),
			('T', '', '3', null, null, '{"v": 1, "id": "3", "ts": "2026-02-30T99:00:00", "channel_versions": {}}', '{}');`
	}
	if version >= 2 {
		sql += `insert into checkpoint_blobs values ('t', '', 'a', '1.5', 'msgpack', '\xc0'), ('T', '', 'a', '1', 'bytes', '');`
	}
	if version >= 3 {
		sql += `insert into checkpoint_writes (thread_id, checkpoint_id, task_id, idx, channel, type, blob)
			values ('t', '2', 'task', 0, 'a', 'msgpack', '\xc0'), ('t', '2', 'task', -1, '__error__', null, '');`
	}
	return sql
}

const items = `insert into store (prefix, key, value, created_at, updated_at) values ('a.b', 'k', '{"n": 1}', '2026-01-01', '2026-01-02'),
	('A', 'k', '{}', null, null);`

// adopted makes a database with LangGraph's tables in schema public.
func langgraphDatabase(t *testing.T, sql ...string) *pgx.ConnConfig {
	t.Helper()
	c := newDatabase(t)
	for _, statements := range sql {
		execute(t, c, statements)
	}
	return c
}

// shipped is the dump of what Up makes in an empty database.
func shipped(t *testing.T) string {
	t.Helper()
	shippedOnce.Do(func() {
		m := newMigrator(t, newDatabase(t), nil)
		require.NoError(t, m.Up(t.Context()))
		shippedDump = dump(t, m)
	})
	require.NotEmpty(t, shippedDump)
	return shippedDump
}

var (
	shippedOnce sync.Once
	shippedDump string
)

func requireShipped(t *testing.T, m *migrations.Migrator) {
	t.Helper()
	require.Equal(t, shipped(t), dump(t, m))
	drifts, err := m.Verify(t.Context())
	require.NoError(t, err)
	require.Empty(t, drifts)
	require.Equal(t, m.Latest(), version(t, m))
}

func TestEveryVersionOfLangGraphsTablesIsAdopted(t *testing.T) {
	t.Parallel()
	for v := range saverSteps {
		for _, schema := range []string{"langgraph", "public", oddSchema} {
			if schema == oddSchema && v%9 != 0 {
				continue
			}
			t.Run(fmt.Sprintf("the saver's at version %d to schema %s", v, schema), func(t *testing.T) {
				t.Parallel()
				c := langgraphDatabase(t, saverAt(v), threads(v))
				m := newMigrator(t, c, &migrations.Config{Schema: schema})
				plan, err := m.Adopt(t.Context(), "public")
				require.NoError(t, err)
				require.Equal(t, v, plan.Found[0].Version)
				requireShipped(t, m)
				requireThreads(t, c, schema, v)
			})
		}
	}
	for v := range storeSteps {
		for _, vectors := range []string{"", vectorTable} {
			t.Run(fmt.Sprintf("the store's at version %d, vectors %t", v, vectors != ""), func(t *testing.T) {
				t.Parallel()
				c := langgraphDatabase(t, storeAt(v), items, vectors)
				m := newMigrator(t, c, nil)
				plan, err := m.Adopt(t.Context(), "public")
				require.NoError(t, err)
				require.Equal(t, "LangGraph's Python store", plan.Found[0].Name)
				require.Equal(t, v, plan.Found[0].Version)
				drifts, err := m.Verify(t.Context())
				require.NoError(t, err)
				require.Empty(t, drifts)
				require.Equal(t, "A k {} t, a.b k {\"n\": 1} f", value[string](t, c, `
					select string_agg(concat_ws(' ', prefix, key, value, created_at > '2026-06-01'), ', ' order by prefix) from langgraph.store`))
				require.Equal(t, []int{0, 1, 2, 3}, value[[]int](t, c, `select array_agg(v order by v) from langgraph.store_migrations`))
			})
		}
	}
}

func requireThreads(t *testing.T, c *pgx.ConnConfig, schema string, v int) {
	t.Helper()
	in := pgx.Identifier{schema}.Sanitize()
	count := func(table string) int { return value[int](t, c, "select count(*) from "+in+"."+table) }
	require.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, value[[]int](t, c, `select array_agg(v order by v) from `+in+`.checkpoint_migrations`))
	if v < 1 {
		return
	}
	require.Equal(t, 3, count("checkpoints"))
	require.Equal(t, []time.Time{
		time.Date(2026, 2, 28, 10, 0, 0, 5e8, time.UTC), time.Date(2028, 2, 29, 8, 0, 0, 0, time.UTC),
	}, value[[]time.Time](t, c, `select array_agg(created_at at time zone 'UTC' order by checkpoint_id) from `+in+`.checkpoints where thread_id = 't'`))
	require.True(t, value[bool](t, c, `select created_at > now() - interval '1 hour' and updated_at = created_at from `+in+`.checkpoints where thread_id = 'T'`),
		"a time that is none becomes that of the adoption")
	if v >= 2 {
		require.Equal(t, []string{"bytes", "msgpack"}, value[[]string](t, c, `select array_agg(type order by thread_id) from `+in+`.checkpoint_blobs`))
	}
	if v >= 3 {
		require.Equal(t, []int{-1, 0}, value[[]int](t, c, `select array_agg(idx order by idx) from `+in+`.checkpoint_writes where task_path = ''`))
	}
}

func TestThePlanSaysWhatThereIsAndChangesNothing(t *testing.T) {
	t.Parallel()
	c := langgraphDatabase(t, saverAt(9), threads(9), storeAt(3), items, vectorTable)
	before := newMigrator(t, c, &migrations.Config{Schema: "public"})
	was := dump(t, before)
	m := newMigrator(t, c, nil)
	plan, err := m.PlanAdoption(t.Context(), "public")
	require.NoError(t, err)
	require.Equal(t, was, dump(t, before))
	require.Equal(t, 0, version(t, m))
	require.Equal(t, 0, value[int](t, c, `select count(*) from pg_namespace where nspname = 'langgraph'`))

	require.Equal(t, []migrations.AdoptedDialect{
		{Name: "LangGraph's Python saver", Version: 9, Latest: 9},
		{Name: "LangGraph's Python store", Version: 3, Latest: 3},
		{Name: "vectors of LangGraph's Python store", Version: 2, Latest: 2},
	}, plan.Found)
	require.Equal(t, "LangGraph's Python saver, at version 9 of 9 of its migrations", plan.Found[0].String())
	var rows []int64
	var names []string
	var rewritten []bool
	for _, table := range plan.Tables {
		names, rows, rewritten = append(names, table.Name), append(rows, table.Rows), append(rewritten, table.Rewritten)
		require.Positive(t, table.Bytes)
	}
	require.Equal(t, []string{"checkpoints", "checkpoint_blobs", "checkpoint_writes", "store", "store_vectors"}, names)
	require.Equal(t, []int64{3, 2, 2, 2, 0}, rows)
	require.Equal(t, []bool{true, false, false, true, false}, rewritten)
	require.Equal(t, `lock table "public"."checkpoint_migrations", "public"."checkpoints", "public"."checkpoint_blobs", "public"."checkpoint_writes", `+
		`"public"."store_migrations", "public"."store", "public"."vector_migrations", "public"."store_vectors" in access exclusive mode`, plan.Steps[0].SQL)
	require.Contains(t, plan.Notes[0], "options=-c search_path=langgraph")

	_, err = m.Adopt(t.Context(), "public")
	require.NoError(t, err)
	drifts, err := m.Verify(t.Context())
	require.NoError(t, err)
	require.Empty(t, drifts)
}

func TestTheEstimateGrowsWithTheTables(t *testing.T) {
	t.Parallel()
	c := langgraphDatabase(t, saverAt(9))
	m := newMigrator(t, c, nil)
	estimate := func() time.Duration {
		plan, err := m.PlanAdoption(t.Context(), "public")
		require.NoError(t, err)
		return plan.Estimate()
	}
	empty := estimate()
	execute(t, c, `insert into checkpoints select 't', '', i::text, null, null, '{}', '{}' from generate_series(1, 20000) i; analyze`)
	require.Greater(t, estimate(), empty)
}

func TestTheSaverIsKnownByTheVersionsItWrites(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		version    int
		python, js bool
		want       string
		remark     string
	}{
		"only numbers":       {4, false, true, "LangGraph's JavaScript saver", "integer versions"},
		"both":               {9, true, true, "LangGraph's Python and JavaScript savers", "integer versions"},
		"only text, early":   {4, true, false, "LangGraph's Python saver", ""},
		"nothing, early":     {4, false, false, "LangGraph's Python or JavaScript saver, which left no checkpoint", ""},
		"nothing, but later": {5, false, false, "LangGraph's Python saver", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := langgraphDatabase(t, saverAt(test.version))
			if test.python {
				execute(t, c, threads(1))
			}
			if test.js {
				execute(t, c, `insert into checkpoints values ('js', '', '1', '', null, '{"channel_versions": {"a": 2, "__start__": 1}}')`)
			}
			plan, err := newMigrator(t, c, nil).Adopt(t.Context(), "public")
			require.NoError(t, err)
			require.Equal(t, test.want, plan.Found[0].Name)
			require.Contains(t, strings.Join(plan.Notes, "\n"), test.remark)
		})
	}
}

func TestHalfDoneMigrationsOfLangGraphAreFinished(t *testing.T) {
	t.Parallel()
	t.Run("indexes that were never finished go, and others are named", func(t *testing.T) {
		t.Parallel()
		c := langgraphDatabase(t, saverAt(6), threads(6), `create index mine on checkpoints (type);
			update pg_index set indisvalid = false where indexrelid in ('checkpoints_thread_id_idx'::regclass, 'mine'::regclass);
			delete from checkpoint_migrations where v = 6`)
		m := newMigrator(t, c, nil)
		plan, err := m.Adopt(t.Context(), "public")
		require.NoError(t, err)
		require.Equal(t, 5, plan.Found[0].Version)
		notes := strings.Join(plan.Notes, "\n")
		require.Contains(t, notes, "Index checkpoints_thread_id_idx was never finished (a CREATE INDEX CONCURRENTLY that failed); it is not needed and goes.")
		require.Contains(t, notes, `Index mine was never finished, so no query uses it; mend it with: reindex index concurrently "langgraph"."mine"`)
		drifts, err := m.Verify(t.Context())
		require.NoError(t, err)
		require.Len(t, drifts, 1)
		require.True(t, drifts[0].Harmless)
		require.Equal(t, "index mine of table langgraph.checkpoints", drifts[0].Object)
	})
	t.Run("tables that were never made are made", func(t *testing.T) {
		t.Parallel()
		c := langgraphDatabase(t, saverAt(1), threads(1))
		m := newMigrator(t, c, nil)
		plan, err := m.Adopt(t.Context(), "public")
		require.NoError(t, err)
		require.Contains(t, plan.Notes[0], "did not get as far as table checkpoint_blobs")
		requireShipped(t, m)
	})
	t.Run("a column that is missing against what the version says is made", func(t *testing.T) {
		t.Parallel()
		c := langgraphDatabase(t, saverAt(9), threads(9), `alter table checkpoint_writes drop task_path`)
		m := newMigrator(t, c, nil)
		plan, err := m.Adopt(t.Context(), "public")
		require.NoError(t, err)
		require.Contains(t, plan.Notes[0], "column task_path of table checkpoint_writes is there, and it is not; it is made now")
		requireShipped(t, m)
	})
	t.Run("a missing version table is made", func(t *testing.T) {
		t.Parallel()
		c := langgraphDatabase(t, saverAt(9), `drop table checkpoint_migrations`)
		m := newMigrator(t, c, nil)
		plan, err := m.Adopt(t.Context(), "public")
		require.NoError(t, err)
		require.Equal(t, "LangGraph's Python or JavaScript saver, which left no checkpoint, which keeps no version there", plan.Found[0].String())
		requireShipped(t, m)
	})
}

func TestColumnsIndexesAndRightsOfTheOwnersStay(t *testing.T) {
	t.Parallel()
	c := langgraphDatabase(t, saverAt(9), threads(9),
		`alter table checkpoints add created_at timestamptz default current_timestamp, add note text;
		 update checkpoints set created_at = '2020-01-01' where checkpoint_id = '1';
		 update checkpoints set created_at = null where checkpoint_id = '2';
		 alter table checkpoint_blobs add created_at timestamptz default '2021-01-01';
		 create index mine on checkpoint_writes (channel)`)
	role, as := newRole(t, c)
	execute(t, c, `grant select, insert, update, delete on checkpoints, checkpoint_blobs, checkpoint_writes, checkpoint_migrations to `+role)
	m := newMigrator(t, c, nil)
	_, err := m.Adopt(t.Context(), "public")
	require.NoError(t, err)
	require.Equal(t, []string{"2020-01-01", "2028-02-29"}, value[[]string](t, c, `
		select array_agg(to_char(created_at at time zone 'UTC', 'YYYY-MM-DD') order by checkpoint_id) from langgraph.checkpoints where thread_id = 't'`),
		"what was noted stays, and what is missing is the checkpoint's own time")
	require.Equal(t, "2021-01-01", value[string](t, c, `select min(created_at)::date::text from langgraph.checkpoint_blobs`))
	require.Equal(t, 3, value[int](t, as, `select count(*) from langgraph.checkpoints`), "the role reaches the tables where they are now")
	drifts, err := m.Verify(t.Context())
	require.NoError(t, err)
	var objects []string
	for _, d := range drifts {
		require.True(t, d.Harmless, d)
		objects = append(objects, d.Object)
	}
	require.Contains(t, objects, "column note of table langgraph.checkpoints")
	require.Contains(t, objects, "index mine of table langgraph.checkpoint_writes")
}

func TestWhatCannotBeAdoptedIsRefusedWithEveryReason(t *testing.T) {
	t.Parallel()
	jsStore := `create table store_migrations (v int primary key); create table store (namespace_path text not null, key text not null,
		value jsonb not null, created_at timestamptz, updated_at timestamptz, expires_at timestamptz, primary key (namespace_path, key));`
	for name, test := range map[string]struct {
		setup   string
		config  *migrations.Config
		from    string
		reasons []string
	}{
		"nothing":        {from: "public", reasons: []string{"it has no table of LangGraph's (checkpoint_migrations, checkpoints, "}},
		"no such schema": {from: "nowhere", reasons: []string{"there is no such schema"}},
		"a JavaScript store": {setup: saverAt(4) + jsStore, from: "public", reasons: []string{
			`table store is of LangGraph's JavaScript store, whose columns are others (namespace_path)`,
		}},
		"a shallow saver": {
			setup: `create table checkpoints (thread_id text, checkpoint_ns text, checkpoint jsonb, metadata jsonb, primary key (thread_id, checkpoint_ns));
				create table checkpoint_blobs (thread_id text, checkpoint_ns text, channel text, type text, blob bytea)`,
			from: "public", reasons: []string{
				"table checkpoints is of LangGraph's ShallowPostgresSaver, or no table of LangGraph's: it has no checkpoint_id",
				"table checkpoint_blobs is of LangGraph's ShallowPostgresSaver, or no table of LangGraph's: it has no version",
			},
		},
		"tables of others": {setup: `create table store (id int, prefix int)`, from: "public", reasons: []string{
			"table store has no column key, so it is none of LangGraph's", "column prefix of table store is of type integer, and LangGraph's is text",
		}},
		"newer versions": {
			setup: saverAt(9) + `insert into checkpoint_migrations values (10);` + storeAt(3) + `insert into store_migrations values (4)`,
			from:  "public", reasons: []string{
				"the checkpoints are at version 10 of LangGraph's migrations, and this build knows them up to 9",
				"the store are at version 4",
			},
		},
		"views": {
			setup: saverAt(9) + `create view mine as select thread_id from checkpoints`, from: "public",
			reasons: []string{"view public.mine (by column thread_id of checkpoints) keeps a column from changing; drop it, adopt, and make it again"},
		},
		"policies": {
			setup: saverAt(9) + `create policy mine on checkpoints using (thread_id = current_user)`, from: "public",
			reasons: []string{"policy mine on table public.checkpoints (by column thread_id of checkpoints) keeps a column from changing"},
		},
		"generated columns": {
			setup: saverAt(9) + `alter table checkpoints add lower_id text generated always as (lower(thread_id)) stored`,
			from:  "public", reasons: []string{"(by column thread_id of checkpoints) keeps a column from changing"},
		},
		"partitions": {
			setup: `create table checkpoints (thread_id text, checkpoint_id text) partition by hash (thread_id)`, from: "public",
			reasons: []string{"checkpoints is not an ordinary table"},
		},
		"inheritance": {
			setup: saverAt(9) + `create table child () inherits (checkpoints)`, from: "public",
			reasons: []string{"table checkpoints is a partition or inherits from another table"},
		},
		"a column of the owner's that we need": {
			setup: saverAt(9) + `alter table checkpoints add created_at text`, from: "public",
			reasons: []string{"table checkpoints has a column created_at of its own, of type text"},
		},
		"tables in the way": {
			setup: saverAt(9) + `create schema langgraph; create table langgraph.store ()`, from: "public",
			reasons: []string{`schema "langgraph" has tables of these names already: store`},
		},
		"another tool's versions": {
			setup: saverAt(9) + `create table schema_migrations (version varchar)`, from: "public",
			config: &migrations.Config{Schema: "public"}, reasons: []string{`schema "public" has a table schema_migrations of another tool`},
		},
		"another golang-migrate": {
			setup: saverAt(9) + `create table schema_migrations (version bigint primary key, dirty boolean not null);
				insert into schema_migrations values (20260101, false)`, from: "public",
			config: &migrations.Config{Schema: "public"}, reasons: []string{`the table schema_migrations in it says version 20260101`},
		},
		"a function of ours": {
			setup: saverAt(9) + `create function public.next_channel_version(p_current text) returns text language sql as 'select $1'`,
			from:  "public", config: &migrations.Config{Schema: "public"}, reasons: []string{
				`schema "public" has a function public.next_channel_version(text) of its own`,
			},
		},
		"storage that would differ": {
			setup: saverAt(9) + `alter table checkpoint_blobs alter blob set storage external`, from: "public",
			reasons: []string{"the result would not be what was shipped", "changed column blob of table langgraph.checkpoint_blobs"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := langgraphDatabase(t, test.setup)
			before := newMigrator(t, c, &migrations.Config{Schema: "public"})
			was := dump(t, before)
			_, err := newMigrator(t, c, test.config).Adopt(t.Context(), test.from)
			require.ErrorIs(t, err, migrations.ErrNotAdoptable)
			for _, reason := range test.reasons {
				require.ErrorContains(t, err, reason)
			}
			require.Equal(t, was, dump(t, before), "nothing was changed")
			require.Equal(t, 0, value[int](t, c, `select count(*) from pg_proc where proname = 'put_checkpoint'`))
		})
	}
}

func TestASchemaOfOursIsNotAdopted(t *testing.T) {
	t.Parallel()
	c := langgraphDatabase(t, saverAt(9), threads(9))
	m := newMigrator(t, c, nil)
	require.NoError(t, m.Up(t.Context()))
	_, err := m.Adopt(t.Context(), "public")
	require.ErrorContains(t, err, `schema "langgraph" is at version`)
	_, err = m.Adopt(t.Context(), "langgraph")
	require.ErrorContains(t, err, "it is a schema of pgweft already")
	other := newMigrator(t, c, &migrations.Config{Schema: "other"})
	_, err = other.Adopt(t.Context(), "langgraph")
	require.ErrorContains(t, err, "it is a schema of pgweft already")
	_, err = other.Adopt(t.Context(), "public")
	require.NoError(t, err)
	requireShipped(t, other)
}

func TestOnlyOwnersAdopt(t *testing.T) {
	t.Parallel()
	c := langgraphDatabase(t, saverAt(9), threads(9))
	role, as := newRole(t, c)
	execute(t, c, "grant create on database "+c.Database+" to "+role+"; grant select on all tables in schema public to "+role)
	m := newMigrator(t, as, nil)
	_, err := m.Adopt(t.Context(), "public")
	require.ErrorIs(t, err, migrations.ErrNotAdoptable)
	require.ErrorContains(t, err, "table checkpoints belongs to role ")
	require.ErrorContains(t, err, `not as "`+role+`"`)
	for _, table := range []string{"checkpoint_migrations", "checkpoints", "checkpoint_blobs", "checkpoint_writes"} {
		execute(t, c, "alter table "+table+" owner to "+role)
	}
	_, err = m.Adopt(t.Context(), "public")
	require.NoError(t, err)
	requireShipped(t, m)
	require.Equal(t, 3, value[int](t, as, `select count(*) from langgraph.checkpoints`))
}

func TestATableInUseIsWaitedForAndThenLeftAsItIs(t *testing.T) {
	t.Parallel()
	c := langgraphDatabase(t, saverAt(9), threads(9))
	holder := connect(t, c)
	_, err := holder.Exec(t.Context(), "begin; select from checkpoint_writes")
	require.NoError(t, err)
	m := newMigrator(t, c, &migrations.Config{LockTimeout: 50 * time.Millisecond})
	_, err = m.PlanAdoption(t.Context(), "public")
	require.NoError(t, err, "the plan waits for nobody")
	_, err = m.Adopt(t.Context(), "public")
	var pgErr *pgconn.PgError
	require.ErrorAs(t, err, &pgErr)
	require.Equal(t, "55P03", pgErr.Code)
	require.ErrorContains(t, err, "the adoption failed and was rolled back; nothing was changed")
	require.ErrorContains(t, err, "Another session holds a lock")
	require.Equal(t, 0, version(t, m))
	_, err = holder.Exec(t.Context(), "commit")
	require.NoError(t, err)
	_, err = m.Adopt(t.Context(), "public")
	require.NoError(t, err)
	requireShipped(t, m)
}

func TestAnAdoptedSchemaGoesDownAndUpLikeAnyOther(t *testing.T) {
	t.Parallel()
	c := langgraphDatabase(t, saverAt(9), threads(9), storeAt(3), items)
	m := newMigrator(t, c, nil)
	_, err := m.Adopt(t.Context(), "public")
	require.NoError(t, err)
	require.NoError(t, m.Goto(t.Context(), 0))
	require.NoError(t, m.Up(t.Context()))
	requireShipped(t, m)
}
