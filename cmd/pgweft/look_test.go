package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/cmd/internal/cli"
	"github.com/pgweft/pgweft/pgsaver"
	"github.com/pgweft/pgweft/serde"
	"github.com/pgweft/pgweft/serde/messages"
)

func TestThreadsAreListedByTheirLastActivity(t *testing.T) {
	t.Parallel()
	sh, d := newShell(t)
	require.Equal(t, result{stderr: "no threads\n"}, sh.run("threads"))
	require.Equal(t, "[]\n", sh.output("threads", "--json"))

	d.saveInsurance()
	d.saveLine("线程", 3, nil).date(noon.Add(-26 * time.Hour))
	failing := d.saveLine("batch", 1, checkpoint.Metadata{"user_id": "u-18"})
	failing.write("", "ckpt_001", "t1", "work", checkpoint.Write{Channel: checkpoint.ChannelError, Value: "no such product"})
	failing.date(noon.Add(-time.Minute))

	requireText(t, `
		THREAD   STATUS  NAMESPACES  CHECKPOINTS  FIRST ACTIVITY  LAST ACTIVITY
		─────────────────────────────────────────────────────────────────────────
		batch    error            1            1  1 minute ago    1 minute ago
		保险-42  idle             2            5  2 hours ago     1 hour ago
		线程     idle             1            3  1 day ago       1 day ago
		`, sh.output("threads"))
	const all = `select jsonb_agg(to_jsonb(l)) from langgraph.list_threads() l`
	d.requireSame(sh.output("threads", "--json"), all)

	require.Equal(t, []string{"batch"}, threadIDs(t, sh.output("threads", "--json", "--filter", `{"user_id": "u-18"}`)))
	require.Equal(t, []string{"线程"}, threadIDs(t, sh.output("threads", "--json", "--before", "2026-04-07 09:59:00+00")))

	page := sh.run("threads", "--limit", "2")
	require.Equal(t, 4, strings.Count(page.stdout, "\n"), page.stdout)
	_, next, found := strings.Cut(page.stderr, `--before "`)
	require.True(t, found, page.stderr)
	next, _, _ = strings.Cut(next, `"`)
	require.Equal(t, []string{"线程"}, threadIDs(t, sh.output("threads", "--json", "--limit", "2", "--before", next)))
}

func threadIDs(t *testing.T, document string) []string {
	t.Helper()
	var threads []thread
	require.NoError(t, json.Unmarshal([]byte(document), &threads))
	ids := make([]string, len(threads))
	for i, row := range threads {
		ids[i] = row.ThreadID
	}
	return ids
}

func TestATreeShowsBranchesAndWhatStandsOut(t *testing.T) {
	t.Parallel()
	sh, d := newShell(t)
	d.saveInsurance()
	d.exec("select langgraph.pin_checkpoint($1, '', 'ckpt_003')", insurance)
	const root = `
		CHECKPOINT   STEP  SOURCE  SAVED                    WRITES  NOTES
		──────────────────────────────────────────────────────────────────────
		ckpt_001       -1  input   2026-04-07 10:00:00.000       0
		ckpt_002        0  loop    2026-04-07 10:00:01.000       2
		├─ ckpt_003     1  loop    2026-04-07 10:00:02.000       0  pinned
		└─ ckpt_005     1  fork    2026-04-07 10:00:04.000       0  ← latest
		`
	const below = `
		CHECKPOINT  STEP  SOURCE  SAVED                    WRITES  NOTES
		────────────────────────────────────────────────────────────────────────────────
		ckpt_004       0  loop    2026-04-07 10:00:03.000       0  ← latest, interrupt
		`
	requireText(t, golden(root)+"\n1 subgraph namespace below (--namespace draws one, --all draws all):\n"+
		"  research:5f3c  1 checkpoint\n", sh.output("tree", insurance))
	requireText(t, golden(root)+"\nnamespace research:5f3c\n"+golden(below), sh.output("tree", insurance, "--all"))
	requireText(t, "namespace research:5f3c\n"+golden(below), sh.output("tree", insurance, "--namespace", research))

	var rows []node
	require.NoError(t, json.Unmarshal([]byte(sh.output("tree", insurance, "--json")), &rows))
	require.Len(t, rows, 4)
	require.Equal(t, "ckpt_003", rows[2].CheckpointID)
	require.True(t, rows[2].Pinned)
	require.Equal(t, int64(2), rows[1].Writes)
	const extra = `- '{checkpoint_ns,writes,interrupts,errors,pinned}'::text[]`
	require.NoError(t, json.Unmarshal([]byte(sh.output("tree", insurance, "--all", "--json")), &rows))
	require.Len(t, rows, 5)
	require.Equal(t, int64(1), rows[4].Interrupts)
	d.requireSame(d.eachWithout(sh.output("tree", insurance, "--json"), extra),
		`select jsonb_agg(to_jsonb(t) order by ordinal) from langgraph.thread_tree($1) t`, insurance)
}

// eachWithout changes each element of a JSON array by a jsonb operator.
func (d *database) eachWithout(document, operator string) string {
	d.t.Helper()
	var changed string
	require.NoError(d.t, d.conn.QueryRow(d.t.Context(),
		`select jsonb_agg(e `+operator+` order by n) from jsonb_array_elements($1::jsonb) with ordinality as a (e, n)`,
		document).Scan(&changed))
	return changed
}

func TestProblemsOfATreeAreRedOnATerminalOnly(t *testing.T) {
	t.Parallel()
	sh, d := newShell(t)
	d.saveLine("t", 2, nil)
	d.exec("update langgraph.checkpoints set parent_checkpoint_id = 'lost' where checkpoint_id = 'ckpt_001'")
	require.Contains(t, sh.output("tree", "t"), "0  missing parent lost\n")
	onTerminal := shell{t: t, env: sh.env, columns: 80}
	require.Contains(t, onTerminal.output("tree", "t"), "0  \x1b[31mmissing parent lost\x1b[0m\n")
	onTerminal.env = map[string]string{"DATABASE_URL": sh.env["DATABASE_URL"], "NO_COLOR": "1"}
	require.NotContains(t, onTerminal.output("tree", "t"), "\x1b")
}

func TestManyNamespacesAreCountedRatherThanListed(t *testing.T) {
	t.Parallel()
	sh, d := newShell(t)
	h := d.saveLine("t", 1, nil)
	for i := range 12 {
		h.save(superstep{namespace: fmt.Sprintf("sub:%02d", i), id: "ckpt_002", source: "loop"})
	}
	got := sh.output("tree", "t")
	require.Contains(t, got, "12 subgraph namespaces below")
	require.Contains(t, got, "  sub:09  1 checkpoint\n  … and 2 more\n")
	require.Equal(t, 12, strings.Count(sh.output("tree", "t", "--all"), "namespace sub:"))
}

func TestACheckpointIsShownWhole(t *testing.T) {
	t.Parallel()
	sh, d := newShell(t)
	d.saveInsurance()
	requireText(t, `
		thread      保险-42
		checkpoint  ckpt_002
		parent      ckpt_001
		saved       2026-04-07 10:00:01 (1 hour ago)
		source      loop, step 0
		next        search

		METADATA
		  {"step": 0, "source": "loop", "parents": {}, "user_id": "u-17"}

		VALUES
		  branch:to:search  version 1, inline
		    null
		  budget  version 1, inline
		    5000
		  context  version 1, msgpack 6 B
		    {"age": 28}
		  messages  version 1, msgpack 440 B
		    human: 你好
		    ai: 您好!我是您的保险顾问
		      What are you looking for?
		      → search_db {"category": "医疗"}

		WRITES
		  task 8f14e45f of search  path ~__pregel_pull, search
		    messages  msgpack 211 B
		      tool (search_db): 百万医疗,每年399元
		    found  msgpack 29 B
		      [{"name": "百万医疗", "price": 399}]
		`, sh.output("show", insurance, "ckpt_002"))

	newest := sh.output("show", insurance)
	require.Contains(t, newest, "checkpoint  ckpt_005\nparent      ckpt_002\n")
	require.Contains(t, sh.output("show", insurance, "ckpt_003"), "next        - (nothing is left to run)\n")
	require.Contains(t, sh.output("show", insurance, "ckpt_003"), "without a value, with their versions: branch:to:search 2\n")
	require.Contains(t, sh.output("show", insurance, "--namespace", research), "namespace   research:5f3c\n")
}

func TestACheckpointAsJSONIsWhatTheDatabaseHas(t *testing.T) {
	t.Parallel()
	sh, d := newShell(t)
	d.saveInsurance()
	document := sh.output("show", insurance, "ckpt_002", "--json")
	var got struct {
		Next   []string          `json:"next"`
		Values json.RawMessage   `json:"values"`
		Writes []json.RawMessage `json:"writes"`
		Delta  []json.RawMessage `json:"delta"`
	}
	require.NoError(t, json.Unmarshal([]byte(document), &got))
	require.Equal(t, []string{"search"}, got.Next)
	require.Empty(t, got.Delta)
	require.NotNil(t, got.Delta, "an empty list rather than null")
	require.Contains(t, document, "您好!我是您的保险顾问\\nWhat", "text is not escaped")
	d.requireSame(string(got.Values), `
		select jsonb_agg(jsonb_build_object('channel', v.channel, 'type', v.type, 'bytes', length(v.blob),
			'version', c.checkpoint -> 'channel_versions' -> v.channel,
			'value', coalesce(v.inline_value, langgraph.value_to_jsonb(v.type, v.blob))) order by v.channel)
		from langgraph.checkpoints c
		cross join lateral langgraph.checkpoint_values(c.thread_id, c.checkpoint_ns, c.checkpoint) v
		where c.thread_id = $1 and c.checkpoint_id = 'ckpt_002'`, insurance)
	require.Len(t, got.Writes, 2)
	d.requireSame(string(got.Writes[1]), `
		select jsonb_build_object('task_id', w.task_id, 'task_path', w.task_path, 'idx', w.idx, 'channel', w.channel,
			'type', w.type, 'bytes', length(w.blob), 'value', langgraph.value_to_jsonb(w.type, w.blob), 'node', 'search')
		from langgraph.checkpoint_writes w
		where w.thread_id = $1 and w.checkpoint_id = 'ckpt_002' and w.idx = 1`, insurance)
	var head map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(document), &head))
	for _, part := range []string{"next", "values", "writes", "delta"} {
		delete(head, part)
	}
	rest, err := json.Marshal(head)
	require.NoError(t, err)
	d.requireSame(string(rest), `
		select to_jsonb(c) - '{type,updated_at}'::text[]
		from langgraph.checkpoints c
		where thread_id = $1 and checkpoint_id = 'ckpt_002'`, insurance)
}

func TestTasksThatAreDoneAreNotNextInTheNewestState(t *testing.T) {
	t.Parallel()
	sh, d := newShell(t)
	h := d.thread("t")
	h.save(superstep{
		id: "ckpt_001", source: "loop", values: map[string]any{"branch:to:a": nil, "branch:to:b": nil},
		changed: []string{"branch:to:a", "branch:to:b"},
	})
	h.write("", "ckpt_001", "t1", "a", checkpoint.Write{Channel: "log", Value: "done"})
	require.Contains(t, sh.output("show", "t"), "next        b\n")
	require.Contains(t, sh.output("show", "t", "ckpt_001"), "next        a, b\n")
}

func TestLongValuesAreCutUnlessInFull(t *testing.T) {
	t.Parallel()
	sh, d := newShell(t)
	h := d.thread("t")
	var talk []any
	numbers := map[string]any{}
	for i := range 30 {
		talk = append(talk, messages.Human(fmt.Sprintf("question %d", i)))
		numbers[fmt.Sprintf("key_%02d", i)] = i
	}
	h.save(superstep{
		id: "ckpt_001", source: "loop",
		values:  map[string]any{"messages": talk, "numbers": numbers, "text": []any{strings.Repeat("长", 300)}},
		changed: []string{"messages", "numbers", "text"},
	})
	got := sh.output("show", "t")
	require.Contains(t, got, "\n    … 10 earlier lines (--full shows them)\n    human: question 10\n")
	require.Contains(t, got, "\n    human: question 29\n")
	require.NotContains(t, got, "question 9\n")
	require.Contains(t, got, "\n    … 12 more lines (--full shows them)\n")
	require.Contains(t, got, "长… ")
	require.Contains(t, got, " more characters (--full shows them)")
	full := sh.output("show", "t", "--full")
	require.NotContains(t, full, "--full")
	require.Contains(t, full, "question 9\n")
	require.Contains(t, full, `"key_29": 29`)
	require.Contains(t, full, strings.Repeat("长", 300))
}

func TestADamagedValueDoesNotHideTheOthers(t *testing.T) {
	t.Parallel()
	sh, d := newShell(t)
	d.saveInsurance()
	d.exec(`update langgraph.checkpoint_blobs set blob = '\xdc' where channel = 'context'`)
	d.exec(`update langgraph.checkpoint_writes set blob = '\xff02', type = 'json' where channel = 'found'`)
	got := sh.output("show", insurance, "ckpt_002")
	require.Contains(t, got, "context  version 1, msgpack 1 B\n    damaged: MessagePack value ends too early: 1 bytes are stored")
	require.Contains(t, got, "human: 你好")
	require.Contains(t, got, "found  json 2 B\n      damaged: ")
	require.Contains(t, got, "tool (search_db): 百万医疗,每年399元")
	require.Contains(t, got, "next        search\n")
	require.Contains(t, sh.output("show", insurance, "ckpt_002", "--json"), `"damage": "MessagePack value ends too early`)
	require.Contains(t, sh.fails(cli.ExitFailed, "diff", insurance, "ckpt_001", "ckpt_002"), "SQLSTATE LG006")
}

func TestWhatIsEncryptedSaysSo(t *testing.T) {
	t.Parallel()
	sh, d := newShell(t)
	cipher, err := serde.NewAES([]byte("0123456789abcdef"))
	require.NoError(t, err)
	d.saver = pgsaver.New(d.conn, &pgsaver.Config{Serde: serde.Encrypted(serde.Default(), cipher)})
	h := d.thread("t")
	h.save(superstep{
		id: "ckpt_001", source: "loop", values: map[string]any{"secret": "s3cr3t", "branch:to:a": nil},
		changed: []string{"secret", "branch:to:a"},
	})
	got := sh.output("show", "t")
	require.Contains(t, got, `"lc_type": "encrypted"`)
	require.Contains(t, got, "next        a\n", "what runs next stands in the names of the channels")
	require.NotContains(t, got, "s3cr3t")
}

func TestADeltaChannelIsItsSeedAndTheWritesSince(t *testing.T) {
	t.Parallel()
	sh, d := newShell(t)
	h := d.thread("t")
	h.save(superstep{
		id: "ckpt_001", source: "loop", changed: []string{"messages"},
		values:   map[string]any{"messages": serde.DeltaSnapshot{Value: []any{messages.Human("你好")}}},
		metadata: checkpoint.Metadata{"counters_since_delta_snapshot": map[string]any{"messages": []any{0, 0}}},
	})
	h.write("", "ckpt_001", "t1", "answer", checkpoint.Write{Channel: "messages", Value: []any{messages.AI("您好")}})
	h.save(superstep{
		id: "ckpt_002", parent: "ckpt_001", source: "loop", step: 1, changed: []string{"messages"},
		metadata: checkpoint.Metadata{"counters_since_delta_snapshot": map[string]any{"messages": []any{1, 1}}},
	})
	got := sh.output("show", "t")
	require.Contains(t, got, "DELTA CHANNEL messages\n  starts from the value stored at ckpt_001  msgpack 146 B\n    human: 你好\n")
	require.Contains(t, got, "  task t1 wrote at ckpt_001  msgpack ")
	require.Contains(t, got, "\n    ai: 您好\n")
	var shown struct {
		Delta []deltaValue `json:"delta"`
	}
	require.NoError(t, json.Unmarshal([]byte(sh.output("show", "t", "--json")), &shown))
	require.Len(t, shown.Delta, 2)
	require.Equal(t, []string{"seed", "write"}, []string{shown.Delta[0].Kind, shown.Delta[1].Kind})
}

func TestWhatAgentsSaveCannotControlTheTerminal(t *testing.T) {
	t.Parallel()
	sh, d := newShell(t)
	evil := "t\x1b[2J\u202e"
	h := d.thread(evil)
	h.save(superstep{
		id: "ckpt_001", source: "loop\a", changed: []string{"messages"},
		values: map[string]any{"messages": []any{messages.Human("\x1b]0;owned\a hi\r\nthere\u009b")}},
	})
	for _, args := range [][]string{{"threads"}, {"tree", evil}, {"show", evil}} {
		got := sh.output(args...)
		require.NotContains(t, got, "\x1b", args)
		require.NotContains(t, got, "\u202e", args)
		require.NotContains(t, got, "\a", args)
		require.NotContains(t, got, "\u009b", args)
	}
	require.Contains(t, sh.output("threads"), `t\x1b[2J\u202e`)
	require.Contains(t, sh.output("show", evil), `human: \x1b]0;owned\x07 hi\x0d`+"\n      there\\x9b\n")
	require.NotContains(t, sh.fails(cli.ExitFailed, "tree", "\x1b[2J"), "\x1b")
}

func TestADiffShowsTheLinesThatDiffer(t *testing.T) {
	t.Parallel()
	sh, d := newShell(t)
	d.saveInsurance()
	requireText(t, `
		- branch:to:search  removed, version 1 → 2
		    - null
		+ found  added, version 1, 29 B
		    + [{"name": "百万医疗", "price": 399}]
		~ messages  changed, version 1 → 2, 440 B → 650 B
		      …
		        What are you looking for?
		        → search_db {"category": "医疗"}
		    + tool (search_db): 百万医疗,每年399元
		`, sh.output("diff", insurance, "ckpt_002", "ckpt_003"))
	same := sh.run("diff", insurance, "ckpt_002", "ckpt_005")
	require.Equal(t, result{stderr: "no difference in the values of the channels\n"}, same)
	require.Equal(t, "[]\n", sh.output("diff", insurance, "ckpt_002", "ckpt_005", "--json"))

	var changes []change
	require.NoError(t, json.Unmarshal([]byte(sh.output("diff", insurance, "ckpt_002", "ckpt_003", "--json")), &changes))
	require.Len(t, changes, 3)
	require.Equal(t, "found", changes[1].Channel)
	require.JSONEq(t, "null", string(changes[1].AValue))
	require.JSONEq(t, `[{"name": "百万医疗", "price": 399}]`, string(changes[1].BValue))
	messagesChange, err := json.Marshal(changes[2])
	require.NoError(t, err)
	d.requireSame(string(messagesChange),
		`select to_jsonb(c) from langgraph.diff_checkpoints($1, '', 'ckpt_002', 'ckpt_003') c where channel = 'messages'`, insurance)
}

func TestADiffThatPeopleWouldNotSeeIsShownAsJSON(t *testing.T) {
	t.Parallel()
	sh, d := newShell(t)
	h := d.thread("t")
	for i, id := range []string{"old-id", "new-id"} {
		h.save(superstep{
			id: fmt.Sprintf("ckpt_%03d", i+1), source: "loop", changed: []string{"messages"},
			values: map[string]any{"messages": []any{messages.Human("hi", messages.WithID(id))}},
		})
	}
	got := sh.output("diff", "t", "ckpt_001", "ckpt_002")
	require.Contains(t, got, `-     "id": "old-id",`)
	require.Contains(t, got, `+     "id": "new-id",`)
}

func TestWhatDoesNotExistIsSaidWithWhereToLook(t *testing.T) {
	t.Parallel()
	sh, d := newShell(t)
	d.saveInsurance()
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"tree", "nobody"}, `thread 'nobody' has no checkpoint (SQLSTATE LG001)`},
		{[]string{"tree", "nobody", "--all"}, `thread 'nobody' has no checkpoint (SQLSTATE LG001)`},
		{[]string{"tree", insurance, "--namespace", "none"}, `Thread '保险-42', namespace 'none'.`},
		{[]string{"show", "nobody"}, `thread 'nobody' has no checkpoint`},
		{[]string{"show", insurance, "nope"}, `checkpoint 'nope' does not exist`},
		{[]string{"diff", insurance, "ckpt_001", "nope"}, `checkpoint 'nope' does not exist`},
		{[]string{"diff", insurance, "ckpt_001", "ckpt_002", "--namespace", "x"}, `checkpoint 'ckpt_001' does not exist`},
		{[]string{"fsck", "nobody"}, `thread 'nobody' has no checkpoint`},
		{[]string{"pin", insurance, "nope"}, `checkpoint 'nope' does not exist`},
	} {
		got := sh.run(test.args...)
		require.Equal(t, cli.ExitFailed, got.code, test.args)
		require.Empty(t, got.stdout, test.args)
		require.Contains(t, got.stderr, test.want, test.args)
		require.Contains(t, got.stderr, `"pgweft threads" lists the threads`, test.args)
	}
}
