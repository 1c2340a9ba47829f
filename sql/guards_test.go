package sql_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/migrations"
)

// What a client says that knows the tables and none of our functions.
const (
	clientBlobSQL = `insert into langgraph.checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
		values ($1, '', 'messages', $2, $3, $4) on conflict (thread_id, checkpoint_ns, channel, version) do nothing`
	clientCheckpointSQL = `insert into langgraph.checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata)
		values ($1, '', $2, null, jsonb_build_object('id', $2::text, 'channel_versions', '{}'::jsonb), '{}')
		on conflict (thread_id, checkpoint_ns, checkpoint_id) do update set checkpoint = excluded.checkpoint, metadata = excluded.metadata`
	clientWriteSQL = `insert into langgraph.checkpoint_writes (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob)
		values ($1, '', $2, 'task', 0, 'messages', 'json', '1')
		on conflict (thread_id, checkpoint_ns, checkpoint_id, task_id, idx) do nothing`
	clientDeleteSQL = `delete from langgraph.checkpoints where thread_id = $1`
)

var (
	deletedThread = refusal{"LG005", "thread 't' was deleted", "Checkpoint 'c2' in namespace '' would bring it back.", "use a new thread_id"}
	otherValue    = refusal{"LG003", "channel 'messages' already has another value under version '3'", "Thread 't', namespace ''.", "integer versions"}
)

func deletedThreads(t *testing.T, db querier) []string {
	t.Helper()
	return column[string](t, db, "select thread_id from langgraph.deleted_threads order by 1")
}

func guards(t *testing.T, db querier) string {
	t.Helper()
	return value[string](t, db, "select coalesce(features -> 'settings' ->> 'guards', 'off') from langgraph.schema_info()")
}

func TestWithoutGuardsAClientLosesValuesAndBringsThreadsBackSilently(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	require.Equal(t, "off", guards(t, db))
	exec(t, db, clientBlobSQL, "t", "3", "json", []byte(`"ours"`))
	exec(t, db, clientBlobSQL, "t", "3", "json", []byte(`"theirs"`))
	require.Equal(t, `"ours"`, value[string](t, db, "select convert_from(blob, 'UTF8') from langgraph.checkpoint_blobs"))

	exec(t, db, clientCheckpointSQL, "t", "c1")
	exec(t, db, clientDeleteSQL, "t")
	require.Empty(t, deletedThreads(t, db))
	exec(t, db, clientCheckpointSQL, "t", "c2")
	require.Equal(t, "c2", get(t, db, "t").CheckpointID)
}

func TestAGuardedVersionTakesNoOtherValue(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	exec(t, db, "select langgraph.enable_guards(p_deleted_threads => false)")
	require.JSONEq(t, `{"deleted_threads": false, "versions": true}`, guards(t, db))
	exec(t, db, clientBlobSQL, "t", "3", "json", []byte(`"ours"`))

	exec(t, db, clientBlobSQL, "t", "3", "json", []byte(`"ours"`)) // a retry
	requireRefused(t, otherValue, attempt(t.Context(), db, clientBlobSQL, "t", "3", "json", []byte(`"theirs"`)))
	requireRefused(t, otherValue, attempt(t.Context(), db, clientBlobSQL, "t", "3", "msgpack", []byte(`"ours"`)))
	requireRefused(t, otherValue, attempt(t.Context(), db, clientBlobSQL, "t", "3", "empty", nil))
	exec(t, db, clientBlobSQL, "t", "4", "json", []byte(`"theirs"`))
	exec(t, db, clientBlobSQL, "other", "3", "json", []byte(`"theirs"`))
	require.Equal(t, []string{`other 3 "theirs"`, `t 3 "ours"`, `t 4 "theirs"`}, column[string](t, db, `
		select concat_ws(' ', thread_id, version, convert_from(blob, 'UTF8')) from langgraph.checkpoint_blobs order by 1`))

	// A value encrypted again has other bytes, of the same length.
	exec(t, db, clientBlobSQL, "t", "5", "json+aes", []byte("nonce and cipher"))
	exec(t, db, clientBlobSQL, "t", "5", "json+aes", []byte("other, as long ."))
	requireRefused(t, refusal{code: "LG003", message: "version '5'"},
		attempt(t.Context(), db, clientBlobSQL, "t", "5", "json+aes", []byte("other")))

	// Our own functions say the same as without the guard, and save nothing either.
	requireRefused(t, otherValue, attempt(t.Context(), db, putCheckpointSQL, checkpointArgs(
		stateArgs("c9", [3]string{"messages", "3", "\x01"}))))
	require.Nil(t, get(t, db, "t"))
}

func TestOfTwoClientsThatSaveOneVersionAtOnceTheSecondIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		end  func(pgx.Tx, context.Context) error
		kept string
	}{
		{"unless the first rolls back", pgx.Tx.Rollback, "second"},
		{"when the first commits", pgx.Tx.Commit, "first"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			db := newDatabase(t)
			exec(t, db, "select langgraph.enable_guards()")
			inTx(t, db, func(first pgx.Tx) {
				exec(t, first, clientBlobSQL, "t", "3", "bytes", []byte("first"))
				exec(t, db, clientBlobSQL, "other", "3", "bytes", []byte("other")) // does not wait
				second := startBlocked(t, db, clientBlobSQL, "t", "3", "bytes", []byte("second"))
				require.NoError(t, c.end(first, t.Context()))
				if err := <-second; c.kept == "second" {
					require.NoError(t, err)
				} else {
					requireRefused(t, otherValue, err)
				}
			})
			require.Equal(t, c.kept, value[string](t, db, "select convert_from(blob, 'UTF8') from langgraph.checkpoint_blobs where thread_id = 't'"))
		})
	}
}

// startBlocked runs a statement in a session of its own, and returns once that waits for another's lock.
func startBlocked(t *testing.T, db *pgxpool.Pool, sql string, args ...any) <-chan error {
	t.Helper()
	conn, err := db.Acquire(t.Context())
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() {
		defer conn.Release()
		ended <- attempt(t.Context(), conn, sql, args...)
	}()
	pid := conn.Conn().PgConn().PID()
	require.Eventually(t, func() bool {
		return value[bool](t, db, "select cardinality(pg_blocking_pids($1)) > 0", pid)
	}, time.Minute, time.Millisecond, "the statement waits")
	return ended
}

func TestAGuardedThreadThatWasDeletedDoesNotComeBack(t *testing.T) {
	t.Parallel()
	for name, deletion := range map[string]string{
		"by a client's statement": clientDeleteSQL,
		"by delete_thread":        "select langgraph.delete_thread($1)",
		"by prune":                "select langgraph.prune(array[$1], 'delete')",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newDatabase(t)
			exec(t, db, "select langgraph.enable_guards(p_versions => false)")
			require.JSONEq(t, `{"deleted_threads": true, "versions": false}`, guards(t, db))
			for _, thread := range []string{"t", "other"} {
				exec(t, db, clientCheckpointSQL, thread, "c1")
			}
			exec(t, db, deletion, "t")
			require.Equal(t, []string{"t"}, deletedThreads(t, db))

			requireRefused(t, deletedThread, attempt(t.Context(), db, clientCheckpointSQL, "t", "c2"))
			requireRefused(t, deletedThread, attempt(t.Context(), db, clientWriteSQL, "t", "c2"))
			requireRefused(t, deletedThread, attempt(t.Context(), db, putCheckpointSQL, checkpointArgs(pgx.NamedArgs{"id": "c2"})))
			requireRefused(t, refusal{code: "LG005", message: "thread 't' was deleted"},
				attempt(t.Context(), db, "select langgraph.copy_thread('other', 't')"))
			require.Nil(t, get(t, db, "t"))
			require.Empty(t, storedWrites(t, db, "t"))
			exec(t, db, clientCheckpointSQL, "other", "c2")
			exec(t, db, clientWriteSQL, "other", "c2")

			exec(t, db, "delete from langgraph.deleted_threads where thread_id = 't'")
			exec(t, db, clientCheckpointSQL, "t", "c3")
			require.Equal(t, "c3", get(t, db, "t").CheckpointID)
		})
	}
}

func TestAThreadOfWhichACheckpointStaysIsNotDeleted(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	exec(t, db, "select langgraph.enable_guards()")
	for _, id := range []string{"c1", "c2", "c3"} {
		exec(t, db, clientCheckpointSQL, "t", id)
	}
	exec(t, db, "delete from langgraph.checkpoints where checkpoint_id = 'c1'")
	require.Equal(t, 1, value[int](t, db, "select checkpoints from langgraph.prune(array['t'], 'keep_latest')"))
	exec(t, db, "delete from langgraph.checkpoints where thread_id = 'nobody'")
	require.Empty(t, deletedThreads(t, db))
	exec(t, db, clientCheckpointSQL, "t", "c4")

	exec(t, db, clientCheckpointSQL, "t2", "c1")
	exec(t, db, "delete from langgraph.checkpoints")
	require.Equal(t, []string{"t", "t2"}, deletedThreads(t, db))
}

func TestAThreadThatExpiredMayBeginAnew(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	exec(t, db, "select langgraph.enable_guards()")
	exec(t, db, clientCheckpointSQL, "t", "c1")
	exec(t, db, "select langgraph.set_thread_ttl('t', '1 hour')")
	exec(t, db, "alter table langgraph.checkpoints disable trigger checkpoints_touch")
	exec(t, db, "update langgraph.checkpoints set updated_at = now() - interval '1 day'")
	exec(t, db, "call langgraph.sweep()")
	require.Nil(t, get(t, db, "t"))
	require.Empty(t, deletedThreads(t, db))
	exec(t, db, clientCheckpointSQL, "t", "c2")
	require.Equal(t, "c2", get(t, db, "t").CheckpointID)
}

func TestDeleteThreadWaitsForItsWritersAndLeavesNothing(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	exec(t, db, "select langgraph.enable_guards()")
	exec(t, db, clientCheckpointSQL, "t", "c1")
	inTx(t, db, func(writer pgx.Tx) {
		exec(t, writer, clientCheckpointSQL, "t", "c2")
		deleted := startBlocked(t, db, "select langgraph.delete_thread('t')")
		exec(t, writer, clientWriteSQL, "t", "c2")
		require.NoError(t, writer.Commit(t.Context()))
		require.NoError(t, <-deleted)
	})
	require.Nil(t, get(t, db, "t"))
	require.Empty(t, storedWrites(t, db, "t"))
	require.Equal(t, []string{"t"}, deletedThreads(t, db))
}

func TestAWriterWaitsForADeletionAndIsRefused(t *testing.T) {
	t.Parallel()
	for name, deletion := range map[string]string{
		"a client's statement": clientDeleteSQL,
		"delete_thread":        "select langgraph.delete_thread($1)",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newDatabase(t)
			exec(t, db, "select langgraph.enable_guards()")
			exec(t, db, clientCheckpointSQL, "t", "c1")
			inTx(t, db, func(deleter pgx.Tx) {
				exec(t, deleter, deletion, "t")
				exec(t, db, clientCheckpointSQL, "other", "c2") // does not wait
				written := startBlocked(t, db, clientCheckpointSQL, "t", "c2")
				require.NoError(t, deleter.Commit(t.Context()))
				requireRefused(t, deletedThread, <-written)
			})
			require.Nil(t, get(t, db, "t"))
		})
	}
}

func TestGuardsAreTurnedOnAndOffOneByOne(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	triggers := func() []string {
		return column[string](t, db, `
			select tgrelid::regclass || ' ' || tgname from pg_trigger
			where not tgisinternal and tgname <> 'checkpoints_touch' and tgrelid in (select oid from pg_class where relnamespace = 'langgraph'::regnamespace)
			order by 1`)
	}
	versions := []string{"langgraph.checkpoint_blobs guard_version"}
	threads := []string{
		"langgraph.checkpoints guard_deleted_thread", "langgraph.checkpoints remember_deleted_threads",
		"langgraph.checkpoint_writes guard_deleted_thread",
	}
	require.Empty(t, triggers())
	exec(t, db, "select langgraph.enable_guards(p_deleted_threads => false)")
	require.ElementsMatch(t, versions, triggers())
	exec(t, db, "select langgraph.enable_guards(p_versions => false)")
	exec(t, db, "select langgraph.enable_guards()")
	require.ElementsMatch(t, append(versions, threads...), triggers())
	require.JSONEq(t, `{"deleted_threads": true, "versions": true}`, guards(t, db))

	exec(t, db, clientCheckpointSQL, "t", "c1")
	exec(t, db, clientDeleteSQL, "t")
	exec(t, db, "select langgraph.disable_guards(p_deleted_threads => false)")
	require.ElementsMatch(t, threads, triggers())
	require.Equal(t, []string{"t"}, deletedThreads(t, db))
	exec(t, db, "select langgraph.disable_guards(p_versions => false)")
	exec(t, db, "select langgraph.disable_guards()")
	require.Empty(t, triggers())
	require.JSONEq(t, `{"deleted_threads": false, "versions": false}`, guards(t, db))

	// A thread that came back without the guard is not refused when the guard is on again.
	exec(t, db, clientCheckpointSQL, "t", "c2")
	exec(t, db, "select langgraph.enable_guards()")
	exec(t, db, clientCheckpointSQL, "t", "c3")
	require.Equal(t, "c3", get(t, db, "t").CheckpointID)

	for _, sql := range []string{
		"select langgraph.enable_guards(false, false)", "select langgraph.enable_guards(null)",
		"select langgraph.disable_guards(false, false)", "select langgraph.disable_guards(true, null)",
	} {
		requireRefused(t, refusal{code: "LG002", message: "invalid guards", hint: "at least one"}, attempt(t.Context(), db, sql))
	}
}

func TestAClientNeedsNoMoreRightsWithGuards(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	role := newRole(t, db)
	exec(t, db, "grant usage on schema langgraph to "+role)
	exec(t, db, "grant select, insert, update, delete on langgraph.checkpoints, langgraph.checkpoint_blobs, langgraph.checkpoint_writes to "+role)
	exec(t, db, "select langgraph.enable_guards()")
	as(t, db, role, func(tx pgx.Tx) {
		exec(t, tx, clientBlobSQL, "t", "3", "json", []byte("1"))
		exec(t, tx, clientCheckpointSQL, "t", "c1")
		exec(t, tx, clientWriteSQL, "t", "c1")
		inSavepoint(t, tx, func(sp pgx.Tx) {
			requireRefused(t, otherValue, attempt(t.Context(), sp, clientBlobSQL, "t", "3", "json", []byte("2")))
		})
		exec(t, tx, clientDeleteSQL, "t")
		inSavepoint(t, tx, func(sp pgx.Tx) {
			requireRefused(t, deletedThread, attempt(t.Context(), sp, clientCheckpointSQL, "t", "c2"))
		})
		inSavepoint(t, tx, func(sp pgx.Tx) {
			requireState(t, "42501", attempt(t.Context(), sp, "delete from langgraph.deleted_threads"))
		})
	})

	exec(t, db, "grant select, insert, update, delete on all tables in schema langgraph to "+role)
	exec(t, db, "grant execute on all functions in schema langgraph to "+role)
	for _, sql := range []string{"select langgraph.enable_guards()", "select langgraph.disable_guards()"} {
		as(t, db, role, func(tx pgx.Tx) { requireState(t, "42501", attempt(t.Context(), tx, sql)) })
	}
}

func TestGuardsAreNoDriftAndHaveToBeOffBeforeTheFunctionsGo(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	m, err := migrations.New(db.Config().ConnConfig, nil)
	require.NoError(t, err)
	exec(t, db, "select langgraph.enable_guards()")
	drifts, err := m.Verify(t.Context())
	require.NoError(t, err)
	require.Empty(t, drifts)

	latest := m.Latest()
	require.ErrorContains(t, m.Goto(t.Context(), 0), "trigger guard_")
	require.Equal(t, latest, value[int](t, db, "select version from langgraph.schema_migrations"))
	exec(t, db, "select langgraph.disable_guards()")
	require.NoError(t, m.Goto(t.Context(), 0))
}
