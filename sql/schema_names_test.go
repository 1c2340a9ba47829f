package sql_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/migrations"
)

// oddSchema needs quoting in every way a name can.
const oddSchema = `we"ird 'x' Schema é`

// smoke calls a function in a schema, after those that it needs, and says what comes back. @ is the schema, quoted.
var smoke = []struct{ function, sql, want string }{
	{"put_checkpoint", `select @.put_checkpoint('t', '', 'c1', null, '{"id": "c1", "channel_versions": {"m": "1"}}', '{"step": 0}',
		array['m'], array['1'], array['msgpack'], array['\x9107'::bytea])`, ""},
	{"put_writes", `select @.put_writes('t', '', 'c1', 'task', '', null, array['x'], array['json'], array['1'::bytea])`, ""},
	{"put_step", `select @.put_step('t', '', 'c2', 'c1', '{"id": "c2", "v": 4, "channel_versions": {"m": "1"}}', '{"step": 1}', '{}', '{}', '{}', '{}',
		array['a', 'b'], array['', ''], array['x', '__error__'], array['json', 'json'], array['1'::bytea, '2'::bytea])`, ""},
	{
		"get_checkpoint", `select concat_ws(' ', checkpoint_id, parent_checkpoint_id, value_channels, value_blobs, write_channels) from @.get_checkpoint('t')`,
		`c2 c1 {m} {"\\x9107"} {x,__error__}`,
	},
	{"list_checkpoints", `select string_agg(checkpoint_id, ' ') from @.list_checkpoints('t', p_filter => '{"step": 0}')`, "c1"},
	{"channel_blobs", `select type from @.channel_blobs('t', '', '{"channel_versions": {"m": "1"}}')`, "msgpack"},
	{"pending_writes", `select channel from @.pending_writes('t', '', 'c1')`, "x"},
	{"pending_sends", `select coalesce(string_agg(type, ' '), 'none') from @.pending_sends('t', '', 'c1', '{"v": 1}')`, "none"},
	{"expects_sends", `select @.expects_sends('{"v": 3}')::text`, "true"},
	{"packed_sends", `select coalesce(array_length(@.packed_sends('t', '', 'c1', '{"v": 1}'), 1)::text, 'none')`, "none"},
	{"checkpoint_contents", `select value_types::text from @.checkpoint_contents('t', '', 'c1', null, '{"channel_versions": {"m": "1"}}')`, "{msgpack}"},
	{"checkpoint_at", `select checkpoint_id from @.checkpoint_at('t', '', null)`, "c2"},
	{"checkpoint_tuple", `select checkpoint_id || convert_from(channel_values[1][1], 'UTF8') || convert_from(pending_writes[2][4], 'UTF8')
		from @.checkpoint_tuple('t', '', null)`, "c2m__error__"},
	{"reject_address", `select @.reject_address('', '', null)`, "LG002"},
	{"reserved_write_index", `select @.reserved_write_index('__resume__')::text`, "-4"},
	{"new_checkpoint_id", `select substr(@.new_checkpoint_id(3), 15, 9)`, "6"},
	{"next_channel_version", `select @.next_channel_version('41')`, "42"},
	{"reject_argument", `select @.reject_argument('x', 'y', 'z')`, "LG002"},
	{"reject_checkpoint", `select @.reject_checkpoint('t', '', 'c1', 'c1', '{}', '{}')`, "LG002"},
	{"reject_missing_checkpoint", `select @.reject_missing_checkpoint('t', '', 'c9')`, "LG001"},
	{"reject_version_collision", `select @.reject_version_collision('t', '', array['m'], array['1'], array['msgpack'], array['\x00'::bytea])`, "LG003"},
	{"reject_cycle", `select @.reject_cycle('t', '', 'c1')`, "LG006"},
	{"reject_truncated", `select @.reject_truncated(3, 1)`, "LG006"},
	{"checkpoint_values", `select channel || ' ' || type from @.checkpoint_values('t', '', '{"channel_versions": {"m": "1"}}')`, "m msgpack"},
	{"stored_value", `select blob_version from @.stored_value('t', '', '{"channel_versions": {"m": "1"}}', 'm')`, "1"},
	{"list_threads", `select thread_id || ' ' || checkpoints from @.list_threads('{"step": 1}', now() + interval '1 day', 1)`, "t 2"},
	{"next_threads", `select string_agg(t, ' ') from @.next_threads('', 10) t`, "t"},
	{"lock_thread", `select @.lock_thread('t')::text`, "true"},
	{"lock_threads_to_copy", `select @.lock_threads_to_copy('t', 'nobody')`, ""},
	{"copy_thread", `select checkpoints::text from @.copy_thread('t', 'copy')`, "2"},
	{"fork_thread", `select checkpoints::text from @.fork_thread('t', 'c1', 'fork')`, "1"},
	{"delta_channels", `select count(*)::text from @.delta_channels('t')`, "0"},
	{"delta_channel_history", `select string_agg(kind, ' ') from @.delta_channel_history('t', '', 'c2', array['m'])`, "seed"},
	{"delta_channel_path", `select ancestors::text || is_seed from @.delta_channel_path('t', '', 'c2', array['m'], 'task_path')`, "{c1}true"},
	{"severed_delta_chains", `select count(*)::text from @.severed_delta_chains('t', '')`, "0"},
	{"diff_checkpoints", `select count(*)::text from @.diff_checkpoints('t', '', 'c1', 'c2')`, "0"},
	{"missing_values", `select count(*)::text from @.missing_values('t', '', 'c2')`, "0"},
	{"rebuild_blobs", `select count(*)::text from @.rebuild_blobs('t', '', 'c2')`, "0"},
	{"guard_key", `select (@.guard_key('t') = @.guard_key('t'))::text`, "true"},
	{"reject_no_guard", `select @.reject_no_guard(true, null)`, "LG002"},
	{"enable_guards", `select @.enable_guards(false, false)`, "LG002"}, // more than that only the owner may do
	{"disable_guards", `select @.disable_guards()`, ""},
	{"guard_deleted_thread", `select @.guard_deleted_thread()`, "0A000"}, // these are for triggers
	{"guard_version", `select @.guard_version()`, "0A000"},
	{"remember_deleted_threads", `select @.remember_deleted_threads()`, "0A000"},
	{"fsck", `select count(*)::text from @.fsck(null, true)`, "0"},
	{"fsck_thread", `select count(*)::text from @.fsck_thread('t')`, "0"},
	{"fsck_values", `select count(*)::text from @.fsck_values('t')`, "0"},
	{"pin_checkpoint", `select @.pin_checkpoint('t', '', 'c1')`, ""},
	{"removable_checkpoints", `select string_agg(checkpoint_id, ' ') from @.removable_checkpoints('t', array['', ''], array['c1', 'c2'])`, "c2"},
	{"unpin_checkpoint", `select @.unpin_checkpoint('t', '', 'c1')::text`, "true"},
	{"remove_checkpoints", `select checkpoints::text from @.remove_checkpoints('t', array[''], array[''], array['c2'], '{}', true)`, "1"},
	{"unreferenced_blobs", `select count(*)::text from @.unreferenced_blobs('t', array[''], '{}', '{}')`, "0"},
	{"prune", `select checkpoints::text from @.prune(array['t'], 'keep_latest', 1, true)`, "1"},
	{"prune_thread", `select checkpoints::text from @.prune_thread('t', true, null, false, null, true)`, "2"},
	{"delete_for_runs", `select count(*)::text from @.delete_for_runs(array['r'])`, "0"},
	{"set_thread_ttl", `select @.set_thread_ttl('t', '1 day')`, ""},
	{"set_retention_policy", `select @.set_retention_policy('p', p_keep_last => 1)`, ""},
	{"sweep_thread", `select checkpoints::text from @.sweep_thread('t', true)`, "1"},
	{"sweep_preview", `select string_agg(thread_id, ' ' order by thread_id) from @.sweep_preview()`, "copy t"},
	{"drop_retention_policy", `select @.drop_retention_policy('p')::text`, "true"},
	{"store_sweep", `select @.store_sweep()::text`, "0"},
	{"store_put", `select @.store_put(array['a.b', 'a-b'], array['k', 'k'], array['{"n": 1}', '{"n": 2}']::jsonb[], array[null, 0.5])`, ""},
	{"store_get", `select concat_ws(' ', item_position, prefix, key, value) from @.store_get(array['a.b'], array['k'], array[true])`, `1 a.b k {"n": 1}`},
	{"store_search", `select string_agg(prefix || ' ' || key, ', ') from @.store_search('a', '{"n": {"$gt": 0}}')`, "a.b k"},
	{"store_list_namespaces", `select string_agg(namespace, ' ') from @.store_list_namespaces(array['prefix'], array['a'])`, "a.b"},
	{"store_delete", `select @.store_delete(array['a-b'], array['k'])::text`, "1"},
	{"store_unchanged", `select count(*)::text from @.store_unchanged(array['a.b'], array['k'], array['$'], array['\x01'::bytea])`, "0"},
	{"store_info", `select (dims is null and text_config is null)::text from @.store_info()`, "true"},
	{"store_refresh", `select @.store_refresh(array['a.b'], array['k'])`, ""},
	{"store_has_more_than", `select @.store_has_more_than('a', 1)::text`, "false"},
	{"store_prefix_condition", `select @.store_prefix_condition('s', 'a')`, `(s.prefix = 'a' or (s.prefix >= 'a.' and s.prefix < 'a/'))`},
	{"store_filter_condition", `select @.store_filter_condition('{"n": 1}')`, `s.value -> 'n' = '1'`},
	{"store_filter_comparison", `select @.store_filter_comparison('n', '$exists', 'true')`, `(s.value -> 'n') is not null`},
	{"store_filter_narrowing", `select @.store_filter_narrowing('{"n": 1}')`, `s.value @> '{"n": 1}'`},
	{"store_has_filter_index", `select @.store_has_filter_index()::text`, "false"},
	{"store_timestamp", `select extract(epoch from @.store_timestamp('1970-01-02'))::bigint::text`, "86400"},
	{"store_set_local", `select @.store_set_local(array['enable_sort'], array['on'])::text`, "{on}"},
	{"store_namespace_patterns", `select root from @.store_namespace_patterns(array['prefix'], array['a.*'])`, "a"},
	{"store_text_paths", `select @.store_text_paths('{a.b}')::text`, `{"$.\"a\".\"b\""}`},
	{"store_text_search", `select @.store_text_search('simple', '{"a": "b c"}', '{}')::text`, "'b':1 'c':2"},
	{"store_vectors_touch", `select @.store_vectors_touch()`, "0A000"},
	{"store_vector_matches", `select prefixes::text from @.store_vector_matches('', null, null, array[1], 1)`, "LG004"},
	{"store_vector_reach", `select @.store_vector_reach('', null, 20, 1000000, 100)::text`, "0"},
	{"store_vector_scan", `select prefixes::text from @.store_vector_scan('', null, '0', array[1], 1, null, 1, 1, 1, 1)`, "42P01"},
	{"store_text_matches", `select count(*)::text from @.store_text_matches('true', 'words', 1)`, "LG004"},
	{"store_put_vectors", `select @.store_put_vectors('{}', '{}', '{}', null, '{}', '{}', '{}', '{}')`, "LG002"},
	{"reject_store_items", `select @.reject_store_items(array[''], array['k'], array['{}'::jsonb], array[null]::float8[])`, "LG002"},
	{"reject_store_vectors", `select @.reject_store_vectors('{}', array[1], '{}', '{}', '{}', '{}')`, "LG002"},
	{"reject_query_vector", `select @.reject_query_vector(array[1, 2], 3)`, "LG002"},
	{"reject_vector_index", `select @.reject_vector_index(0, 'vector', 'l2', 'flat', '{}')`, "LG002"},
	{"reject_not_enabled", `select @.reject_not_enabled('this', 'enable_this')`, "LG004"},
	// For who owns the tables; TestTheStoreSearchesInASchemaOfAnyName calls them as such.
	{"enable_vector_index", `select @.enable_vector_index(0)`, "LG002"},
	{"enable_text_index", `select @.enable_text_index('nothing')`, "LG002"},
	{"enable_filter_index", `select concat((
		select @.enable_filter_index()
		from pg_catalog.pg_class where relname = 'store' and pg_catalog.pg_get_userbyid(relowner) = current_user limit 1))`, ""},
	{"sweep", `call @.sweep()`, "2D000"}, // it commits, and so not in a transaction
	{"sweep_job", `select count(*)::text from @.sweep_job()`, "0"},
	{"sweep_job_name", `select @.sweep_job_name()`, "sweep "},
	{"schedule_sweep", `select @.schedule_sweep()::text`, "LG004"},
	{"unschedule_sweep", `select @.unschedule_sweep()::text`, "false"},
	{"ancestors", `select string_agg(checkpoint_id, ' ' order by depth) from @.ancestors('t')`, "c2 c1"},
	{"thread_tree", `select string_agg(drawing, ' ' order by ordinal) from @.thread_tree('t')`, "c1 c2"},
	{"writes_delta_channel", `select @.writes_delta_channel('t', '', 'c1')::text`, "false"},
	{"copy_blobs", `select left(@.copy_blobs('t', '', '{"channel_versions": {"m": "1"}}')::text, 100)`, `{"m": "2"}`},
	{"fork_checkpoint", `select @.fork_checkpoint('t', '', 'c1', 'c3', p_copy_blobs => true)`, "c3"},
	{"msgpack_float", `select @.msgpack_float(4609434218613702656, 64)::text`, "1.5"},
	{"utf8_without_nul", `select @.utf8_without_nul('\x610062')`, "a�b"},
	{"msgpack_kind", `select @.msgpack_kind('\x90')`, "array"},
	{"msgpack_header", `select @.msgpack_header('map', 1)::text`, `\x81`},
	{"msgpack_items", `select string_agg(value::text, ' ') from @.msgpack_items('\x920102')`, `\x01 \x02`},
	{"msgpack_merge", `select @.msgpack_merge('\x9101', '\x9102')::text`, `\x920102`},
	{"msgpack_to_jsonb", `select @.msgpack_to_jsonb('\x92cb3ff8000000000000a26100')::text`, `[1.5, "a�"]`},
	{"json_to_jsonb", `select @.json_to_jsonb('[NaN]')::text`, `["NaN"]`},
	{"value_to_jsonb", `select @.value_to_jsonb('json', '[1]')::text`, `[1]`},
	{"schema_info", `select features::jsonb ->> 'settings' from @.schema_info()`, "{}"},
	{"doctor", `select string_agg(topic, ' ') from @.doctor()`, "retention"},
	{"role_name", `select @.role_name('app')`, "_app"},
	{"role_rights", `select string_agg(object, ' ') from @.role_rights() where role = 'owner'`, "grant_roles(boolean,boolean)"},
	{"grant_roles", `select string_agg(g, ' ') from @.grant_roles(true) g`, "create role"},
	{"missing_tenant", `select @.missing_tenant()`, "LG007"},
	{"setting_tenant", `select set_config('langgraph.tenant', 'acme', true) || @.setting_tenant()`, "acmeacme"},
	{"role_tenant", `select (@.role_tenant() = current_user)::text`, "true"},
	{"tenant_tables", `select string_agg(kind, ' ' order by kind) from @.tenant_tables()`, "item operator operator registry"},
	{"claim_thread", `select @.claim_thread()::text`, "0A000"}, // a trigger function
	{"claim_item", `select @.claim_item()::text`, "0A000"},
	{"enable_tenancy", `select @.enable_tenancy('role')`, "LG004"}, // there are no roles
	{"disable_tenancy", `select @.disable_tenancy()`, ""},
	{"checkpoints_touch", `update @.checkpoints set metadata = metadata where thread_id = 't' and checkpoint_id = 'c1' returning (updated_at = now())::text`, "true"},
	{"checkpoints", `select string_agg(checkpoint_id, ' ' order by checkpoint_id) from @_analytics.checkpoints where thread_id = 't'`, "c1 c2 c3"},
	{"checkpoint_blobs", `select string_agg(value::text, ' ') from @_analytics.checkpoint_blobs where thread_id = 't'`, "[7] [7] [7]"},
	{"checkpoint_writes", `select string_agg(value::text, ' ' order by value) from @_analytics.checkpoint_writes where thread_id = 't'`, "1 1 2"},
	{"u64_at", `select @.u64_at('\x0100000000000000', 0)::text`, "1"},
	{"u64_add", `select @.u64_add(-1, 2)::text`, "1"},
	{"u64_product", `select @.u64_product(-1, 2)::text`, "{-2,1}"},
	{"xxh3_fold", `select @.xxh3_fold(-1, 2)::text`, "-1"},
	{"xxh3_avalanche", `select @.xxh3_avalanche(0)::text`, "0"},
	{"xxh3_128", `select @.xxh3_128('\x00')::text`, "LG002"},
	{"task_id", `select coalesce(@.task_id('', '{"id": "c1"}', 0, 'n', '__pregel_pullbranch:to:n'), 'none')`, "-"},
	{"task_node", `select @.task_node('t', '', 'c1', 'x', '~__pregel_pull, n')`, "n"},
	{"task_outcome", `select finished::text from @.task_outcome('t', '', 'c1', 'task')`, "true"},
	{"is_state_channel", `select @.is_state_channel('join:a+b:c')::text`, "false"},
	{"is_status_channel", `select @.is_status_channel('__resume__')::text`, "true"},
	{"triggered_node", `select @.triggered_node('join:a+b:c')`, "c"},
	{"jsonb_items", `select @.jsonb_items('{"lc_type": "builtins.set", "args": [[1]]}')::text`, "[1]"},
	{"jsonb_bigint", `select @.jsonb_bigint('7')::text`, "7"},
	{"is_available", `select @.is_available('join:a+b:c', '["a", "b"]')::text`, "true"},
	{"is_newer_version", `select @.is_newer_version('10', '9')::text`, "true"},
	{"is_message", `select @.is_message('{"role": "user", "content": "hi"}')::text`, "true"},
	{"message_fields", `select @.message_fields('{"id": 1}')::text`, `{"id": 1}`},
	{"message_role", `select @.message_role('{"type": "AIMessageChunk"}')`, "ai"},
	{"message_text", `select @.message_text('["a", {"text": "b"}]')`, "a\nb"},
	{"message_key", `select @.message_key('{"id": "x"}')`, "x"},
	{"message_origins", `select coalesce(string_agg(key, ''), 'none') from @.message_origins('t', '', 'c2', 'none')`, "none"},
	{"merge_messages", `select @.merge_messages(null, '{"role": "user", "content": "hi"}')::text`, `[{"role": "user", "content": "hi"}]`},
	{"overwrites", `select o::text from @.overwrites('{"__overwrite__": [1]}') o`, "[1]"},
	{"reduce_values", `select @.reduce_values('[1]', array['[2]'::jsonb], 'append')::text`, "[1, 2]"},
	{"channel_reducer", `select @.channel_reducer('t', '', 'c2', 'm', '[1]', '[2]')`, "append"},
	{"checkpoint_channel_value", `select v::text from @.checkpoint_channel_value('t', '', '{"channel_versions": {"m": "1"}}', 'm') v`, "[7]"},
	{"without_snapshot", `select @.without_snapshot('[1]')::text`, "[1]"},
	{"delta_values", `select string_agg(value::text, '') from @.delta_values('t', '', 'c2', array['m'])`, "[7]"},
	{"state_values", `select @.state_values('t', '', 'c1', '{"channel_versions": {"m": "1"}}', '{}')::text`, `{"m": [7]}`},
	{"interrupt_fields", `select @.interrupt_fields('["why?"]')::text`, `[{"id": null, "value": "why?"}]`},
	{"snapshot_tasks", `select count(*)::text from @.snapshot_tasks('t', '', 'c1', null, '{"channel_versions": {"m": "1"}}', '{}', '{}')`, "0"},
	{"checkpoint_snapshot", `select @.checkpoint_snapshot('t', '', 'c1', null, '{"ts": "now", "channel_versions": {"m": "1"}}', '{}', now(), true, null) ->> 'created_at'`, "now"},
	{"checkpoint_messages", `select count(*)::text from @.checkpoint_messages('t', '', 'c1', '{"channel_versions": {"m": "1"}}', '{}')`, "0"},
	{"newest_checkpoint", `select checkpoint_id from @.newest_checkpoint('t', '')`, "c3"},
	{"state_snapshot", `select (@_analytics.state_snapshot('t', '', 'c1') -> 'values')::text`, `{"m": [7]}`},
	{"state_history", `select string_agg(checkpoint_id, ' ') from @_analytics.state_history('t')`, "c3 c2 c1"},
	{"states", `select string_agg(values ->> 'm', ' ') from @_analytics.states where thread_id = 't'`, "[7] [7] [7]"},
	{"messages", `select count(*)::text from @_analytics.messages where thread_id = 't'`, "0"},
	{"interrupts", `select count(*)::text from @_analytics.interrupts where thread_id = 't'`, "0"},
	{"errors", `select error from @_analytics.errors where thread_id = 't'`, "2"},
	{"node_stats", `select string_agg(node || tasks, ' ' order by node) from @_analytics.node_stats where thread_id = 't'`, "a1 b1 task1"},
	{"storage_by_channel", `select string_agg(channel || versions, ' ' order by channel) from @_analytics.storage_by_channel where thread_id = 't'`, "__error__0 m3 x0"},
	{"merge_savings", `select string_agg(concat(writes_bytes, '/', blobs_bytes), ' ' order by checkpoint_id) from @_analytics.merge_savings where thread_id = 't'`, "1/2"},
	{"thread_growth", `select total_checkpoints::text from @_analytics.thread_growth where thread_id = 't'`, "3"},
	{"branches", `select string_agg(head_checkpoint_id, ' ' order by branch) from @_analytics.branches where thread_id = 't'`, "c2 c3"},
	{"delete_thread", `select concat_ws(' ', checkpoints, checkpoint_blobs, checkpoint_writes) from @.delete_thread('t')`, "3 3 3"},
}

// quoted puts a schema's name where @ stands.
func quoted(sql, schema string) string {
	sql = strings.ReplaceAll(sql, "@_analytics", pgx.Identifier{schema + "_analytics"}.Sanitize())
	return strings.ReplaceAll(sql, "@", pgx.Identifier{schema}.Sanitize())
}

// requireSmoke runs every function of a schema in one transaction, which it rolls back.
func requireSmoke(t *testing.T, db beginner, schema string) {
	t.Helper()
	inTx(t, db, func(tx pgx.Tx) {
		for _, call := range smoke {
			inSavepointKept(t, tx, func(sp pgx.Tx) error {
				rows, err := sp.Query(t.Context(), quoted(call.sql, schema))
				require.NoError(t, err)
				got, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[*string])
				var pgErr *pgconn.PgError
				if errors.As(err, &pgErr) {
					require.Equal(t, call.want, pgErr.Code, "%s: %s", call.function, pgErr.Message)
					return err
				}
				require.NoError(t, err, call.function)
				require.NotNil(t, got, call.function)
				require.Contains(t, *got, call.want, call.function)
				return nil
			})
		}
	})
}

// inSavepointKept keeps what do did, unless it gives an error.
func inSavepointKept(t *testing.T, tx pgx.Tx, do func(pgx.Tx) error) {
	t.Helper()
	savepoint, err := tx.Begin(t.Context())
	require.NoError(t, err)
	if do(savepoint) != nil {
		require.NoError(t, savepoint.Rollback(t.Context()))
		return
	}
	require.NoError(t, savepoint.Commit(t.Context()))
}

func TestTheSmokeCallsEveryFunctionAndView(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	called := map[string]bool{}
	for _, call := range smoke {
		called[call.function] = true
	}
	installed := column[string](t, db, `
		select proname from pg_proc where pronamespace in ('langgraph'::regnamespace, 'langgraph_analytics'::regnamespace)
		union all select relname from pg_class where relnamespace = 'langgraph_analytics'::regnamespace and relkind = 'v'
		order by 1`)
	require.Equal(t, installed, slices.Sorted(maps.Keys(called)), "whoever adds a function adds a call of it")
	requireSmoke(t, db, "langgraph")
}

// installed is a schema that a role without superuser's rights migrated and owns; sessions of that role see no schema by
// name.
func installed(t *testing.T, schema string) *pgx.Conn {
	t.Helper()
	db := newDatabase(t)
	role := newRole(t, db)
	exec(t, db, "grant create on database "+db.Config().ConnConfig.Database+" to "+role)
	exec(t, db, "alter role "+role+" set search_path = ''")
	config := db.Config().ConnConfig.Copy()
	config.RuntimeParams["role"] = role
	config.RuntimeParams["search_path"] = ""
	m, err := migrations.New(config, &migrations.Config{Schema: schema})
	require.NoError(t, err)
	require.NoError(t, m.Up(t.Context()))
	conn, err := pgx.ConnectConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close(context.WithoutCancel(t.Context()))) })
	require.Equal(t, role, value[string](t, conn, "select current_user"))
	require.Empty(t, value[string](t, conn, "select replace(current_setting('search_path'), '\"\"', '')"))
	require.False(t, value[bool](t, conn, "select rolsuper from pg_catalog.pg_roles where rolname = current_user"))
	return conn
}

func TestEveryFunctionWorksInASchemaOfAnyName(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{oddSchema, "select", "Langgraph", `""`, `back\slash`, strings.Repeat("n", 53)} {
		t.Run(schema, func(t *testing.T) {
			t.Parallel()
			conn := installed(t, schema)
			requireSmoke(t, conn, schema)
			exec(t, conn, quoted("call @.sweep()", schema))
			require.Equal(t, "true", value[string](t, conn, quoted("select value ->> 'done' from @.settings where key = 'sweep'", schema)))
		})
	}
}

func TestSchemasOfOneDatabaseDoNotSeeEachOther(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	m, err := migrations.New(db.Config().ConnConfig, &migrations.Config{Schema: oddSchema})
	require.NoError(t, err)
	require.NoError(t, m.Up(t.Context()))
	exec(t, db, "set search_path = "+quoted("@", oddSchema)) // names must not come from here
	put(t, db, stateArgs("c1", [3]string{"m", "1", "\x07"}))
	exec(t, db, putWritesSQL, writesArgs([]string{"x"}))
	for sql, counts := range map[string][2]int{
		"select count(*) from @.list_checkpoints()":            {1, 0},
		"select count(*) from @.get_checkpoint('t')":           {1, 0},
		"select count(*) from @.thread_tree('t')":              {1, 0},
		"select count(*) from @.checkpoint_blobs":              {1, 0},
		"select count(*) from @_analytics.checkpoints":         {1, 0},
		"select count(*) from @_analytics.checkpoint_writes":   {1, 0},
		"select checkpoints from @.delete_thread('elsewhere')": {0, 0},
	} {
		require.Equal(t, counts[0], value[int](t, db, quoted(sql, "langgraph")), sql)
		require.Equal(t, counts[1], value[int](t, db, quoted(sql, oddSchema)), sql)
	}
	requireSmoke(t, db, oddSchema)
	require.Equal(t, 0, value[int](t, db, quoted("select checkpoints from @.delete_thread('t')", oddSchema)))
	require.NotNil(t, get(t, db, "t"))
}

func TestFunctionsAreNotForPublic(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	role := newRole(t, db)
	exec(t, db, "grant usage on schema langgraph, langgraph_analytics to "+role)
	exec(t, db, "grant select, insert, update, delete on all tables in schema langgraph, langgraph_analytics to "+role)
	as(t, db, role, func(tx pgx.Tx) {
		for _, call := range smoke {
			if call.function == "checkpoints_touch" || strings.Contains(call.sql, "_analytics") {
				continue // a trigger function and views
			}
			inSavepoint(t, tx, func(sp pgx.Tx) {
				err := attempt(t.Context(), sp, quoted(call.sql, "langgraph"))
				requireState(t, "42501", err)
				require.Regexp(t, "permission denied for (function|procedure) "+call.function+" ", err.Error())
			})
		}
	})
	require.Empty(t, column[string](t, db, `
		select p.oid::regprocedure::text from pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
		where p.pronamespace in ('langgraph'::regnamespace, 'langgraph_analytics'::regnamespace) and a.grantee = 0`), "not even a trigger function")
	require.Empty(t, column[string](t, db, `
		select c.oid::regclass::text from pg_class c, aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) a
		where c.relnamespace in ('langgraph'::regnamespace, 'langgraph_analytics'::regnamespace) and c.relkind in ('r', 'v') and a.grantee = 0`))

	exec(t, db, "grant execute on all routines in schema langgraph, langgraph_analytics to "+role)
	as(t, db, role, func(tx pgx.Tx) { requireSmoke(t, tx, "langgraph") })
}

// idsByByte rise by byte. A language's rules would order them otherwise: lower case before upper, punctuation ignored.
var idsByByte = []string{"-a", "0Z", "0a", "1-b", "1a", "B", "Z", "_x", "a", "b-c", "bb", "é"}

func TestIdentifiersSortByByteWhateverTheLanguageOfTheDatabase(t *testing.T) {
	t.Parallel()
	t.Run("in the locale of the template", func(t *testing.T) {
		t.Parallel()
		requireByteOrder(t, newDatabase(t))
	})
	t.Run("in English", func(t *testing.T) {
		t.Parallel()
		requireByteOrder(t, newEnglishDatabase(t))
	})
}

func newEnglishDatabase(t *testing.T) *pgxpool.Pool {
	t.Helper()
	admin := newDatabase(t)
	if !value[bool](t, admin, "select exists (select from pg_collation where collprovider = 'i')") {
		t.Skip("the server is built without ICU, so it cannot make a database that sorts as English does")
	}
	name := admin.Config().ConnConfig.Database + "_en"
	exec(t, admin, "create database "+name+" template template0 encoding 'UTF8' locale_provider icu icu_locale 'en-US'")
	config := admin.Config()
	config.ConnConfig.Database = name
	m, err := migrations.New(config.ConnConfig, nil)
	require.NoError(t, err)
	require.NoError(t, m.Up(t.Context()))
	db, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() {
		db.Close()
		_, err := admin.Exec(context.WithoutCancel(t.Context()), "drop database "+name)
		require.NoError(t, err)
	})
	require.True(t, value[bool](t, db, "select 'a' < 'B'"), "it sorts as English does")
	return db
}

func requireByteOrder(t *testing.T, db *pgxpool.Pool) {
	t.Helper()
	newestFirst := slices.Clone(idsByByte)
	slices.Reverse(newestFirst)
	for i, id := range idsByByte {
		parent := pgx.NamedArgs{}
		if i > 0 {
			parent["parent"] = idsByByte[0]
		}
		put(t, db, pgx.NamedArgs{"id": id}, parent)
		put(t, db, pgx.NamedArgs{"id": fmt.Sprint("x", i), "ns": id})
		exec(t, db, putWritesSQL, writesArgs([]string{"w"}, pgx.NamedArgs{"thread": "w", "task": id}))
		exec(t, db, putWritesSQL, writesArgs([]string{"w"}, pgx.NamedArgs{"thread": "p", "path": id, "task": "t" + fmt.Sprint(len(idsByByte)-i)}))
	}
	put(t, db, pgx.NamedArgs{"thread": "w"})
	put(t, db, pgx.NamedArgs{"thread": "p"})

	require.Equal(t, "é", get(t, db, "t").CheckpointID)
	require.Equal(t, newestFirst, column[string](t, db, "select checkpoint_id from langgraph.list_checkpoints('t', '')"))
	require.Equal(t, newestFirst, column[string](t, db, "select checkpoint_id from langgraph.list_checkpoints(p_checkpoint_ns => '') where thread_id = 't'"))
	require.Equal(t, newestFirst[6:], column[string](t, db, "select checkpoint_id from langgraph.list_checkpoints('t', '', p_before => $1)", newestFirst[5]))
	require.Equal(t, newestFirst[6:], column[string](t, db, `
		select checkpoint_id from langgraph.list_checkpoints('t', p_before => $1) where checkpoint_ns = ''`, newestFirst[5]))
	require.Equal(t, idsByByte, get(t, db, "w").WriteTaskIDs)
	require.Equal(t, idsByByte, get(t, db, "p").WriteTaskPaths)
	require.Equal(t, idsByByte, column[string](t, db, "select checkpoint_id from langgraph.thread_tree('t')"))
	require.Equal(t, "é", value[string](t, db, "select checkpoint_id from langgraph.ancestors('t') where depth = 0"))
	requireRefused(t, refusal{"LG002", "invalid new_checkpoint_id", "'zz' does not sort above 'é'", "sorts above"},
		attempt(t.Context(), db, forkSQL, forkArgs(pgx.NamedArgs{"id": "a", "new": "zz"})))
	require.Equal(t, "éa", value[string](t, db, forkSQL, forkArgs(pgx.NamedArgs{"id": "a", "new": "éa"})))

	put(t, db, pgx.NamedArgs{"thread": "fork", "id": "1-c2"})
	require.Equal(t, "1-c20", value[string](t, db, forkSQL, forkArgs(pgx.NamedArgs{"thread": "fork", "new": "1-c20"})))
	requireRefused(t, refusal{code: "LG002", message: "invalid new_checkpoint_id"},
		attempt(t.Context(), db, forkSQL, forkArgs(pgx.NamedArgs{"thread": "fork", "new": "1-C3"})))
}
