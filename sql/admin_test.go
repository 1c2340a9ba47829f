package sql_test

import (
	"encoding/json"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/migrations"
)

func TestSchemaInfo(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	type info struct {
		SchemaVersion, MinimumClient int
		Dirty                        bool
		Features                     map[string]json.RawMessage
	}
	read := func(q querier) info {
		rows := table[info](t, q, "select * from langgraph.schema_info()")
		require.Len(t, rows, 1)
		return rows[0]
	}
	m, err := migrations.New(db.Config().ConnConfig, nil)
	require.NoError(t, err)
	got := read(db)
	require.Equal(t, m.Latest(), got.SchemaVersion)
	require.Equal(t, 4, got.MinimumClient)
	require.False(t, got.Dirty)
	require.Len(t, got.Features, 3)
	require.Equal(t, value[string](t, db, "show server_version_num"), string(got.Features["server_version"]))
	require.Equal(t, value[string](t, db, "select to_json(extversion)::text from pg_extension where extname = 'vector'"), string(got.Features["pgvector"]))
	require.JSONEq(t, `{}`, string(got.Features["settings"]))

	inTx(t, db, func(tx pgx.Tx) {
		exec(t, tx, "update langgraph.schema_migrations set version = 9, dirty = true")
		exec(t, tx, `insert into langgraph.settings (key, value) values ('vector_index', '{"dims": 3}'), ('text', 'null')`)
		exec(t, tx, "drop extension vector")
		got := read(tx)
		require.Equal(t, 9, got.SchemaVersion)
		require.True(t, got.Dirty)
		require.Equal(t, "null", string(got.Features["pgvector"]))
		require.JSONEq(t, `{"vector_index": {"dims": 3}, "text": null}`, string(got.Features["settings"]))
	})
}

func TestRejections(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	for _, c := range []struct {
		sql  string
		want refusal
	}{
		{`select langgraph.reject_argument('thread', 'It is wrong.', 'Mend it.')`, refusal{"LG002", "invalid thread", "It is wrong.", "Mend it."}},
		{`select langgraph.reject_missing_checkpoint('it''s', '', 'c1')`, refusal{"LG001", "checkpoint 'c1' does not exist", "Thread 'it''s', namespace ''.", "list_checkpoints"}},
		{`select langgraph.reject_missing_checkpoint('t', 'sub', null)`, refusal{"LG001", "thread 't' has no checkpoint", "Thread 't', namespace 'sub'.", "list_checkpoints"}},
		{`select langgraph.reject_checkpoint('', '', 'c1', null, '{}', '{}')`, refusal{"LG002", "invalid thread_id", "empty", "conversation"}},
		{`select langgraph.reject_checkpoint('t', '', 'c1', null, '{}', '[]')`, refusal{"LG002", "invalid metadata", "not a JSON object", "{}"}},
	} {
		t.Run(c.sql, func(t *testing.T) {
			t.Parallel()
			requireRefused(t, c.want, attempt(t.Context(), db, c.sql))
		})
	}
	t.Run("an argument without a hint", func(t *testing.T) {
		t.Parallel()
		requireState(t, "LG002", attempt(t.Context(), db, `select langgraph.reject_argument('thread', 'It is wrong.')`))
	})
	t.Run("a version collision only where there is one", func(t *testing.T) {
		t.Parallel()
		put(t, db, stateArgs("c1", [3]string{"a", "1", "x"}, [3]string{"b", "1", "x"}))
		const sql = `select langgraph.reject_version_collision('t', '', $1, $2, $3, $4)`
		exec(t, db, sql, []string{"a", "c"}, []string{"1", "1"}, []string{"msgpack", "msgpack"}, [][]byte{[]byte("x"), []byte("y")})
		requireRefused(t, refusal{code: "LG003", message: "channel 'b' already has another value under version '1'", hint: "fork_checkpoint"},
			attempt(t.Context(), db, sql, []string{"a", "b"}, []string{"1", "1"}, []string{"msgpack", "msgpack"}, [][]byte{[]byte("x"), []byte("y")}))
	})
}
