package sql_test

import (
	"context"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// defence is what a function does against a bad plan. Without it a call has to fail the test of plans: so the test can fail, and
// the defence is needed.
type defence struct {
	name     string
	function string // a regprocedure
	pattern  string // what is taken out, in the function's definition
	instead  string
	mode     string // the plan_cache_mode in which it shows
	call     hotCall
}

var defences = []defence{
	{
		"a join with jsonb_each, which is estimated at 100 rows, reads every value of the thread",
		"langgraph.channel_blobs(text, text, jsonb)", `\n    limit 1`, "",
		"force_generic_plan", named("get_checkpoint of the newest"),
	},
	{
		"the same for a list",
		"langgraph.channel_blobs(text, text, jsonb)", `\n    limit 1`, "",
		"auto", named("list_checkpoints of ten"),
	},
	{
		"not exists is planned as a hash of the namespace",
		"langgraph.ancestors(text, text, text, integer)", `(?s)\(\s+select true(.*?)limit 1\s+\) is null then`, "not exists (select $1) then",
		"auto", named("ancestors of 20"),
	},
	{
		"children are looked for although the checkpoint tells",
		"langgraph.writes_delta_channel(text, text, text)", `and c.checkpoint_id = p_checkpoint_id`, "and c.parent_checkpoint_id = p_checkpoint_id",
		"auto", named("fork_checkpoint of the newest"),
	},
	{
		"a cached plan does not know the filter",
		"langgraph.list_checkpoints(text, text, jsonb, text, bigint, boolean, text)",
		`(?s)return query execute format\(\$sql\$.*?p_with_state\);`, `return query
			select c.*, t.*
			from (
				select c.thread_id, c.checkpoint_ns, c.checkpoint_id, c.parent_checkpoint_id, c.checkpoint, c.metadata, c.created_at
				from langgraph.checkpoints c
				where c.metadata @> p_filter
					and c.checkpoint_id || '' between v_from and v_to
					and c.checkpoint_id || '' < v_below
					and (p_checkpoint_ns is null or c.checkpoint_ns = p_checkpoint_ns)
				order by c.checkpoint_id || '' desc
				limit p_limit
			) c
			cross join lateral langgraph.checkpoint_contents(c.thread_id, c.checkpoint_ns, c.checkpoint_id, c.parent_checkpoint_id,
				c.checkpoint) t;`,
		"force_generic_plan", named("list_checkpoints of a run"),
	},
}

// named is the hot call of that name.
func named(name string) hotCall {
	for _, call := range hotCalls {
		if call.name == name {
			return call
		}
	}
	panic("no hot call " + name)
}

func testDefences(t *testing.T, tr *tracer) {
	t.Helper()
	long := stored(t, tr, longThread)
	for _, d := range defences {
		t.Run(d.name, func(t *testing.T) {
			exec(t, tr, "set plan_cache_mode = "+d.mode)
			weaken(t, tr, d.function, d.pattern, d.instead)
			found := tr.trace(t, 6, d.call.sql, long)
			t.Logf("%d rows", found.rows)
			require.Greater(t, found.rows, 10*d.call.rows, "the test of plans sees it")
		})
	}
}

// A GIN index keeps new entries in a list that each search reads whole, so that after many puts it begins late. Of a cursor's
// query the first tenth counts, and that an index in order gives at once, if it has it: a rare filter it has not. It is most
// tempting where checkpoints lie in the order in which they came.
func testPendingEntries(t *testing.T, tr *tracer) {
	t.Helper()
	exec(t, tr, "set plan_cache_mode = auto")
	exec(t, tr, "cluster langgraph.checkpoints using checkpoints_checkpoint_id_idx")
	exec(t, tr, "analyze langgraph.checkpoints")
	long := stored(t, tr, longThread)
	for range 6 {
		tr.call(t, "select * from langgraph.copy_thread(@thread, 'copy')", long)
	}
	require.Less(t, tr.trace(t, 6, byRun, long).rows, 500, "with the entries of what was rolled back")
	weaken(t, tr, "langgraph.list_checkpoints(text, text, jsonb, text, bigint, boolean, text)",
		`(?s)return query execute (format\(\$sql\$.*?p_with_state\);)`, "open v_page for execute $1 move forward all in v_page; close v_page;")
	require.Greater(t, tr.trace(t, 6, byRun, long).rows, 10000, "the test of plans sees it")
}

// weaken replaces a part of a function until the test ends.
func weaken(t *testing.T, tr *tracer, function, pattern, instead string) {
	t.Helper()
	definition := value[string](t, tr, "select pg_get_functiondef($1::text::regprocedure)", function)
	weakened := regexp.MustCompile(pattern).ReplaceAllString(definition, instead)
	require.NotEqual(t, definition, weakened, "%s has the defence", function)
	exec(t, tr, weakened)
	t.Cleanup(func() {
		_, err := tr.Exec(context.WithoutCancel(t.Context()), definition)
		require.NoError(t, err)
	})
}

// jitLess are functions whose statements may be estimated at any cost, so that they turn JIT off.
var jitLess = map[string]string{
	"ancestors of 20":                      "langgraph.ancestors(text, text, text, integer)",
	"delta_channel_history":                "langgraph.delta_channel_path(text, text, text, text[], text)",
	"list_checkpoints of ten":              "langgraph.list_checkpoints(text, text, jsonb, text, bigint, boolean, text)",
	"list_threads of ten":                  "langgraph.list_threads(jsonb, timestamptz, bigint)",
	"store_list_namespaces below a prefix": "langgraph.store_list_namespaces(text[], text[], integer, integer, integer)",
	"store_search of a small namespace":    "langgraph.store_search(text, jsonb, integer, integer, boolean, real[], text, text)",
}

// Whether Postgres compiles a plan depends on its estimated cost alone, and estimates are wrong where JSON is unpacked. So every
// statement of a hot call is either far below the cost from which plans are compiled, or runs with JIT off.
func testJIT(t *testing.T, tr *tracer) {
	t.Helper()
	long := stored(t, tr, longThread)
	exec(t, tr, "set jit = on")
	for _, call := range hotCalls {
		t.Run(call.name, func(t *testing.T) {
			exec(t, tr, "set jit_above_cost = 100000")
			found := tr.trace(t, 1, call.sql, long)
			requireNotCompiled(t, found)

			function, isJITLess := jitLess[call.name]
			if !isJITLess {
				return
			}
			exec(t, tr, "set jit_above_cost = 0")
			found = tr.trace(t, 1, call.sql, long)
			require.Empty(t, compilable(found.inside()))
			weaken(t, tr, function, `(?m)^ SET jit TO 'off'\n`, "")
			found = tr.trace(t, 1, call.sql, long)
			require.NotEmpty(t, compilable(found.inside()), "the test of JIT sees it")
		})
	}
}

// requireNotCompiled requires of every statement with JIT on that it is far from being compiled.
func requireNotCompiled(t *testing.T, w work) {
	t.Helper()
	for _, p := range compilable(w.plans) {
		require.Less(t, p.Root.Cost, 50000.0, p.Query)
		require.Empty(t, p.JIT, p.Query)
	}
}

// compilable are the plans made with JIT on.
func compilable(plans []plan) []plan {
	var on []plan
	for _, p := range plans {
		if p.Settings["jit"] != "off" {
			on = append(on, p)
		}
	}
	return on
}
