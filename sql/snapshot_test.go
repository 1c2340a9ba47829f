package sql_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"
)

// The types below are what ../checkpoint/testdata/generate.py records from LangGraph: whole stores, and the StateSnapshots
// that get_state and get_state_history make of them.
type (
	langGraphScenario struct {
		Name     string
		Thread   string
		Reducers map[string]string
		Graphs   map[string]struct {
			Defaults map[string]langGraphValue
			Root     bool
		}
		Moments []langGraphMoment
	}
	langGraphMoment struct {
		Name  string
		Store struct {
			Checkpoints []struct {
				Namespace, ID, Parent string
				Checkpoint, Metadata  langGraphValue
			}
			Blobs []struct {
				Namespace, Channel, Version string
				Value                       langGraphValue
			}
			Writes []struct {
				Namespace, Checkpoint, Task, Channel, Path string
				Index                                      int
				Value                                      langGraphValue
			}
		}
		Snapshots []langGraphSnapshot
	}
	langGraphSnapshot struct {
		Namespace, ID string
		Live          bool
		Values        langGraphValue
		Next          []string
		Tasks         []struct {
			ID, Name, Path string
			Error          any
			Interrupts     langGraphValue
			Result         *langGraphValue
		}
		Interrupts langGraphValue
		Metadata   langGraphValue
		CreatedAt  string `json:"created_at"`
		Parent     string
	}
	langGraphValue struct {
		Type string
		Data []byte
	}
)

func langGraphScenarios(t *testing.T) []langGraphScenario {
	t.Helper()
	file, err := os.Open(filepath.Join("..", "checkpoint", "testdata", "langgraph.json.gz"))
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	unzipped, err := gzip.NewReader(file)
	require.NoError(t, err)
	var recorded struct{ Scenarios []langGraphScenario }
	require.NoError(t, json.NewDecoder(unzipped).Decode(&recorded))
	require.Greater(t, len(recorded.Scenarios), 20)
	return recorded.Scenarios
}

// decoded is the value as SQL reads it, which msgpack_test.go proves.
func (v langGraphValue) decoded(t *testing.T, db querier) any {
	t.Helper()
	return value[any](t, db, "select langgraph.value_to_jsonb($1, $2)", v.Type, v.Data)
}

// save puts a store in the database as LangGraph's Postgres saver would.
func (m langGraphMoment) save(t *testing.T, db querier, thread string) {
	t.Helper()
	batch := &pgx.Batch{}
	for _, row := range m.Store.Checkpoints {
		batch.Queue(`
			insert into langgraph.checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata)
			values ($1, $2, $3, nullif($4, ''), langgraph.value_to_jsonb($5, $6), langgraph.value_to_jsonb($7, $8))`,
			thread, row.Namespace, row.ID, row.Parent, row.Checkpoint.Type, row.Checkpoint.Data, row.Metadata.Type, row.Metadata.Data)
	}
	for _, row := range m.Store.Blobs {
		batch.Queue("insert into langgraph.checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob) values ($1, $2, $3, $4, $5, $6)",
			thread, row.Namespace, row.Channel, row.Version, row.Value.Type, row.Value.Data)
	}
	for _, row := range m.Store.Writes {
		batch.Queue(`
			insert into langgraph.checkpoint_writes (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob)
			values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			thread, row.Namespace, row.Checkpoint, row.Task, row.Path, row.Index, row.Channel, row.Value.Type, row.Value.Data)
	}
	require.NoError(t, db.(interface {
		SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults
	}).SendBatch(t.Context(), batch).Close())
}

// inlined moves primitive values into the checkpoints, and marks snapshots of delta channels there: LangGraph's store in
// memory does neither, its Postgres saver both.
func inlined(t *testing.T, db querier, thread string) {
	t.Helper()
	exec(t, db, `
		update langgraph.checkpoints c
		set checkpoint = jsonb_set(c.checkpoint, '{channel_values}', (
			select coalesce(jsonb_object_agg(b.channel, case when d.value ->> 'lc_type' like '%_DeltaSnapshot' then 'true' else d.value end), '{}')
			from jsonb_each_text(c.checkpoint -> 'channel_versions') v
			join langgraph.checkpoint_blobs b on b.thread_id = c.thread_id and b.checkpoint_ns = c.checkpoint_ns
				and b.channel = v.key and b.version = v.value
			cross join lateral langgraph.value_to_jsonb(b.type, b.blob) d (value)
			where jsonb_typeof(d.value) not in ('object', 'array') or d.value ->> 'lc_type' like '%_DeltaSnapshot'
		))
		where c.thread_id = $1`, thread)
	exec(t, db, `
		delete from langgraph.checkpoint_blobs
		where thread_id = $1 and jsonb_typeof(langgraph.value_to_jsonb(type, blob)) not in ('object', 'array')`, thread)
}

func TestStateSnapshotsAreThoseOfLangGraph(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	for _, scenario := range langGraphScenarios(t) {
		for _, moment := range scenario.Moments {
			for _, inline := range []bool{false, true} {
				thread := fmt.Sprintf("%s/%s/inline %t", scenario.Name, moment.Name, inline)
				t.Run(thread, func(t *testing.T) {
					t.Parallel()
					moment.save(t, db, thread)
					if inline {
						inlined(t, db, thread)
					}
					requireSnapshots(t, db, scenario, moment, thread, "{}")
					reducers, err := json.Marshal(scenario.Reducers)
					require.NoError(t, err)
					requireSnapshots(t, db, scenario, moment, thread, string(reducers))
					requireHistory(t, db, moment, thread)
				})
			}
		}
	}
}

func requireSnapshots(t *testing.T, db *pgxpool.Pool, scenario langGraphScenario, moment langGraphMoment, thread, reducers string) {
	t.Helper()
	require.NotEmpty(t, moment.Snapshots)
	for _, snapshot := range moment.Snapshots {
		var id *string
		if !snapshot.Live {
			id = &snapshot.ID
		}
		got := value[map[string]any](t, db, "select langgraph_analytics.state_snapshot($1, $2, $3, $4)", thread, snapshot.Namespace, id, reducers)
		wanted := snapshot.wanted(t, db, thread)
		addDefaults(t, db, scenario, snapshot, thread, got, wanted)
		sortTasks(got)
		sortTasks(wanted)
		require.Empty(t, cmp.Diff(wanted, got), "%s, live: %t", snapshot.ID, snapshot.Live)
	}
}

// wanted is the snapshot as jsonb. What LangGraph calls the configuration of a nested graph is not recorded.
func (s langGraphSnapshot) wanted(t *testing.T, db querier, thread string) map[string]any {
	t.Helper()
	config := func(id string) any {
		return map[string]any{"configurable": map[string]any{"thread_id": thread, "checkpoint_ns": s.Namespace, "checkpoint_id": id}}
	}
	wanted := map[string]any{
		"values": s.Values.decoded(t, db), "metadata": s.Metadata.decoded(t, db), "created_at": s.CreatedAt,
		"interrupts": withoutType(s.Interrupts.decoded(t, db)), "config": config(s.ID), "parent_config": nil,
	}
	if s.Parent != "" {
		wanted["parent_config"] = config(s.Parent)
	}
	next, tasks := []any{}, []any{}
	for _, name := range s.Next {
		next = append(next, name)
	}
	for _, task := range s.Tasks {
		nested := strings.TrimPrefix(s.Namespace+"|"+task.Name+":"+task.ID, "|")
		var state any
		if value[bool](t, db, "select exists (select from langgraph.checkpoints where thread_id = $1 and checkpoint_ns = $2)", thread, nested) {
			state = map[string]any{"configurable": map[string]any{"thread_id": thread, "checkpoint_ns": nested}}
		}
		var result any
		if task.Result != nil {
			result = task.Result.decoded(t, db)
		}
		tasks = append(tasks, map[string]any{
			"id": task.ID, "name": task.Name, "path": task.Path, "error": task.Error, "state": state, "result": result,
			"interrupts": withoutType(task.Interrupts.decoded(t, db)),
		})
	}
	wanted["next"], wanted["tasks"] = next, tasks
	return wanted
}

// withoutType takes the name of the class from interrupts.
func withoutType(interrupts any) any {
	for _, interrupt := range interrupts.([]any) {
		delete(interrupt.(map[string]any), "lc_type")
	}
	return interrupts
}

// addDefaults adds to what SQL shows the empty values of channels that nothing was written to: the graph has them, the
// database has not.
func addDefaults(t *testing.T, db querier, scenario langGraphScenario, snapshot langGraphSnapshot, thread string, got, wanted map[string]any) {
	t.Helper()
	node, _, _ := strings.Cut(snapshot.Namespace, ":")
	graph := scenario.Graphs[node]
	versions := column[string](t, db, `
		select jsonb_object_keys(checkpoint -> 'channel_versions') from langgraph.checkpoints
		where thread_id = $1 and checkpoint_ns = $2 and checkpoint_id = $3`, thread, snapshot.Namespace, snapshot.ID)
	if graph.Root {
		if got["values"] == nil {
			require.NotContains(t, versions, "__root__")
			got["values"] = graph.Defaults["__root__"].decoded(t, db)
		}
		return
	}
	values := got["values"].(map[string]any)
	for channel := range wanted["values"].(map[string]any) {
		if _, shown := values[channel]; !shown {
			require.NotContains(t, versions, channel, "only what was never written is left out")
			require.Contains(t, graph.Defaults, channel)
			values[channel] = graph.Defaults[channel].decoded(t, db)
		}
	}
}

// sortTasks puts tasks in the order of their paths, written as LangGraph's savers write them: the order of nodes is that of
// the graph, which the database does not have.
func sortTasks(snapshot map[string]any) {
	tasks := snapshot["tasks"].([]any)
	for _, task := range tasks {
		task := task.(map[string]any)
		if path, ok := task["path"].([]any); ok {
			if path[0] == "__pregel_push" {
				task["path"] = fmt.Sprintf("~__pregel_push, %010d, %010d", int(path[1].(float64)), 0)
			} else {
				task["path"] = fmt.Sprintf("~%s, %s", path[0], path[1])
			}
		}
	}
	byText := func(key string) func(a, b any) int {
		return func(a, b any) int {
			if key != "" {
				a, b = a.(map[string]any)[key], b.(map[string]any)[key]
			}
			return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
		}
	}
	slices.SortFunc(tasks, byText("path"))
	slices.SortFunc(snapshot["next"].([]any), byText(""))
	slices.SortFunc(snapshot["interrupts"].([]any), byText("id"))
}

// requireHistory requires that a history is the records of its checkpoints, in LangGraph's order.
func requireHistory(t *testing.T, db *pgxpool.Pool, moment langGraphMoment, thread string) {
	t.Helper()
	wanted := map[string][]string{}
	for _, snapshot := range moment.Snapshots {
		if !snapshot.Live {
			wanted[snapshot.Namespace] = append(wanted[snapshot.Namespace], snapshot.ID)
		}
	}
	for namespace, ids := range wanted {
		require.Equal(t, ids, column[string](t, db, "select checkpoint_id from langgraph_analytics.state_history($1, $2)", thread, namespace))
		require.Equal(t, len(ids), value[int](t, db, `
			select count(*) from langgraph_analytics.state_history($1, $2) h
			where h.snapshot = langgraph_analytics.state_snapshot($1, $2, h.checkpoint_id)`, thread, namespace))
		require.Equal(t, ids[1:min(3, len(ids))], column[string](t, db, `
			select snapshot #>> '{config,configurable,checkpoint_id}' from langgraph_analytics.state_history($1, $2, p_before => $3, p_limit => 2)`,
			thread, namespace, ids[0]))
	}
}

// The hashes by which LangGraph names tasks, of every length at which XXH3 does something else, and of many between.
func TestXXH3IsThatOfTheReferenceImplementation(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	random := newRandom(t)
	lengths := []int{
		17, 31, 32, 33, 63, 64, 65, 95, 96, 97, 127, 128, 129, 159, 160, 161, 239, 240, 241, 255, 256, 257, 320, 511, 512,
		1023, 1024, 1025, 1087, 1088, 1089, 2048, 2049, 3000, 5000,
	}
	for range 200 {
		lengths = append(lengths, 17+random.IntN(300))
	}
	for _, length := range lengths {
		data := randomBytes(random, length)
		sum := xxh3.Hash128(data).Bytes()
		require.Equal(t, sum[:], value[[]byte](t, db, "select langgraph.xxh3_128($1)", data), "%d bytes", length)
	}
	requireRefused(t, refusal{"LG002", "invalid bytes to hash", "16 bytes", "17 bytes or more"},
		attempt(t.Context(), db, "select langgraph.xxh3_128($1)", make([]byte, 16)))
}

func randomBytes(random *rand.Rand, length int) []byte {
	data := make([]byte, length)
	for i := range data {
		data[i] = byte(random.UintN(256))
	}
	if random.IntN(4) == 0 {
		for i := range data {
			data[i] |= 0xf0 // carries
		}
	}
	return data
}

// The results of LangGraph's own reducers of messages, of messages that are stored; see ../checkpoint/testdata/generate.py.
func TestMergeMessagesIsThatOfLangGraph(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	text, err := os.ReadFile(filepath.Join("..", "checkpoint", "testdata", "reducers.json"))
	require.NoError(t, err)
	var cases []struct {
		Name            string
		Current, Update langGraphValue
		Add             *langGraphValue `json:"add_messages"`
		Delta           *langGraphValue `json:"delta_messages"`
	}
	require.NoError(t, json.Unmarshal(text, &cases))
	require.Greater(t, len(cases), 10)
	for _, c := range cases {
		if strings.HasPrefix(c.Name, "a dict") || strings.HasPrefix(c.Name, "a developer") || c.Name == "dicts" || c.Name == "a chunk" {
			continue // made into messages by the reducer, before they are stored
		}
		for name, wanted := range map[string]*langGraphValue{"add_messages": c.Add, "delta_messages": c.Delta} {
			if wanted == nil {
				continue // an error in Python
			}
			got := value[any](t, db, `
				select langgraph.reduce_values(langgraph.value_to_jsonb($1, $2), array[langgraph.value_to_jsonb($3, $4)], $5)`,
				c.Current.Type, c.Current.Data, c.Update.Type, c.Update.Data, name)
			require.Empty(t, cmp.Diff(wanted.decoded(t, db), got), "%s: %s", c.Name, name)
		}
	}
}

func TestReduceValues(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	for _, c := range []struct{ current, writes, reducer, want string }{
		{"1", "2 3", "replace", "3"},
		{"[1]", "[2] [3,4]", "append", "[1, 2, 3, 4]"},
		{"null", "[2]", "append", "[2]"},
		{`{"a": 1, "b": 1}`, `{"b":2} {"c":3}`, "merge", `{"a": 1, "b": 2, "c": 3}`},
		{"[1]", `[2] {"__overwrite__":[9]} [3]`, "append", "[9]"},
		{"[1]", `{"lc_type":"langgraph.types.Overwrite","value":null}`, "append", "null"},
		{"[1]", `{"type":"__overwrite__","value":[8]}`, "append", "[8]"},
		{"[1]", `{"__overwrite__":1,"more":2}`, "merge", `{"more": 2, "__overwrite__": 1}`},
	} {
		require.Equal(t, c.want, value[string](t, db, "select langgraph.reduce_values($1::jsonb, $2::text[]::jsonb[], $3)::text",
			c.current, strings.Fields(c.writes), c.reducer), "%+v", c)
	}
	requireRefused(t, refusal{"LG002", "invalid reducer", "'sum'", "replace, append, merge"},
		attempt(t.Context(), db, "select langgraph.reduce_values('1', array['2'::jsonb], 'sum')"))
}

// What a channel did before shows whether it adds.
func TestChannelReducerLearnsFromWhatTheChannelDid(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	put(t, db, stateArgs("c1", [3]string{"list", "1", "\x91\x01"}, [3]string{"log", "1", "\x91\x01"}, [3]string{"map", "1", "\x81\xa1a\x01"}))
	exec(t, db, putWritesSQL, writesArgs([]string{"list", "log", "map"}, pgx.NamedArgs{"blobs": [][]byte{{0x91, 2}, {0x91, 2}, []byte("\x81\xa1b\x02")}}))
	put(t, db, pgx.NamedArgs{"parent": "c1"},
		stateArgs("c2", [3]string{"list", "2", "\x91\x02"}, [3]string{"log", "2", "\x92\x01\x02"}, [3]string{"map", "2", "\x82\xa1a\x01\xa1b\x02"}))
	for _, c := range []struct{ channel, current, write, want string }{
		{"list", "[2]", "[3]", "replace"},
		{"log", "[1, 2]", "[3]", "append"},
		{"map", `{"a": 1}`, `{"b": 2}`, "merge"},
		{"new", "[1]", "[3]", "append"},
		{"new", `{"a": 1}`, `{"b": 2}`, "replace"},
		{"log", `"text"`, `"more"`, "replace"},
		{"log", "[]", `[{"role": "user", "content": "hi"}]`, "add_messages"},
		{"log", "[]", `{"lc_type": "builtins.set", "args": [[1]]}`, "replace"},
	} {
		require.Equal(t, c.want, value[string](t, db, "select langgraph.channel_reducer('t', '', 'c2', $1, $2, $3)", c.channel, c.current, c.write), "%+v", c)
	}
	// A finished task of the newest checkpoint is part of the state now, as the channels took writes before.
	exec(t, db, "update langgraph.checkpoints set checkpoint = checkpoint || $1 where checkpoint_id = 'c2'",
		`{"channel_values": {"branch:to:a": null}, "channel_versions": {"list": "2", "log": "2", "map": "2", "branch:to:a": "2"}, "ts": "2026-04-07T10:00:00+00:00"}`)
	exec(t, db, putWritesSQL, writesArgs([]string{"list", "log"}, pgx.NamedArgs{"id": "c2", "path": "~__pregel_pull, a", "blobs": [][]byte{{0x91, 3}, {0x91, 3}}}))
	values := func(id, reducers any) string {
		return value[string](t, db, "select (langgraph_analytics.state_snapshot('t', '', $1, $2) -> 'values')::text", id, reducers)
	}
	require.JSONEq(t, `{"log": [1, 2, 3], "map": {"a": 1, "b": 2}, "list": [3]}`, values(nil, nil))
	require.JSONEq(t, `{"log": [3], "map": {"a": 1, "b": 2}, "list": [2, 3]}`, values(nil, `{"list": "append", "log": "replace"}`))
	require.JSONEq(t, `{"log": [1, 2], "map": {"a": 1, "b": 2}, "list": [2]}`, values("c2", nil), "a record is without what came after")
	require.Equal(t, `[["a", "task", {"log": [3], "list": [3]}, "2026-04-07T10:00:00+00:00"]]`, value[string](t, db, `
		select jsonb_build_array(jsonb_build_array(s #> '{tasks,0,name}', s #> '{tasks,0,id}', s #> '{tasks,0,result}', s -> 'created_at'))::text
		from langgraph_analytics.state_snapshot('t') s where s -> 'next' = '[]'`))
}

func TestStateSnapshotRefuses(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	put(t, db)
	for sql, want := range map[string]refusal{
		"select langgraph_analytics.state_snapshot('nobody')":                    {"LG001", "has no checkpoint", "nobody", "list_checkpoints"},
		"select langgraph_analytics.state_snapshot('t', '', 'c9')":               {"LG001", "c9", "Thread 't'", "list_checkpoints"},
		"select langgraph_analytics.state_snapshot('')":                          {"LG002", "invalid checkpoint to read", "thread_id ''", "thread_id is needed"},
		"select langgraph_analytics.state_snapshot('t', p_reducers => '[]')":     {"LG002", "invalid checkpoint to read", "reducers '[]'", "reducers is an object"},
		"select langgraph_analytics.state_history(null)":                         {"LG002", "invalid history of states", "thread_id NULL", "thread_id is needed"},
		"select langgraph_analytics.state_history('t', p_limit => -1)":           {"LG002", "invalid list of checkpoints", "limit", "not negative"},
		"select langgraph_analytics.state_history('t', p_reducers => '\"sum\"')": {"LG002", "invalid history of states", "reducers", "reducers is an object"},
	} {
		requireRefused(t, want, attempt(t.Context(), db, sql))
	}
	require.Empty(t, column[string](t, db, "select checkpoint_id from langgraph_analytics.state_history('nobody')"))
}

// A node in a loop triggers another with a write that is stored with the checkpoint in which that one's trigger was just
// consumed: no value is missing there, and rebuilding it would run the node again.
func TestConsumedTriggersAreNotMissing(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	put(t, db, pgx.NamedArgs{"checkpoint": `{"id": "c1", "channel_values": {"branch:to:a": null}, "channel_versions": {"branch:to:a": "1"}}`})
	put(t, db, pgx.NamedArgs{"id": "c2", "parent": "c1", "checkpoint": `{"id": "c2", "channel_versions": {"branch:to:a": "2", "lost": "1"}}`})
	exec(t, db, putWritesSQL, writesArgs([]string{"branch:to:a", "lost"}, pgx.NamedArgs{"id": "c2"}))
	require.Equal(t, []string{"lost"}, column[string](t, db, "select channel from langgraph.missing_values('t', '', 'c2')"))
}
