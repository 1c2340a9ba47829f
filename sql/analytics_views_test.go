package sql_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/serde"
	"github.com/pgweft/pgweft/serde/messages"
	"github.com/pgweft/pgweft/serde/ordered"
)

// packed is a value as LangGraph stores it.
func packed(t *testing.T, value any) string {
	t.Helper()
	typed, err := serde.Default().Dump(value)
	require.NoError(t, err)
	require.Equal(t, "msgpack", typed.Type)
	return string(typed.Data)
}

// requireRows compares what a query returns, one text a row.
func requireRows(t *testing.T, db querier, sql string, wanted ...string) {
	t.Helper()
	require.Empty(t, cmp.Diff(wanted, column[string](t, db, sql)), sql)
}

const messagesSQL = `
	select concat_ws(' | ', position, message_id, role, name, text, tool_calls, tool_call_id, model,
		concat(input_tokens, '+', output_tokens, '=', total_tokens), checkpoint_id)
	from langgraph_analytics.messages where thread_id = '%s' order by position`

func TestMessagesAreOneRowEach(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	call := messages.ToolCall{ID: "call-1", Name: "search", Args: ordered.New().Set("q", "a")}
	system := messages.System("Be brief.", messages.WithID("s"))
	human := messages.Human("", messages.WithID("h"), messages.WithName("Ann"), messages.WithParts(
		messages.TextPart("What is"), ordered.New().Set("type", "image_url").Set("image_url", "x"), "this?"))
	ai := messages.AI("", messages.WithID("a"), messages.WithToolCalls(call),
		messages.WithUsage(messages.Usage{InputTokens: 3, OutputTokens: 4, TotalTokens: 7}),
		messages.WithResponseMetadata(ordered.New().Set("model_name", "gpt-5")))
	tool := messages.Tool("A cat.", "call-1", messages.WithID("t"), messages.WithName("search"))

	put(t, db, stateArgs("c1", [3]string{"messages", "1", packed(t, []any{system})}, [3]string{"n", "1", "\x07"}))
	put(t, db, pgx.NamedArgs{"parent": "c1"}, stateArgs("c2", [3]string{"messages", "2", packed(t, []any{system, human})}))
	put(t, db, pgx.NamedArgs{"parent": "c2"}, stateArgs("c3", [3]string{"messages", "3", packed(t, []any{system, human, ai, tool})}))
	// A branch that is not the newest, and one that replaces a message.
	put(t, db, pgx.NamedArgs{"parent": "c3"}, stateArgs("c4", [3]string{"messages", "4", packed(t, []any{human})}))
	rewritten := messages.System("Be briefer.", messages.WithID("s"))
	anonymous := messages.Human("No ID.")
	put(t, db, pgx.NamedArgs{"parent": "c3"}, stateArgs("c5", [3]string{"messages", "5", packed(t, []any{rewritten, human, ai, tool, anonymous})}))
	requireRows(t, db, fmt.Sprintf(messagesSQL, "t"),
		`1 | s | system | Be briefer. | += | c1`,
		"2 | h | human | Ann | What is\nthis? | += | c2",
		`3 | a | ai |  | [{"id": "call-1", "args": {"q": "a"}, "name": "search", "type": "tool_call"}] | gpt-5 | 3+4=7 | c3`,
		`4 | t | tool | search | A cat. | call-1 | += | c3`,
		`5 | human | No ID. | += | c5`)
	require.Equal(t, []string{"messages"}, column[string](t, db, "select distinct channel from langgraph_analytics.messages"))
	require.Equal(t, 5, value[int](t, db, `
		select count(*) from langgraph_analytics.messages m join langgraph.checkpoints c using (thread_id, checkpoint_id)
		where m.first_created_at = c.created_at`))
}

func TestMessagesAreReadInEveryEncoding(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	for thread, state := range map[string][2]string{
		"javascript": {"json", `[
			{"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", "HumanMessage"], "kwargs": {"content": "hi", "id": "1"}},
			{"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", "AIMessageChunk"], "kwargs": {"content": [{"type": "text", "text": "hello"}],
				"id": "2", "tool_calls": [], "additional_kwargs": {"tool_calls": [{"id": "c"}]},
				"response_metadata": {"model": "claude", "usage": {"input_tokens": 5, "output_tokens": 6}}}},
			{"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", "ToolMessage"], "kwargs": {"content": "42", "id": "3", "tool_call_id": "c"}}]`},
		"plain": {"json", `[{"role": "user", "content": "hi", "id": "1"}, {"role": "assistant", "content": "hello", "id": "2",
			"response_metadata": {"model_name": "m", "token_usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}}},
			{"role": "developer", "content": null}, "not a message", {"type": "text", "content": "nor this"}]`},
		"single": {"msgpack", packed(t, messages.Chat("Objection!", "lawyer", messages.WithID("1")))},
		"none":   {"json", `["a", {"content": "no role"}]`},
		"secret": {"msgpack+aes", "0123456789"},
	} {
		put(t, db, stateArgs("c1", [3]string{"dialog", "1", state[1]}), pgx.NamedArgs{"thread": thread, "types": []string{state[0]}})
	}
	requireRows(t, db, fmt.Sprintf(messagesSQL, "javascript"),
		`1 | 1 | human | hi | += | c1`,
		`2 | 2 | ai | hello | [{"id": "c"}] | claude | 5+6=11 | c1`,
		`3 | 3 | tool | 42 | c | += | c1`)
	requireRows(t, db, fmt.Sprintf(messagesSQL, "plain"),
		`1 | 1 | human | hi | += | c1`,
		`2 | 2 | ai | hello | m | 1+2=3 | c1`,
		`3 | system | += | c1`)
	requireRows(t, db, fmt.Sprintf(messagesSQL, "single"), `1 | 1 | lawyer | Objection! | += | c1`)
	require.Empty(t, column[string](t, db, "select text from langgraph_analytics.messages where thread_id in ('none', 'secret')"))
}

// What LangGraph's own graphs left: their messages, questions and errors, by the views.
func TestViewsShowWhatLangGraphShows(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	questions, failures, conversations := 0, 0, 0
	for _, scenario := range langGraphScenarios(t) {
		for _, moment := range scenario.Moments {
			thread := scenario.Name + "/" + moment.Name
			moment.save(t, db, thread)
			for _, snapshot := range moment.Snapshots {
				if !snapshot.Live {
					continue
				}
				if snapshot.Namespace == "" {
					questions += requireQuestions(t, db, snapshot, thread)
				}
				failures += requireFailures(t, db, snapshot, thread)
				conversations += requireConversation(t, db, snapshot, thread)
			}
		}
		thread := scenario.Name + "/" + scenario.Moments[0].Name
		require.Equal(t, 0, value[int](t, db, `
			select count(*) from langgraph_analytics.states s
			join langgraph_analytics.state_history($1) h using (checkpoint_id)
			where s.thread_id = $1 and s.checkpoint_ns = '' and (s.values <> h.snapshot -> 'values' or s.next <> h.snapshot -> 'next'
				or s.is_latest <> (s.checkpoint_id = (select max(checkpoint_id) from langgraph_analytics.states where thread_id = $1 and checkpoint_ns = '')))`, thread))
	}
	require.Greater(t, questions, 10)
	require.Greater(t, failures, 2)
	require.Greater(t, conversations, 10)
}

func requireQuestions(t *testing.T, db querier, snapshot langGraphSnapshot, thread string) int {
	t.Helper()
	wanted := map[any]any{}
	for _, interrupt := range snapshot.Interrupts.decoded(t, db).([]any) {
		fields := interrupt.(map[string]any)
		wanted[fmt.Sprint(fields["id"])] = fields["value"]
	}
	got := map[any]any{}
	for _, row := range table[struct {
		InterruptID, Node string
		Payload           any
	}](t, db, "select interrupt_id, node, payload from langgraph_analytics.interrupts where thread_id = $1", thread) {
		got[row.InterruptID] = row.Payload
		require.Contains(t, snapshot.Next, row.Node)
	}
	require.Empty(t, cmp.Diff(wanted, got), thread)
	return len(wanted)
}

func requireFailures(t *testing.T, db querier, snapshot langGraphSnapshot, thread string) int {
	t.Helper()
	wanted := []string{}
	for _, task := range snapshot.Tasks {
		if task.Error != nil {
			wanted = append(wanted, fmt.Sprint(task.Name, " ", task.ID, " ", task.Error))
		}
	}
	require.Equal(t, wanted, column[string](t, db, `
		select node || ' ' || task_id || ' ' || error from langgraph_analytics.errors
		where thread_id = $1 and checkpoint_ns = $2 and is_current order by node`, thread, snapshot.Namespace), thread)
	return len(wanted)
}

// requireConversation requires the messages of LangGraph's state, each since the oldest checkpoint on the way to it whose
// state has a message of that ID.
func requireConversation(t *testing.T, db querier, snapshot langGraphSnapshot, thread string) int {
	t.Helper()
	values, _ := snapshot.Values.decoded(t, db).(map[string]any)
	list, _ := values["messages"].([]any)
	wanted := []string{}
	for _, item := range list {
		id := item.(map[string]any)["id"]
		first := value[*string](t, db, `
			select checkpoint_id from langgraph.ancestors($1, $2, $3) a
			where langgraph_analytics.state_snapshot($1, $2, a.checkpoint_id) #> '{values,messages}' @> jsonb_build_array(jsonb_build_object('id', $4::text))
			order by depth desc limit 1`, thread, snapshot.Namespace, snapshot.ID, id)
		if first == nil {
			continue // written by a task that is done, and not yet in a checkpoint
		}
		wanted = append(wanted, fmt.Sprint(id, " ", item.(map[string]any)["content"], " ", *first))
	}
	require.Equal(t, wanted, column[string](t, db, `
		select concat_ws(' ', message_id, text, checkpoint_id) from langgraph_analytics.messages
		where thread_id = $1 and checkpoint_ns = $2 order by position`, thread, snapshot.Namespace), thread)
	return len(wanted)
}

func TestInterruptsWaitUntilTheTaskIsDone(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	ask := func(id, task string, value any) {
		exec(t, db, putWritesSQL, writesArgs([]string{"__interrupt__"}, pgx.NamedArgs{
			"id": id, "task": task, "path": "~__pregel_pull, " + task, "blobs": [][]byte{[]byte(packed(t, value))},
		}))
	}
	put(t, db)
	ask("c1", "old", []any{serde.Interrupt{Value: "past", ID: "0"}})
	put(t, db, pgx.NamedArgs{"id": "c2", "parent": "c1"})
	ask("c2", "approve", []any{serde.Interrupt{Value: ordered.New().Set("refund", int64(20)), ID: "1"}, serde.Interrupt{Value: "sure?", ID: "2"}})
	ask("c2", "plain", "just text")
	exec(t, db, "update langgraph.checkpoint_writes set created_at = '2026-04-07 10:00+00'")
	const sql = `
		select concat_ws(' ', checkpoint_id, node, interrupt_id, waiting_since at time zone 'UTC', payload)
		from langgraph_analytics.interrupts where thread_id = 't' order by node, interrupt_id`
	requireRows(t, db, sql, `c2 approve 1 2026-04-07 10:00:00 {"refund": 20}`, `c2 approve 2 2026-04-07 10:00:00 "sure?"`, `c2 plain 2026-04-07 10:00:00 "just text"`)
	exec(t, db, putWritesSQL, writesArgs([]string{"__resume__"}, pgx.NamedArgs{"id": "c2", "task": "approve"}))
	require.Len(t, column[string](t, db, sql), 3, "an answer is not the end: the task may ask again")
	exec(t, db, putWritesSQL, writesArgs([]string{"x"}, pgx.NamedArgs{"id": "c2", "task": "approve"}))
	requireRows(t, db, sql, `c2 plain 2026-04-07 10:00:00 "just text"`)
	put(t, db, pgx.NamedArgs{"id": "c3", "parent": "c2"})
	require.Empty(t, column[string](t, db, sql))
}

func TestErrorsSayWhetherTheyStand(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	put(t, db)
	for task, failure := range map[string]string{"a": `"boom"`, "b": `{"message": "no route", "name": "Error"}`, "c": `[1]`} {
		exec(t, db, putWritesSQL, writesArgs([]string{"__error__"}, pgx.NamedArgs{
			"task": task, "path": "~__pregel_pull, node " + task, "types": []string{"json"}, "blobs": [][]byte{[]byte(failure)},
		}))
	}
	exec(t, db, putWritesSQL, writesArgs([]string{"x"}, pgx.NamedArgs{"task": "c"}))
	const sql = "select concat_ws(' ', node, error, is_current) from langgraph_analytics.errors where thread_id = 't' order by node"
	requireRows(t, db, sql, "node a boom t", "node b no route t", "node c [1] f")
	put(t, db, pgx.NamedArgs{"id": "c2", "parent": "c1"})
	requireRows(t, db, sql, "node a boom f", "node b no route f", "node c [1] f")
}

func TestNodeStatsTimeWhatDidNotWait(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	put(t, db)
	put(t, db, pgx.NamedArgs{"id": "c2"})
	packets := serde.Send{Node: "worker", Arg: int64(1)}
	put(t, db, stateArgs("c3", [3]string{"__pregel_tasks", "1", packed(t, []any{packets, packets})}))
	write := func(id, task, path string, seconds int, channels ...string) {
		exec(t, db, putWritesSQL, writesArgs(channels, pgx.NamedArgs{"id": id, "task": task, "path": path}))
		exec(t, db, `
			update langgraph.checkpoint_writes w set created_at = c.created_at + make_interval(secs => $3)
			from langgraph.checkpoints c where c.checkpoint_id = w.checkpoint_id and w.checkpoint_id = $1 and w.task_id = $2`, id, task, seconds)
	}
	write("c1", "00000000-0000-0000-0000-0000000000a1", "~__pregel_pull, model", 1, "x", "y")
	write("c2", "00000000-0000-0000-0000-0000000000a2", "~__pregel_pull, model", 3, "x")
	write("c2", "00000000-0000-0000-0000-0000000000a3", "~__pregel_pull, ask", 60, "__interrupt__", "x")
	write("c3", "00000000-0000-0000-0000-0000000000a4", "~__pregel_push, 0000000001, 0000000000", 2, "x", "__error__")
	write("c3", "named after its node", "", -1, "x")
	write("c3", "00000000-0000-0000-0000-000000000000", "", 0, "x")
	requireRows(t, db, `
		select concat_ws(' ', node, tasks, writes, bytes, errors, interrupts, timed_tasks, total_duration, avg_duration, max_duration, last_at - first_at)
		from langgraph_analytics.node_stats where thread_id = 't' order by node collate "C"`,
		"__input__ 1 1 1 0 0 1 00:00:00 00:00:00 00:00:00 00:00:00",
		"ask 1 2 2 0 1 0 00:00:00",
		"model 2 3 3 0 0 2 00:00:04 00:00:02 00:00:03 "+value[string](t, db, `
			select (interval '2 seconds' + (select created_at from langgraph.checkpoints where checkpoint_id = 'c2')
				- (select created_at from langgraph.checkpoints where checkpoint_id = 'c1'))::text`),
		"named after its node 1 1 1 0 0 0 00:00:00",
		"worker 1 2 2 1 0 1 00:00:02 00:00:02 00:00:02 00:00:00")
}

func TestStorageViewsCountBytes(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	put(t, db, stateArgs("c1", [3]string{"a", "1", "1234"}, [3]string{"b", "1", "12"}))
	put(t, db, pgx.NamedArgs{"parent": "c1"}, stateArgs("c2", [3]string{"a", "2", "123456"}),
		pgx.NamedArgs{"checkpoint": `{"id": "c2", "channel_versions": {"a": "2", "b": "1"}}`})
	exec(t, db, putWritesSQL, writesArgs([]string{"a", "x"}, pgx.NamedArgs{"blobs": [][]byte{[]byte("123"), []byte("1")}}))
	exec(t, db, putWritesSQL, writesArgs([]string{"a"}, pgx.NamedArgs{"task": "other"}))
	requireRows(t, db, `
		select concat_ws(' ', channel, versions, blob_bytes, writes, write_bytes, stored_bytes)
		from langgraph_analytics.storage_by_channel where thread_id = 't' order by channel`,
		"a 2 10 2 4 18", "b 1 2 0 0 3", "x 0 0 1 1 2") // short values have one byte of header
	requireRows(t, db, `
		select concat_ws(' ', checkpoint_id, tasks, writes, writes_bytes, blobs, blobs_bytes, new_blobs, new_bytes, shared_bytes)
		from langgraph_analytics.merge_savings where thread_id = 't' order by checkpoint_id`,
		"c1 2 3 5 2 6 2 6 0", "c2 0 0 0 2 8 1 6 2")

	exec(t, db, "update langgraph.checkpoints set created_at = '2026-04-07 23:30-01' where checkpoint_id = 'c1'")
	exec(t, db, "update langgraph.checkpoint_blobs set created_at = '2026-04-08 12:00+00'")
	exec(t, db, "update langgraph.checkpoint_writes set created_at = '2026-04-08 12:00+00'")
	exec(t, db, "update langgraph.checkpoints set created_at = '2026-04-10 00:00+00' where checkpoint_id = 'c2'")
	requireRows(t, db, `
		select concat_ws(' ', day, checkpoints, blobs, writes, total_checkpoints, total_bytes = sum(bytes) over (order by day),
			bytes = 23 + (select pg_column_size(checkpoint) + pg_column_size(metadata) from langgraph.checkpoints where checkpoint_id = 'c1'))
		from langgraph_analytics.thread_growth where thread_id = 't' order by day`,
		"2026-04-08 1 3 3 1 t t", "2026-04-10 1 0 0 2 t f")
}

func TestBranchesAreTheHeadsOfThreads(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	parents{"c1": "", "c2": "c1", "c3": "c2", "c4": "c2", "c5": "c4", "c6": "c1"}.store(t, db, "t")
	parents{"c1": "", "c2": "c1"}.store(t, db, "straight")
	const sql = `
		select concat_ws(' ', branch, head_checkpoint_id, forked_from, checkpoints, depth, source, is_latest)
		from langgraph_analytics.branches where thread_id = '%s' order by branch`
	requireRows(t, db, fmt.Sprintf(sql, "t"), "1.1 c3 c2 1 2 loop f", "1.2 c5 c2 2 3 loop f", "2 c6 c1 1 1 loop t")
	requireRows(t, db, fmt.Sprintf(sql, "straight"), " c2 2 1 loop t")
}

// The views, and what is read of them. A filter by thread must not read the tables of all threads.
var analyticsViews = []string{
	"checkpoints", "checkpoint_blobs", "checkpoint_writes", "states", "messages", "interrupts", "errors", "node_stats",
	"storage_by_channel", "merge_savings", "thread_growth", "branches",
}

func TestAnalyticsOfOneThreadReadOnlyThatThread(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	require.ElementsMatch(t, analyticsViews, column[string](t, db, "select viewname from pg_views where schemaname = 'langgraph_analytics'"))
	manyThreads(t, db)
	inTx(t, db, func(tx pgx.Tx) {
		before := scans(t, tx)
		exec(t, tx, "do $do$ begin perform count(*) from langgraph.checkpoint_writes where channel = 'x'; end $do$")
		require.NotEqual(t, before, scans(t, tx), "a scan inside a function is seen")
	})
	for _, view := range analyticsViews {
		t.Run(view, func(t *testing.T) {
			t.Parallel()
			requireIndexed(t, db, "select * from langgraph_analytics."+view+" where thread_id = 'thread 1234'")
		})
	}
	for _, call := range []string{"state_snapshot('thread 1234')", "state_history('thread 1234')"} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			requireIndexed(t, db, "select * from langgraph_analytics."+call)
		})
	}
	for _, view := range []string{"interrupts", "errors"} {
		t.Run(view+" of all threads", func(t *testing.T) {
			t.Parallel()
			requireIndexed(t, db, "select * from langgraph_analytics."+view)
		})
	}
}

// manyThreads makes 5,000 threads of three checkpoints; one thread in a hundred waits, and one in a hundred failed.
func manyThreads(t *testing.T, db querier) {
	t.Helper()
	message := packed(t, []any{messages.Human("hi", messages.WithID("1"))})
	exec(t, db, `
		insert into langgraph.checkpoints (thread_id, checkpoint_id, parent_checkpoint_id, checkpoint, metadata)
		select 'thread ' || t, 'c' || c, case when c > 1 then 'c' || c - 1 end,
			jsonb_build_object('v', 4, 'id', 'c' || c, 'channel_versions', jsonb_build_object('messages', c::text, 'branch:to:n', c::text)),
			jsonb_build_object('source', 'loop', 'step', c)
		from generate_series(1, 5000) t, generate_series(1, 3) c`)
	exec(t, db, `
		insert into langgraph.checkpoint_blobs (thread_id, channel, version, type, blob)
		select 'thread ' || t, b.channel, c::text, b.type, b.blob
		from generate_series(1, 5000) t, generate_series(1, 3) c,
			(values ('messages', 'msgpack', $1::bytea), ('branch:to:n', 'null', '')) b (channel, type, blob)`, []byte(message))
	exec(t, db, `
		insert into langgraph.checkpoint_writes (thread_id, checkpoint_id, task_id, task_path, idx, channel, type, blob)
		select 'thread ' || t, 'c' || c, 'n', '~__pregel_pull, n', w.idx, w.channel, 'msgpack', w.blob
		from generate_series(1, 5000) t, generate_series(1, 3) c,
			(values (0, 'messages', $1::bytea), (-3, '__interrupt__', '\xa57265616c3f'), (-1, '__error__', '\xa4626f6f6d')) w (idx, channel, blob)
		where c < 3 and w.idx = 0 or c = 3 and w.idx = case t % 100 when 34 then -3 when 35 then -1 else 0 end`, []byte(message))
	for _, table := range []string{"checkpoints", "checkpoint_blobs", "checkpoint_writes"} {
		exec(t, db, "vacuum analyze langgraph."+table)
	}
}

// requireIndexed requires that neither the plan of a query nor the functions it calls scan a table of checkpoints from end to
// end, and that there is something to read.
func requireIndexed(t *testing.T, db *pgxpool.Pool, sql string) {
	t.Helper()
	plan := strings.Join(column[string](t, db, "explain "+sql), "\n")
	require.NotContains(t, plan, "Seq Scan on checkpoint", sql)
	inTx(t, db, func(tx pgx.Tx) {
		var rows []json.RawMessage
		started := scans(t, tx)
		for _, row := range column[string](t, tx, "select to_jsonb(r)::text from ("+sql+") r") {
			rows = append(rows, json.RawMessage(row))
		}
		if !strings.Contains(sql, "errors where") {
			require.NotEmpty(t, rows, sql)
		}
		require.Equal(t, started, scans(t, tx), "%s\n%s", sql, plan)
	})
}

// scans counts the sequential scans of this transaction, by table.
func scans(t *testing.T, tx pgx.Tx) []string {
	t.Helper()
	return column[string](t, tx, `
		select relname || ' ' || seq_scan from pg_stat_xact_user_tables
		where schemaname = 'langgraph' and relname like 'checkpoint%' order by 1`)
}

// A long conversation stores its messages in every version of the list; looking at it must not read each of them as often.
func TestMessagesOfALongConversation(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	conversation := chat(120)
	parent := ""
	for i := range conversation {
		id := fmt.Sprintf("c%03d", i)
		args := stateArgs(id, [3]string{"messages", fmt.Sprint(i), packed(t, conversation[:i+1])})
		if parent != "" {
			args["parent"] = parent
		}
		put(t, db, args)
		parent = id
	}
	type row struct {
		Position     int
		Role         string
		CheckpointID string
	}
	var wanted []row
	for i := range conversation {
		wanted = append(wanted, row{i + 1, []string{"human", "ai", "tool", "ai"}[i%4], fmt.Sprintf("c%03d", i)})
	}
	require.Equal(t, wanted, table[row](t, db, "select position, role, checkpoint_id from langgraph_analytics.messages where thread_id = 't' order by position"))
	require.Equal(t, int64(30*876), value[int64](t, db, "select sum(total_tokens)::bigint from langgraph_analytics.messages where model = 'gpt-5-mini'"))
}
