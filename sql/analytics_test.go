package sql_test

import (
	"crypto/md5"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

func TestAnalyticsViewsHaveTheColumnsThatAreDocumented(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	want := map[string]string{
		"checkpoints": "thread_id text, checkpoint_id text, parent_checkpoint_id text, checkpoint_ns text, checkpoint_ns_hash text, " +
			"gmt_create timestamp with time zone, gmt_modified timestamp with time zone, source text, step jsonb, metadata jsonb",
		"checkpoint_writes": "thread_id text, checkpoint_id text, checkpoint_ns text, checkpoint_ns_hash text, task_id text, idx integer, " +
			"channel text, type text, blob_data bytea, task_path text, gmt_create timestamp with time zone, value jsonb",
		"checkpoint_blobs": "thread_id text, checkpoint_ns text, checkpoint_ns_hash text, channel text, version text, type text, " +
			"blob_data bytea, gmt_create timestamp with time zone, value jsonb",
	}
	for view, columns := range want {
		require.Equal(t, columns, value[string](t, db, `
			select string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' order by attnum)
			from pg_attribute where attrelid = ('langgraph_analytics.' || $1::text)::regclass and attnum > 0`, view))
	}
}

func TestAnalyticsViewsShowWhatIsStored(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	for _, ns := range []string{"", "sub:1"} {
		put(t, db, pgx.NamedArgs{
			"ns": ns, "id": "c1", "metadata": `{"source": "loop", "step": 3, "x": [1]}`, "channels": []string{"m", "secret", "none"},
			"versions": []string{"1", "1", "1"}, "types": []string{"msgpack", "msgpack+aes", "empty"},
			"blobs": [][]byte{[]byte("\x91\x07"), []byte("1234"), nil},
		})
		put(t, db, pgx.NamedArgs{"ns": ns, "id": "c2", "parent": "c1", "metadata": `{}`})
		exec(t, db, putWritesSQL, writesArgs([]string{"m", "__error__"}, pgx.NamedArgs{
			"ns": ns, "path": "()", "types": []string{"msgpack", "json"}, "blobs": [][]byte{{7}, []byte(`"oh"`)},
		}))
	}
	exec(t, db, "update langgraph.checkpoints set created_at = '2026-04-07 10:00:00+00' where checkpoint_id = 'c1'")
	exec(t, db, "update langgraph.checkpoint_blobs set created_at = '2026-04-07 10:00:00+00'")
	exec(t, db, "update langgraph.checkpoint_writes set created_at = '2026-04-07 10:00:00+00'")

	t.Run("in checkpoints", func(t *testing.T) {
		t.Parallel()
		type row struct {
			ThreadID, CheckpointID string
			ParentCheckpointID     *string
			CheckpointNSHash       string
			GMTCreate, GMTModified time.Time
			Source                 *string
			Step                   any
			Metadata               map[string]any
		}
		rows := table[row](t, db, `
			select thread_id, checkpoint_id, parent_checkpoint_id, checkpoint_ns_hash, gmt_create, gmt_modified, source, step, metadata
			from langgraph_analytics.checkpoints where checkpoint_ns = 'sub:1' order by checkpoint_id`)
		require.Len(t, rows, 2)
		require.Equal(t, "t c1 loop", fmt.Sprint(rows[0].ThreadID, " ", rows[0].CheckpointID, " ", *rows[0].Source))
		require.Equal(t, 3.0, rows[0].Step)
		require.Equal(t, map[string]any{"source": "loop", "step": 3.0, "x": []any{1.0}}, rows[0].Metadata)
		require.Equal(t, "c1", *rows[1].ParentCheckpointID)
		require.Nil(t, rows[1].Source)
		require.Nil(t, rows[1].Step)
		require.Equal(t, time.Date(2026, 4, 7, 10, 0, 0, 0, time.UTC), rows[0].GMTCreate.UTC())
		require.True(t, rows[0].GMTModified.After(rows[0].GMTCreate))
	})
	t.Run("in checkpoint_blobs", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, []string{
			`m 1 msgpack \x9107 2026-04-07 10:00 [7]`,
			`none 1 empty 2026-04-07 10:00`,
			`secret 1 msgpack+aes \x31323334 2026-04-07 10:00 {"type": "msgpack", "bytes": 4, "cipher": "aes", "lc_type": "encrypted"}`,
		}, column[string](t, db, `
			select concat_ws(' ', channel, version, type, blob_data, to_char(gmt_create at time zone 'UTC', 'YYYY-MM-DD HH24:MI'), value)
			from langgraph_analytics.checkpoint_blobs where thread_id = 't' and checkpoint_ns = 'sub:1' order by channel`))
	})
	t.Run("in checkpoint_writes", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, []string{
			`c1 task -1 __error__ json \x226f6822 () 2026-04-07 10:00 "oh"`,
			`c1 task 0 m msgpack \x07 () 2026-04-07 10:00 7`,
		}, column[string](t, db, `
			select concat_ws(' ', checkpoint_id, task_id, idx, channel, type, blob_data, task_path,
				to_char(gmt_create at time zone 'UTC', 'YYYY-MM-DD HH24:MI'), value)
			from langgraph_analytics.checkpoint_writes where thread_id = 't' and checkpoint_ns = '' order by idx`))
	})
	t.Run("with the MD5 of the namespace", func(t *testing.T) {
		t.Parallel()
		for _, view := range []string{"checkpoints", "checkpoint_blobs", "checkpoint_writes"} {
			require.Equal(t, []string{" d41d8cd98f00b204e9800998ecf8427e", fmt.Sprintf("sub:1 %x", md5.Sum([]byte("sub:1")))}, column[string](t, db, `
				select distinct checkpoint_ns || ' ' || checkpoint_ns_hash from langgraph_analytics.`+view+` order by 1`))
		}
	})
	t.Run("as many rows as are stored", func(t *testing.T) {
		t.Parallel()
		for view, rows := range map[string]int{"checkpoints": 4, "checkpoint_blobs": 6, "checkpoint_writes": 4} {
			require.Equal(t, rows, value[int](t, db, "select count(*) from langgraph_analytics."+view))
		}
	})
}

// The questions that people were told to ask, as they were told to ask them.
var printedQueries = []string{
	`SELECT checkpoint_id, checkpoint_ns_hash, parent_checkpoint_id
FROM checkpoints
WHERE thread_id = 'thread_001'
    AND checkpoint_id = 'ckpt_007'
    AND checkpoint_ns = '';`,
	`SELECT channel, version, type, blob_data
FROM checkpoint_blobs
WHERE thread_id = 'thread_001'
    AND checkpoint_ns_hash = 'abc123...'   -- ckpt_007 的 hash
ORDER BY channel, version;`,
	`SELECT
    task_id, idx, channel, task_path,
    LENGTH(blob_data) as data_size, gmt_create
FROM checkpoint_writes
WHERE thread_id = 'thread_001'
    AND checkpoint_id = 'ckpt_005'
    AND checkpoint_ns = ''
ORDER BY gmt_create, idx;`,
	`SELECT
    task_id,
    COUNT(*) as write_count,
    SUM(LENGTH(blob_data)) / 1024 / 1024 as total_mb,
    AVG(LENGTH(blob_data)) as avg_bytes
FROM checkpoint_writes
WHERE thread_id LIKE 'thread_%'
    AND gmt_create >= '2026-04-01'
    AND checkpoint_ns = ''
GROUP BY task_id
ORDER BY write_count DESC;`,
	`SELECT SUM(LENGTH(blob_data)) / 1024 as writes_kb
FROM checkpoint_writes
WHERE thread_id = 'thread_001' AND checkpoint_id = 'ckpt_005';`,
	`SELECT SUM(LENGTH(blob_data)) / 1024 as blobs_kb
FROM checkpoint_blobs
WHERE thread_id = 'thread_001'
    AND checkpoint_ns_hash = (
        SELECT checkpoint_ns_hash FROM checkpoints WHERE checkpoint_id = 'ckpt_005'
    );`,
}

func TestAnalyticsViewsAnswerThePrintedQueries(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	where := pgx.NamedArgs{"thread": "thread_001"}
	put(t, db, where, stateArgs("ckpt_005", [3]string{"m", "1", strings.Repeat("x", 2048)}))
	put(t, db, where, pgx.NamedArgs{"id": "ckpt_007", "parent": "ckpt_005"})
	exec(t, db, putWritesSQL, writesArgs([]string{"a", "b"}, where, pgx.NamedArgs{
		"id": "ckpt_005", "task": "retrieve_context", "path": "()", "blobs": [][]byte{make([]byte, 1024), make([]byte, 2048)},
	}))
	inTx(t, db, func(tx pgx.Tx) {
		exec(t, tx, "set local search_path = langgraph_analytics")
		var answers []string
		for _, sql := range printedQueries {
			results, err := tx.Conn().PgConn().Exec(t.Context(), sql).ReadAll() // as psql sends it
			require.NoError(t, err, sql)
			require.Len(t, results, 1)
			var rows []string
			for _, row := range results[0].Rows {
				var fields []string
				for i, field := range results[0].FieldDescriptions {
					if field.Name != "gmt_create" {
						fields = append(fields, string(row[i]))
					}
				}
				rows = append(rows, strings.Join(fields, " "))
			}
			answers = append(answers, strings.Join(rows, "; "))
		}
		require.Equal(t, []string{
			"ckpt_007 d41d8cd98f00b204e9800998ecf8427e ckpt_005",
			"",
			"retrieve_context 0 a () 1024; retrieve_context 1 b () 2048",
			"retrieve_context 2 0 1536.0000000000000000",
			"3",
			"2",
		}, answers)
	})
}

func TestAnalyticsViewsAreReadWithTheRightsOfTheirReader(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	role := newRole(t, db)
	for _, thread := range []string{"mine", "theirs"} {
		put(t, db, pgx.NamedArgs{"thread": thread}, stateArgs("c1", [3]string{"m", "1", "\x07"}))
		exec(t, db, putWritesSQL, writesArgs([]string{"x"}, pgx.NamedArgs{"thread": thread}))
	}
	exec(t, db, "grant usage on schema langgraph, langgraph_analytics to "+role)
	exec(t, db, "grant select on all tables in schema langgraph_analytics to "+role)
	as(t, db, role, func(tx pgx.Tx) {
		for _, view := range []string{"checkpoints", "checkpoint_blobs", "checkpoint_writes"} {
			inSavepoint(t, tx, func(sp pgx.Tx) {
				requireState(t, "42501", attempt(t.Context(), sp, "select * from langgraph_analytics."+view))
			})
		}
	})
	for _, view := range []string{"checkpoints", "checkpoint_blobs", "checkpoint_writes"} {
		exec(t, db, "grant select on langgraph."+view+" to "+role)
		exec(t, db, "alter table langgraph."+view+" enable row level security")
		exec(t, db, "create policy mine on langgraph."+view+" to "+role+" using (thread_id = 'mine')")
	}
	as(t, db, role, func(tx pgx.Tx) {
		for _, view := range []string{"checkpoints", "checkpoint_blobs", "checkpoint_writes"} {
			require.Equal(t, []string{"mine"}, column[string](t, tx, "select thread_id from langgraph_analytics."+view), "row-level security applies")
		}
		requireState(t, "42501", attempt(t.Context(), tx, "select value from langgraph_analytics.checkpoint_blobs"))
	})
	exec(t, db, "grant execute on all functions in schema langgraph to "+role)
	as(t, db, role, func(tx pgx.Tx) {
		require.Equal(t, []int{7}, column[int](t, tx, "select value::int from langgraph_analytics.checkpoint_blobs"))
	})
	require.Len(t, column[string](t, db, "select thread_id from langgraph_analytics.checkpoints"), 2, "the owner sees all")
}
