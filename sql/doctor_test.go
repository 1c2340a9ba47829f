package sql_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

type diagnosis struct{ Level, Topic, Subject, Detail, Remedy string }

// examined are the findings of doctor about one topic.
func examined(t *testing.T, db querier, schema, topic string) []diagnosis {
	t.Helper()
	return table[diagnosis](t, db, quoted("select * from @.doctor() where topic = $1", schema), topic)
}

func TestTheDoctorFindsWhatIsWrongAndTheRemedyMendsIt(t *testing.T) {
	t.Parallel()
	db, schema := withRoles(t)
	for _, c := range []struct {
		name, topic, harm string
		want              diagnosis
	}{
		{
			"a right that a role lost", "grants", "revoke insert on @.checkpoints from " + roleOf(schema, "app"),
			diagnosis{"problem", "grants", schema + "_app", "It lacks rights on 1 object, the first of them @.checkpoints.", `migrate roles --schema @`},
		},
		{
			"a right of everybody's", "grants", "grant select on @.store to public",
			diagnosis{"problem", "grants", "@.store", "Every role of the server has rights on it.", "revoke all on table @.store from public;"},
		},
		{
			"an index whose building was interrupted", "indexes",
			"update pg_index set indisvalid = false where indexrelid = '@.store_expires_at_idx'::regclass",
			diagnosis{"problem", "indexes", "@.store_expires_at_idx", "It is invalid: building it was interrupted. It costs and serves nobody.", "reindex index concurrently @.store_expires_at_idx;"},
		},
		{
			"an index that LangGraph's setup made", "indexes", "create index checkpoints_thread_id_idx on @.checkpoints (thread_id)",
			diagnosis{"advice", "indexes", "@.checkpoints_thread_id_idx", "It is the beginning of another index of @.checkpoints (8192 bytes).", "drop index concurrently @.checkpoints_thread_id_idx;"},
		},
		{
			"policies that nobody applies", "retention", "select @.set_retention_policy('p', p_keep_last => 1)",
			diagnosis{
				"problem", "retention", "sweep", "There are policies, TTLs or expired items, and no sweep has ever run.",
				`select @.schedule_sweep(); has pg_cron do it, or says what it lacks. Otherwise: pgweft sweep, from cron every night, ` +
					`or as a service: pgweft sweep --every "1 hour"`,
			},
		},
		{
			"slow compression", "compression", "alter table @.store alter column value set compression pglz",
			diagnosis{"advice", "compression", "@.store.value", "It is compressed by pglz, which takes several times as long as lz4.", "alter table @.store alter column value set compression lz4;"},
		},
		{
			"a missing extension", "pgvector", "drop extension vector",
			diagnosis{"note", "pgvector", "vector", "It is not installed, so the store has no semantic search.", "create extension vector;"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			inTx(t, db, func(tx pgx.Tx) {
				before := examined(t, tx, schema, c.topic)
				exec(t, tx, quoted(c.harm, schema))
				for _, text := range []*string{&c.want.Subject, &c.want.Detail, &c.want.Remedy} {
					*text = quoted(*text, schema)
				}
				require.NotContains(t, before, c.want)
				require.Contains(t, examined(t, tx, schema, c.topic), c.want)
			})
		})
	}
	require.Equal(t, []string{"policies"}, column[string](t, db, quoted("select subject from @.doctor() where topic in ('grants', 'indexes', 'retention')", schema)))
}

func TestTheDoctorNamesTheLargestThreadsAndChannels(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	require.Empty(t, examined(t, db, "langgraph", "size"))
	exec(t, db, `
		insert into langgraph.checkpoint_blobs (thread_id, channel, version, type, blob)
		select 't' || n, 'channel ' || n % 2, '1', 'bytes', convert_to(repeat(md5(n::text), n), 'UTF8') from generate_series(1, 9) n`)
	got := examined(t, db, "langgraph", "size")
	subjects := []string{}
	for _, d := range got {
		require.Equal(t, "note", d.Level)
		subjects = append(subjects, d.Subject)
	}
	require.ElementsMatch(t, []string{"thread t9", "thread t8", "thread t7", "channel channel 1", "channel channel 0"}, subjects)
	require.Equal(t, 1, value[int](t, db, "select count(*)::int from langgraph.doctor(1) where topic = 'retention'"), "a sample may be as small as you like")
}

func TestTheDoctorSeesBloat(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	exec(t, db, "alter table langgraph.store set (autovacuum_enabled = off)")
	conn, err := db.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	exec(t, conn, "insert into langgraph.store (prefix, key, value) select 'p', n::text, '{}' from generate_series(1, 20000) n")
	exec(t, conn, "delete from langgraph.store where key <> '1'")
	exec(t, conn, "select pg_stat_force_next_flush()")
	got := examined(t, conn, "langgraph", "bloat")
	require.NotEmpty(t, got)
	require.Equal(t, "problem", got[0].Level)
	require.Equal(t, "langgraph.store", got[0].Subject)
	require.Contains(t, got[0].Remedy, "vacuum (analyze) langgraph.store;")
	exec(t, conn, "vacuum (analyze) langgraph.store")
	exec(t, conn, "select pg_stat_force_next_flush()")
	require.Empty(t, examined(t, conn, "langgraph", "bloat"))
}

func TestTheDoctorWatchesOverTenancy(t *testing.T) {
	t.Parallel()
	d := divided(t, "role")
	require.Empty(t, examined(t, d.db, d.schema, "tenancy"))
	other := newRole(t, d.db)
	for harm, subject := range map[string]string{
		"alter table @.store disable row level security":                                              "@.store",
		"alter table @.checkpoint_writes owner to " + other:                                           "@.checkpoint_writes",
		"alter role " + other + " login bypassrls; grant " + roleOf(d.schema, "app") + " to " + other: other,
	} {
		inTx(t, d.db, func(tx pgx.Tx) {
			_, err := tx.Exec(t.Context(), quoted(harm, d.schema), pgx.QueryExecModeSimpleProtocol)
			require.NoError(t, err)
			got := examined(t, tx, d.schema, "tenancy")
			require.Len(t, got, 1, harm)
			require.Equal(t, "problem", got[0].Level)
			require.Equal(t, quoted(subject, d.schema), got[0].Subject)
			exec(t, tx, quoted(got[0].Remedy, "no schema is left to name"))
			if subject != other {
				require.Empty(t, examined(t, tx, d.schema, "tenancy"), "the remedy mends it")
			}
		})
	}
}

func TestTheDoctorAdvisesOnSettings(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	subjects := func(q querier) []string {
		return column[string](t, q, "select subject from langgraph.doctor() where topic = 'settings'")
	}
	inTx(t, db, func(tx pgx.Tx) {
		exec(t, tx, "set local idle_in_transaction_session_timeout = 0; set local synchronous_commit = off")
		require.Subset(t, subjects(tx), []string{"idle_in_transaction_session_timeout", "synchronous_commit"})
		exec(t, tx, "set local idle_in_transaction_session_timeout = '5min'; set local synchronous_commit = on")
		require.NotContains(t, subjects(tx), "idle_in_transaction_session_timeout")
		require.NotContains(t, subjects(tx), "synchronous_commit")
	})
}

func TestOperatorsMayCallTheDoctor(t *testing.T) {
	t.Parallel()
	db, schema := withRoles(t)
	asRole(t, db, schema, "ops", func(tx pgx.Tx) {
		require.NotEmpty(t, examined(t, tx, schema, "retention"))
	})
}
