package sql_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// history is what delta_channel_history says, a line a row: "channel kind checkpoint what". Whether the planner inlines the function
// or not, which it cannot with ordinality, makes no difference.
func history(t *testing.T, db querier, args string) []string {
	t.Helper()
	const lines = `
		select concat_ws(' ', channel, kind, checkpoint_id, nullif(concat_ws('/', task_path, task_id, idx), ''), type,
			coalesce(convert_from(blob, 'UTF8'), value::text))
		from langgraph.delta_channel_history(`
	whole := column[string](t, db, lines+args+`) with ordinality order by ordinality`)
	require.Equal(t, whole, column[string](t, db, lines+args+")"))
	return whole
}

func TestDeltaChannelHistoryBeginsWith(t *testing.T) {
	t.Parallel()
	// Of 1 <- 2 <- 3 <- 4 the value is kept by 2; every task wrote.
	writes := []wrote{
		{id: "1", task: "t", channel: "d", data: "one"},
		{id: "2", task: "t", channel: "d", data: "two"},
		{id: "3", task: "t", channel: "d", data: "three"},
		{id: "4", task: "t", channel: "d", data: "four"},
	}
	fromTwo := []string{"d write 2 /t/0 msgpack two", "d write 3 /t/0 msgpack three"}
	for name, c := range map[string]struct {
		values, versions string // of 2
		blobs            []blob
		want             []string
	}{
		"a snapshot": {
			values: `{"d": true}`, versions: `{"d": "2"}`, blobs: []blob{{channel: "d", version: "2", data: "state"}},
			want: append([]string{"d seed 2 msgpack state"}, fromTwo...),
		},
		"a plain value": {
			versions: `{"d": "2"}`, blobs: []blob{{channel: "d", version: "2", data: "state"}},
			want: append([]string{"d seed 2 msgpack state"}, fromTwo...),
		},
		"a null that is stored": {
			versions: `{"d": "2"}`, blobs: []blob{{channel: "d", version: "2", kind: "null"}},
			want: append([]string{"d seed 2 null "}, fromTwo...),
		},
		"a value under an integer version": {
			versions: `{"d": 2}`, blobs: []blob{{channel: "d", version: "2", kind: "json", data: "[]"}},
			want: append([]string{"d seed 2 json []"}, fromTwo...),
		},
		"an inline text":              {values: `{"d": "state"}`, want: append([]string{`d seed 2 "state"`}, fromTwo...)},
		"an inline number":            {values: `{"d": 0}`, want: append([]string{"d seed 2 0"}, fromTwo...)},
		"an inline false":             {values: `{"d": false}`, want: append([]string{"d seed 2 false"}, fromTwo...)},
		"an inline true, stored so":   {values: `{"d": true}`, versions: `{"d": "2"}`, want: append([]string{"d seed 2 true"}, fromTwo...)},
		"nothing, for an inline null": {values: `{"d": null}`, want: append([]string{"d write 1 /t/0 msgpack one"}, fromTwo...)},
		"nothing, for an empty value": {
			versions: `{"d": "2"}`, blobs: []blob{{channel: "d", version: "2", kind: "empty"}},
			want: append([]string{"d write 1 /t/0 msgpack one"}, fromTwo...),
		},
		"nothing, for a value of another version": {
			versions: `{"d": "2"}`, blobs: []blob{{channel: "d", version: "1"}, {ns: "sub", channel: "d", version: "2"}, {thread: "u", channel: "d", version: "2"}},
			want: append([]string{"d write 1 /t/0 msgpack one"}, fromTwo...),
		},
		"nothing": {want: append([]string{"d write 1 /t/0 msgpack one"}, fromTwo...)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newDatabase(t)
			storeAll(t, db, saved{id: "1"}, saved{id: "2", parent: "1", values: c.values, versions: c.versions},
				saved{id: "3", parent: "2"}, saved{id: "4", parent: "3"})
			storeBlobs(t, db, c.blobs...)
			storeWrites(t, db, writes...)
			require.Equal(t, c.want, history(t, db, "'t', '', '4', array['d']"))
			require.Equal(t, c.want, history(t, db, "'t', '', null, array['d']"), "null is the newest")
		})
	}
}

func TestDeltaChannelHistory(t *testing.T) {
	t.Parallel()
	t.Run("follows parents, not ids", func(t *testing.T) {
		t.Parallel()
		db := newDatabase(t)
		storeAll(t, db, saved{id: "1"}, saved{id: "2", parent: "1"}, saved{id: "3", parent: "1"}, saved{id: "4", parent: "3"},
			saved{id: "5", parent: "2"}, saved{thread: "u", id: "2"}, saved{ns: "sub", id: "2"})
		for _, id := range []string{"1", "2", "3", "4", "5"} {
			storeWrites(t, db, wrote{id: id, task: "t", channel: "d", data: id})
		}
		storeWrites(t, db, wrote{thread: "u", id: "2", task: "t", channel: "d"}, wrote{ns: "sub", id: "2", task: "t", channel: "d"},
			wrote{id: "2", task: "t", idx: 1, channel: "e"})
		require.Equal(t, []string{"d write 1 /t/0 msgpack 1", "d write 3 /t/0 msgpack 3"}, history(t, db, "'t', '', '4', array['d']"))
		require.Equal(t, []string{"d write 1 /t/0 msgpack 1", "d write 2 /t/0 msgpack 2"}, history(t, db, "'t', '', '5', array['d']"))
		require.Empty(t, history(t, db, "'t', '', '1', array['d']"), "the writes of the checkpoint itself are not part of its state")
	})
	t.Run("applies the writes of a checkpoint in either order", func(t *testing.T) {
		t.Parallel()
		db := newDatabase(t)
		storeAll(t, db, saved{id: "1"}, saved{id: "2", parent: "1"})
		storeWrites(t, db, wrote{id: "1", task: "a", path: "~2", channel: "d"}, wrote{id: "1", task: "b", path: "~1", idx: 1, channel: "d"},
			wrote{id: "1", task: "b", path: "~1", idx: 0, channel: "d"}, wrote{id: "1", task: "c", path: "~1", channel: "d"})
		byPath := []string{"d write 1 ~1/b/0 msgpack ", "d write 1 ~1/b/1 msgpack ", "d write 1 ~1/c/0 msgpack ", "d write 1 ~2/a/0 msgpack "}
		byTask := []string{"d write 1 ~2/a/0 msgpack ", "d write 1 ~1/b/0 msgpack ", "d write 1 ~1/b/1 msgpack ", "d write 1 ~1/c/0 msgpack "}
		require.Equal(t, byPath, history(t, db, "'t', '', '2', array['d']"))
		require.Equal(t, byPath, history(t, db, "'t', '', '2', array['d'], 'task_path'"))
		require.Equal(t, byTask, history(t, db, "'t', '', '2', array['d'], 'task_id'"))
	})
	t.Run("stops for each channel at its own seed", func(t *testing.T) {
		t.Parallel()
		db := newDatabase(t)
		storeAll(t, db, saved{id: "1", values: `{"a": 1}`}, saved{id: "2", parent: "1", values: `{"b": 2}`}, saved{id: "3", parent: "2"})
		for _, id := range []string{"1", "2"} {
			storeWrites(t, db, wrote{id: id, task: "t", channel: "a", data: id}, wrote{id: id, task: "t", idx: 1, channel: "b", data: id},
				wrote{id: id, task: "t", idx: 2, channel: "c", data: id})
		}
		want := []string{
			"a seed 1 1", "a write 1 /t/0 msgpack 1", "a write 2 /t/0 msgpack 2",
			"b seed 2 2", "b write 2 /t/1 msgpack 2",
			"c write 1 /t/2 msgpack 1", "c write 2 /t/2 msgpack 2",
		}
		require.Equal(t, want, history(t, db, "'t', '', '3', array['c', 'a', 'b', 'unknown', 'a']"))
		require.Equal(t, want[:3], history(t, db, "'t', '', '3', array['a']"))
		require.Empty(t, history(t, db, "'t', '', '3', '{}'"))
	})
	t.Run("carries nothing over from channel to channel", func(t *testing.T) {
		t.Parallel()
		db := newDatabase(t)
		storeAll(t, db, saved{id: "1"}, saved{id: "2", parent: "1", values: `{"b": 2, "d": true}`, versions: `{"b": "1", "d": "2"}`},
			saved{id: "3", parent: "2"})
		storeBlobs(t, db, blob{channel: "d", version: "2", data: "state"})
		storeWrites(t, db, wrote{id: "1", task: "t", channel: "a"}, wrote{id: "1", task: "t", idx: 1, channel: "c"}, wrote{id: "1", task: "t", idx: 2, channel: "d"})
		require.Equal(t, []string{"a write 1 /t/0 msgpack ", "b seed 2 2", "c write 1 /t/1 msgpack ", "d seed 2 msgpack state"},
			history(t, db, "'t', '', '3', array['a', 'b', 'c', 'd']"))
	})
	t.Run("ends where a parent is missing", func(t *testing.T) {
		t.Parallel()
		db := newDatabase(t)
		storeAll(t, db, saved{id: "2", parent: "1"}, saved{id: "3", parent: "2"})
		storeWrites(t, db, wrote{id: "1", task: "t", channel: "d"}, wrote{id: "2", task: "t", channel: "d"})
		require.Equal(t, []string{"d write 2 /t/0 msgpack "}, history(t, db, "'t', '', '3', array['d']"))
	})
	t.Run("of a checkpoint that keeps the value looks at its ancestors all the same", func(t *testing.T) {
		t.Parallel()
		db := newDatabase(t)
		storeAll(t, db, saved{id: "1", values: `{"d": 1}`}, saved{id: "2", parent: "1", values: `{"d": 2}`})
		require.Equal(t, []string{"d seed 1 1"}, history(t, db, "'t', '', '2', array['d']"))
	})
	t.Run("is the newest checkpoint's, of the namespace", func(t *testing.T) {
		t.Parallel()
		db := newDatabase(t)
		storeAll(t, db, saved{ns: "sub", id: "1", values: `{"d": 1}`}, saved{ns: "sub", id: "2", parent: "1"}, saved{id: "3"})
		require.Equal(t, []string{"d seed 1 1"}, history(t, db, "'t', 'sub', null, array['d']"))
	})
	t.Run("of circles of every length is refused", func(t *testing.T) {
		t.Parallel()
		for length := range 9 {
			for tail := range 4 {
				db := fmt.Sprintf("circle of %d behind %d", length+1, tail)
				t.Run(db, func(t *testing.T) {
					t.Parallel()
					requireRefused(t, refusal{"LG006", "is its own ancestor", "Thread 't', namespace ''", "ancestors() and thread_tree()"},
						circleHistory(t, length+1, tail, false))
					if length+tail > 0 {
						require.NoError(t, circleHistory(t, length+1, tail, true), "unless a value ends the walk before it closes")
					}
				})
			}
		}
	})
}

// circleHistory asks for the history of a checkpoint so many steps above a circle of parents, one of which may keep the value.
func circleHistory(t *testing.T, length, tail int, isStored bool) error {
	t.Helper()
	db := newDatabase(t)
	for i := range length + tail {
		parent := i + 1
		if parent == length+tail {
			parent = tail
		}
		c := saved{id: fmt.Sprintf("%02d", i), parent: fmt.Sprintf("%02d", parent)}
		if isStored && parent == tail {
			c.values = `{"d": 1}`
		}
		c.store(t, db)
	}
	return attempt(t.Context(), db, "select * from langgraph.delta_channel_history('t', '', '00', array['d'])")
}

// A model of the walk: long ways, through other branches and upwards, many times over the parts in which they are read.
func TestDeltaChannelHistoryOfRandomThreads(t *testing.T) {
	t.Parallel()
	random := newRandom(t)
	for range 4 {
		db := newDatabase(t)
		thread := newRandomDeltaThread(random, 400, pick(random, 0, 1, 20, 100))
		thread.store(t, db)
		for _, order := range []string{"task_path", "task_id"} {
			for _, id := range []string{thread.ids[399], pick(random, thread.ids...), pick(random, thread.ids...), thread.ids[0]} {
				want := thread.history(id, order)
				require.Equal(t, want, orEmpty(history(t, db, fmt.Sprintf("'t', '', '%s', array['d'], '%s'", id, order))), "%s by %s", id, order)
			}
		}
	}
}

// randomDeltaThread is a thread whose checkpoints write to channel d, and mostly to their parents' branch.
type randomDeltaThread struct {
	ids     []string // in the order in which they were saved, which is mostly that of the ids
	parents map[string]string
	stored  map[string]bool
	writes  []wrote
}

func newRandomDeltaThread(random *rand.Rand, size, stored int) *randomDeltaThread {
	thread := &randomDeltaThread{parents: map[string]string{}, stored: map[string]bool{}}
	for i := range size {
		number := 10 * i
		if random.IntN(10) == 0 {
			number = random.IntN(10 * size)
		}
		id := fmt.Sprintf("%05d-%03d", number, i)
		switch {
		case i == 0:
		case random.IntN(30) == 0:
			thread.parents[id] = pick(random, thread.ids...)
		default:
			thread.parents[id] = thread.ids[max(0, i-1-random.IntN(2))]
		}
		thread.ids = append(thread.ids, id)
		for n := range random.IntN(4) {
			thread.writes = append(thread.writes, wrote{
				id: pick(random, id, id, id, id+"-unsaved"), task: fmt.Sprint(pick(random, "a", "b"), n), path: pick(random, "~1", "~2", ""), idx: n,
				channel: pick(random, "d", "d", "e"), data: fmt.Sprint(i, " ", n),
			})
		}
	}
	for range stored {
		thread.stored[pick(random, thread.ids...)] = true
	}
	return thread
}

func (d *randomDeltaThread) store(t *testing.T, db querier) {
	t.Helper()
	for i, id := range d.ids {
		c := saved{id: id, parent: d.parents[id], versions: fmt.Sprintf(`{"d": "%d"}`, i)}
		switch {
		case d.stored[id] && i%2 == 0:
			c.values = `{"d": "state"}`
		case d.stored[id]:
			c.values = `{"d": true}`
			storeBlobs(t, db, blob{channel: "d", version: fmt.Sprint(i), data: "state"})
		}
		c.store(t, db)
	}
	storeWrites(t, db, d.writes...)
}

// history is what delta_channel_history has to say of channel d at a checkpoint.
func (d *randomDeltaThread) history(id, order string) []string {
	var path []string
	for at := d.parents[id]; at != ""; at = d.parents[at] {
		path = append(path, at)
		if d.stored[at] {
			break
		}
	}
	slices.Reverse(path)
	lines := []string{}
	for _, at := range path {
		if d.stored[at] {
			lines = append(lines, fmt.Sprintf("d seed %s %s", at, map[bool]string{true: `"state"`, false: "msgpack state"}[slices.Index(d.ids, at)%2 == 0]))
		}
		var writes []wrote
		for _, w := range d.writes {
			if w.id == at && w.channel == "d" {
				writes = append(writes, w)
			}
		}
		slices.SortFunc(writes, func(a, b wrote) int {
			byPath := 0
			if order == "task_path" {
				byPath = strings.Compare(a.path, b.path)
			}
			return cmp.Or(byPath, strings.Compare(a.task, b.task), cmp.Compare(a.idx, b.idx))
		})
		for _, w := range writes {
			lines = append(lines, fmt.Sprintf("d write %s %s/%s/%d msgpack %s", at, w.path, w.task, w.idx, w.data))
		}
	}
	return lines
}

func TestLineageRefusesArguments(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	line(t, db, "t", "", 2)
	line(t, db, "full", "", 1)
	storeBlobs(t, db, blob{thread: "blobs", channel: "a", version: "1"})
	storeWrites(t, db, wrote{thread: "writes", id: "1", channel: "a"})
	missing := func(id string) refusal {
		return refusal{"LG001", "checkpoint '" + id + "' does not exist", "Thread 't', namespace ''", "list_checkpoints"}
	}
	for sql, want := range map[string]refusal{
		"delta_channel_history(null, '', '1', '{d}')":      {"LG002", "invalid delta channel history", "thread_id NULL", "null for the newest"},
		"delta_channel_history('', '', '1', '{d}')":        {"LG002", "invalid delta channel history", "thread_id ''", ""},
		"delta_channel_history('t', null, '1', '{d}')":     {"LG002", "invalid delta channel history", "checkpoint_ns NULL", ""},
		"delta_channel_history('t', '', '', '{d}')":        {"LG002", "invalid delta channel history", "checkpoint_id ''", ""},
		"delta_channel_history('t', '', '1', null)":        {"LG002", "invalid delta channel history", "channels NULL", ""},
		"delta_channel_history('t', '', '1', '{d, null}')": {"LG002", "invalid delta channel history", "channels '{d,NULL}'", ""},
		"delta_channel_history('t', '', '1', '{d}', null)": {"LG002", "invalid delta channel history", "replay_order NULL", ""},
		"delta_channel_history('t', '', '1', '{d}', 'id')": {"LG002", "invalid delta channel history", "replay_order 'id'", `"task_path" or "task_id"`},
		"delta_channel_history('t', '', '9', '{d}')":       missing("9"),
		"delta_channel_history('u', '', null, '{d}')":      {"LG001", "thread 'u' has no checkpoint", "", ""},
		"diff_checkpoints('t', '', '1', '9')":              missing("9"),
		"diff_checkpoints('t', '', '8', '9')":              missing("8"),
		"rebuild_blobs(null, '', '1')":                     {"LG002", "invalid checkpoint to rebuild", "thread_id NULL", "fsck()"},
		"rebuild_blobs('', '', '1')":                       {"LG002", "invalid checkpoint to rebuild", "thread_id ''", ""},
		"rebuild_blobs('t', null, '1')":                    {"LG002", "invalid checkpoint to rebuild", "checkpoint_ns NULL", ""},
		"rebuild_blobs('t', '', null)":                     {"LG002", "invalid checkpoint to rebuild", "checkpoint_id NULL", ""},
		"rebuild_blobs('t', '', '')":                       {"LG002", "invalid checkpoint to rebuild", "checkpoint_id ''", ""},
		"rebuild_blobs('t', '', '9')":                      missing("9"),
		"copy_thread(null, 'n')":                           {"LG002", "invalid threads to copy", "source is NULL", "two different threads"},
		"copy_thread('', 'n')":                             {"LG002", "invalid threads to copy", "source is ''", "two different threads"},
		"copy_thread('t', null)":                           {"LG002", "invalid threads to copy", "target NULL", "two different threads"},
		"copy_thread('t', '')":                             {"LG002", "invalid threads to copy", "target ''", "two different threads"},
		"copy_thread('t', 't')":                            {"LG002", "invalid threads to copy", "target 't'", "two different threads"},
		"copy_thread('t', 'full')":                         {"LG002", "invalid target thread", "Thread 'full' is not empty", "delete_thread"},
		"copy_thread('t', 'blobs')":                        {"LG002", "invalid target thread", "Thread 'blobs' is not empty", "delete_thread"},
		"copy_thread('t', 'writes')":                       {"LG002", "invalid target thread", "Thread 'writes' is not empty", "delete_thread"},
		"fork_thread(null, '1', 'n')":                      {"LG002", "invalid threads to copy", "source is NULL", "two different threads"},
		"fork_thread('t', '1', null)":                      {"LG002", "invalid threads to copy", "target NULL", "two different threads"},
		"fork_thread('t', '1', 't')":                       {"LG002", "invalid threads to copy", "target 't'", "two different threads"},
		"fork_thread('t', '1', 'full')":                    {"LG002", "invalid target thread", "Thread 'full' is not empty", "delete_thread"},
		"fork_thread('t', '9', 'n')":                       missing("9"),
		"fork_thread('u', null, 'n')":                      {"LG001", "thread 'u' has no checkpoint", "", ""},
	} {
		t.Run(sql, func(t *testing.T) {
			t.Parallel()
			requireRefused(t, want, attempt(t.Context(), db, "select * from langgraph."+sql))
			require.Empty(t, left(t, db, "n"))
		})
	}
}

// wholeThread is every row of a thread but for its name, as text.
func wholeThread(t *testing.T, db querier, thread string) []string {
	t.Helper()
	return column[string](t, db, `
		select (to_jsonb(c) - 'thread_id')::text from langgraph.checkpoints c where thread_id = $1
		union all select (to_jsonb(b) - 'thread_id')::text from langgraph.checkpoint_blobs b where thread_id = $1
		union all select (to_jsonb(w) - 'thread_id')::text from langgraph.checkpoint_writes w where thread_id = $1
		order by 1`, thread)
}

type copied struct{ Checkpoints, CheckpointBlobs, CheckpointWrites int64 }

func TestCopyThread(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	storeAll(t, db, saved{id: "1", age: 5 * time.Hour, versions: `{"a": "1"}`, metadata: `{"run_id": "r"}`},
		saved{id: "2", parent: "1", age: time.Hour}, saved{id: "3", parent: "missing"}, saved{ns: "n:1", id: "1"}, saved{thread: "u", id: "1"})
	storeBlobs(t, db, blob{channel: "a", version: "1", data: "x"}, blob{channel: "b", version: "1", kind: "empty"},
		blob{thread: "u", channel: "a", version: "1"})
	storeWrites(t, db, wrote{id: "2", channel: "a", age: time.Hour}, wrote{id: "unsaved", channel: "a"}, wrote{thread: "u", id: "1", channel: "a"})
	exec(t, db, "select langgraph.pin_checkpoint('t', '', '1'), langgraph.set_thread_ttl('t', '1 day')")
	before := wholeThread(t, db, "t")
	require.Len(t, before, 8)
	require.Equal(t, []copied{{4, 2, 2}}, table[copied](t, db, "select * from langgraph.copy_thread('t', 'copy')"))
	require.Equal(t, before, wholeThread(t, db, "copy"), "ids, times and all")
	require.Equal(t, before, wholeThread(t, db, "t"))
	require.Equal(t, []string{"t"}, column[string](t, db, "select thread_id from langgraph.checkpoint_pins"), "a pin is of one checkpoint")
	require.Equal(t, []string{"t"}, column[string](t, db, "select thread_id from langgraph.thread_ttls"))
	require.Equal(t, []copied{{}}, table[copied](t, db, "select * from langgraph.copy_thread('unknown', 'nothing')"))
	require.Empty(t, wholeThread(t, db, "nothing"))
}

func TestForkThread(t *testing.T) {
	t.Parallel()
	made := func(root string) string { return fmt.Sprintf(`{"parents": {"": %q}}`, root) }
	counted := `{"counters_since_delta_snapshot": {"d": [1, 1]}}`
	for name, c := range map[string]struct {
		checkpoints           []saved
		blobs                 []blob
		writes                []wrote
		pins                  string
		id                    string // empty is null
		want                  []string
		wantBlobs, wantWrites []string
	}{
		"takes one checkpoint, its values and its writes": {
			checkpoints: []saved{
				{id: "1", versions: `{"a": "1"}`},
				{id: "2", parent: "1", versions: `{"a": "1", "b": "2"}`},
				{id: "3", parent: "2", versions: `{"a": "3"}`},
			},
			blobs: []blob{
				{channel: "a", version: "1"}, {channel: "b", version: "2"}, {channel: "a", version: "3"}, {ns: "n", channel: "a", version: "1"},
			},
			writes: []wrote{{id: "1", channel: "a"}, {id: "2", channel: "b"}, {id: "3", channel: "a"}, {id: "4", channel: "a"}},
			id:     "2", want: []string{"/2"}, wantBlobs: []string{"/a 1", "/b 2"}, wantWrites: []string{"/2 b"},
		},
		"takes the newest of the root graph without an id": {
			checkpoints: []saved{{id: "1"}, {id: "2", parent: "1"}, {ns: "n:1", id: "9"}},
			want:        []string{"/2"},
		},
		"takes the ancestors that delta channels need": {
			checkpoints: []saved{
				{id: "1", metadata: counted},
				{id: "2", parent: "1", values: `{"d": "x"}`},
				{id: "3", parent: "2", metadata: counted},
				{id: "4", parent: "3", metadata: counted},
				{id: "5", parent: "3", metadata: counted},
			},
			writes: []wrote{{id: "1", channel: "d"}, {id: "3", channel: "d"}, {id: "5", channel: "d"}},
			id:     "4", want: []string{"/2", "/3<2", "/4<3"}, wantWrites: []string{"/3 d"},
		},
		"takes the parent that sent packets to an old format": {
			checkpoints: []saved{{id: "1"}, {id: "2", parent: "1"}, {id: "3", parent: "2", v: 1}},
			writes:      []wrote{{id: "2", channel: "__pregel_tasks"}},
			id:          "3", want: []string{"/2", "/3<2"}, wantWrites: []string{"/2 __pregel_tasks"},
		},
		"takes nothing along because it is pinned": {
			checkpoints: []saved{{id: "1"}, {id: "2", parent: "1"}},
			pins:        "1", id: "2", want: []string{"/2"},
		},
		"takes the calls it made, with what they need": {
			checkpoints: []saved{
				{id: "1"},
				{id: "2", parent: "1"},
				{id: "3", parent: "2"},
				{ns: "n:1", id: "11", metadata: made("1")},
				{ns: "n:2", id: "21", metadata: made("2"), values: `{"d": 1}`},
				{ns: "n:2", id: "22", parent: "21", metadata: `{"parents": {"": "2"}, "counters_since_delta_snapshot": {"d": [1, 1]}}`},
				{ns: "n:2|m:1", id: "21", metadata: made("2")},
				{ns: "n:3", id: "31", metadata: made("3")},
				{ns: "n:4", id: "41"},
			},
			id: "2", want: []string{"/2", "n:2/21", "n:2/22<21", "n:2|m:1/21"},
		},
		"takes what a subgraph that keeps its state knew then": {
			checkpoints: []saved{
				{id: "10"},
				{id: "20", parent: "10"},
				{id: "30", parent: "20"},
				{id: "40", parent: "10"},
				{ns: "n", id: "11", metadata: made("10")},
				{ns: "n", id: "12", parent: "11", metadata: made("10")},
				{ns: "n", id: "31", parent: "12", metadata: made("30")},
				{ns: "n", id: "41", metadata: made("40")},
			},
			id: "20", want: []string{"/20", "n/12"},
		},
		"takes what a subgraph knew, though the checkpoint that called it is gone": {
			checkpoints: []saved{
				{id: "20"},
				{id: "30", parent: "20"},
				{ns: "n", id: "11", metadata: made("10")},
				{ns: "n", id: "12", metadata: made("10")},
				{ns: "n", id: "31", metadata: made("30")},
			},
			id: "20", want: []string{"/20", "n/12"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newDatabase(t)
			storeAll(t, db, c.checkpoints...)
			storeBlobs(t, db, c.blobs...)
			storeWrites(t, db, c.writes...)
			if c.pins != "" {
				exec(t, db, "select langgraph.pin_checkpoint('t', '', $1)", c.pins)
			}
			before := wholeThread(t, db, "t")
			var id any
			if c.id != "" {
				id = c.id
			}
			require.Equal(t, []copied{{int64(len(c.want)), int64(len(c.wantBlobs)), int64(len(c.wantWrites))}},
				table[copied](t, db, "select * from langgraph.fork_thread('t', $1, 'fork')", id))
			require.Equal(t, c.want, left(t, db, "fork"))
			require.Equal(t, orEmpty(c.wantBlobs), leftBlobs(t, db, "fork"))
			require.Equal(t, orEmpty(c.wantWrites), leftWrites(t, db, "fork"))
			require.Equal(t, before, wholeThread(t, db, "t"))
			for _, row := range slices.Concat(wholeThread(t, db, "fork")) {
				if !strings.Contains(row, `"parent_checkpoint_id": null`) {
					require.Contains(t, before, row, "times and all")
				}
			}
		})
	}
}

type channelDiff struct {
	Channel, Change    string
	AVersion, BVersion *string
	ABytes, BBytes     *int
	AValue, BValue     any
}

func TestDiffCheckpoints(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	storeAll(t, db,
		saved{
			id: "a", values: `{"inline": 1, "same inline": "x", "gone inline": null, "moves": 5}`,
			versions: `{"blob": "1", "same": "1", "gone": "1", "inline": "1", "equal": "1", "empty": "1", "unset": "1"}`,
		},
		saved{
			id: "b", values: `{"inline": 2, "same inline": "x", "new inline": true}`,
			versions: `{"blob": "2", "same": "1", "new": "1", "inline": "2", "equal": "2", "empty": "2", "moves": "1", "unset": "2"}`,
		})
	storeBlobs(t, db, blob{channel: "blob", version: "1", data: "\x91\x01"}, blob{channel: "blob", version: "2", data: "\x92\x01\x02"},
		blob{channel: "same", version: "1", data: "\x01"}, blob{channel: "gone", version: "1", data: "\x01"}, blob{channel: "new", version: "1", kind: "null"},
		blob{channel: "equal", version: "1", data: "\x07"}, blob{channel: "equal", version: "2", data: "\x07"},
		blob{channel: "empty", version: "1", kind: "empty"}, blob{channel: "empty", version: "2", data: "\x01"},
		blob{channel: "moves", version: "1", kind: "json", data: "5"})
	diff := func(a, b string) []channelDiff {
		return table[channelDiff](t, db, "select * from langgraph.diff_checkpoints('t', '', $1, $2)", a, b)
	}
	text := func(s string) *string { return &s }
	size := func(n int) *int { return &n }
	require.Equal(t, []channelDiff{
		{Channel: "blob", Change: "changed", AVersion: text("1"), BVersion: text("2"), ABytes: size(2), BBytes: size(3), AValue: []any{1.0}, BValue: []any{1.0, 2.0}},
		{Channel: "empty", Change: "added", AVersion: text("1"), BVersion: text("2"), BBytes: size(1), BValue: 1.0},
		{Channel: "gone", Change: "removed", AVersion: text("1"), ABytes: size(1), AValue: 1.0},
		{Channel: "gone inline", Change: "removed"},
		{Channel: "inline", Change: "changed", AVersion: text("1"), BVersion: text("2"), AValue: 1.0, BValue: 2.0},
		{Channel: "moves", Change: "changed", BVersion: text("1"), BBytes: size(1), AValue: 5.0, BValue: 5.0},
		{Channel: "new", Change: "added", BVersion: text("1"), BBytes: size(0)},
		{Channel: "new inline", Change: "added", BValue: true},
	}, diff("a", "b"))
	require.Empty(t, diff("a", "a"))
	back := diff("b", "a")
	require.Len(t, back, 8)
	require.Equal(t, "removed", back[1].Change)
	require.Equal(t, "added", back[2].Change)
}

func TestDiffCheckpointsOfADamagedValue(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	storeAll(t, db, saved{id: "a"}, saved{id: "b", versions: `{"m": "1"}`})
	storeBlobs(t, db, blob{channel: "m", version: "1", data: "\x92\x01"})
	require.ErrorContains(t, attempt(t.Context(), db, "select * from langgraph.diff_checkpoints('t', '', 'a', 'b')"), "LG006")
}

func TestMissingValues(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		parent, checkpoint saved // 1 and 2
		blobs              []blob
		writes             []wrote
		want               []string
	}{
		"is a version that tasks wrote and nobody stored": {
			checkpoint: saved{versions: `{"m": "2"}`}, writes: []wrote{{id: "1", channel: "m"}}, want: []string{"m 2"},
		},
		"is a version whose writes are saved with the checkpoint": {
			checkpoint: saved{versions: `{"m": 2}`}, writes: []wrote{{id: "2", channel: "m"}}, want: []string{"m 2"},
		},
		"is none that is stored":       {checkpoint: saved{versions: `{"m": "2"}`}, blobs: []blob{{channel: "m", version: "2"}}, writes: []wrote{{id: "1", channel: "m"}}},
		"is none that is stored empty": {checkpoint: saved{versions: `{"m": "2"}`}, blobs: []blob{{channel: "m", version: "2", kind: "empty"}}, writes: []wrote{{id: "1", channel: "m"}}},
		"is none that is inline":       {checkpoint: saved{versions: `{"m": "2"}`, values: `{"m": null}`}, writes: []wrote{{id: "1", channel: "m"}}},
		"is none that the parent had":  {parent: saved{versions: `{"m": "2"}`}, checkpoint: saved{versions: `{"m": "2"}`}, writes: []wrote{{id: "1", channel: "m"}}},
		"is none that nobody wrote":    {checkpoint: saved{versions: `{"m": "2"}`}, writes: []wrote{{id: "1", channel: "other"}, {id: "3", channel: "m"}}},
		"is none of a delta channel":   {checkpoint: saved{versions: `{"m": "2"}`, metadata: `{"counters_since_delta_snapshot": {"m": [1, 1]}}`}, writes: []wrote{{id: "1", channel: "m"}}},
		"is one beside a delta channel": {
			checkpoint: saved{versions: `{"m": "2", "d": "2"}`, metadata: `{"counters_since_delta_snapshot": {"d": [1, 1]}}`},
			writes:     []wrote{{id: "1", channel: "m"}, {id: "1", idx: 1, channel: "d"}}, want: []string{"m 2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newDatabase(t)
			c.parent.id, c.checkpoint.id, c.checkpoint.parent = "1", "2", "1"
			storeAll(t, db, c.parent, c.checkpoint)
			storeBlobs(t, db, c.blobs...)
			storeWrites(t, db, c.writes...)
			require.Equal(t, orEmpty(c.want), column[string](t, db, "select channel || ' ' || version from langgraph.missing_values('t', '', '2')"))
		})
	}
}

func TestRebuildBlobs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		parentBlob         blob // of 1, version 1; none where it has no kind
		parentValues       string
		writes             []wrote
		result, kind, data string // kind is empty where nothing is stored
	}{
		"joins lists": {
			parentBlob: blob{kind: "msgpack", data: "\x91\x01"}, writes: []wrote{{id: "1", channel: "m", data: "\x92\x02\x03"}},
			result: "rebuilt", kind: "msgpack", data: "\x93\x01\x02\x03",
		},
		"merges maps, the newer entry winning": {
			parentBlob: blob{kind: "msgpack", data: "\x82\xa1a\x01\xa1b\x02"}, writes: []wrote{{id: "1", channel: "m", data: "\x82\xa1b\x09\xa1c\x03"}},
			result: "rebuilt", kind: "msgpack", data: "\x83\xa1a\x01\xa1b\x09\xa1c\x03",
		},
		"takes the last write of anything else": {
			parentBlob: blob{kind: "msgpack", data: "\x01"}, writes: []wrote{{id: "1", task: "a", channel: "m", data: "\x02"}, {id: "1", task: "b", channel: "m", data: "\x03"}},
			result: "rebuilt", kind: "msgpack", data: "\x03",
		},
		"applies writes by path, task and index": {
			writes: []wrote{
				{id: "1", task: "a", path: "~2", channel: "m", data: "\x91\x04"},
				{id: "1", task: "b", path: "~1", idx: 1, channel: "m", data: "\x91\x02"},
				{id: "1", task: "b", path: "~1", channel: "m", data: "\x91\x01"},
				{id: "1", task: "c", path: "~1", channel: "m", data: "\x91\x03"},
			},
			result: "rebuilt", kind: "msgpack", data: "\x94\x01\x02\x03\x04",
		},
		"begins from nothing where the parent has no value": {
			writes: []wrote{{id: "1", channel: "m", data: "\x91\x01"}}, result: "rebuilt", kind: "msgpack", data: "\x91\x01",
		},
		"begins from nothing where the parent has null": {
			parentBlob: blob{kind: "null"}, writes: []wrote{{id: "1", channel: "m", data: "\x91\x01"}}, result: "rebuilt", kind: "msgpack", data: "\x91\x01",
		},
		"takes a null that was written": {
			parentBlob: blob{kind: "msgpack", data: "\x01"}, writes: []wrote{{id: "1", channel: "m", kind: "null"}}, result: "rebuilt", kind: "null",
		},
		"takes writes that were saved with the checkpoint": {
			parentBlob: blob{kind: "msgpack", data: "\x91\x01"}, writes: []wrote{{id: "2", channel: "m", data: "\x91\x02"}},
			result: "rebuilt", kind: "msgpack", data: "\x92\x01\x02",
		},
		"leaves what a later step wrote to the checkpoint aside": {
			parentBlob: blob{kind: "msgpack", data: "\x91\x01"},
			writes:     []wrote{{id: "1", channel: "m", data: "\x91\x02"}, {id: "2", channel: "m", data: "\x91\x03"}},
			result:     "rebuilt", kind: "msgpack", data: "\x92\x01\x02",
		},
		"says that JSON cannot be merged": {
			parentBlob: blob{kind: "json", data: "[1]"}, writes: []wrote{{id: "1", channel: "m", data: "\x91\x01"}},
			result: "the parent's value is json, which cannot be merged",
		},
		"says that a write is encrypted": {
			parentBlob: blob{kind: "msgpack", data: "\x91\x01"}, writes: []wrote{{id: "1", channel: "m", kind: "msgpack+aes", data: "?"}},
			result: "a write is msgpack+aes, which cannot be merged",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newDatabase(t)
			storeAll(t, db, saved{id: "1", values: c.parentValues, versions: `{"m": "1", "kept": "1"}`},
				saved{id: "2", parent: "1", versions: `{"m": "2", "kept": "1"}`})
			if c.parentBlob.kind != "" {
				c.parentBlob.channel, c.parentBlob.version = "m", "1"
				storeBlobs(t, db, c.parentBlob)
			}
			storeBlobs(t, db, blob{channel: "kept", version: "1", data: "\x01"})
			storeWrites(t, db, c.writes...)
			type result struct {
				Channel, Version, Result string
				Bytes                    *int
			}
			want := result{Channel: "m", Version: "2", Result: c.result}
			if c.result == "rebuilt" {
				n := len(c.data)
				want.Bytes = &n
			}
			require.Equal(t, []result{want}, table[result](t, db, "select * from langgraph.rebuild_blobs('t', '', '2')"))
			found := table[struct {
				Type string
				Blob []byte
			}](t, db, "select type, blob from langgraph.checkpoint_blobs where channel = 'm' and version = '2'")
			if c.kind == "" {
				require.Empty(t, found)
				return
			}
			require.Len(t, found, 1)
			require.Equal(t, c.kind, found[0].Type)
			require.Equal(t, []byte(c.data), found[0].Blob)
			require.Empty(t, table[result](t, db, "select * from langgraph.rebuild_blobs('t', '', '2')"), "nothing is missing any more")
		})
	}
}

func TestRebuildBlobsOfAWholeCheckpointIsEmpty(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	line(t, db, "t", "", 2)
	require.Empty(t, column[string](t, db, "select channel from langgraph.rebuild_blobs('t', '', '2')"))
}

// finding is a row of fsck, without its remedy.
type finding struct{ Problem, ThreadID, CheckpointNS, CheckpointID, Channel, Detail string }

func findings(t *testing.T, db querier, args string) []finding {
	t.Helper()
	for _, remedy := range column[string](t, db, "select coalesce(remedy, '') from langgraph.fsck("+args+")") {
		require.Regexp(t, `^[A-Zr].*\.$`, remedy, "a remedy is a sentence")
	}
	return table[finding](t, db, `
		select problem, thread_id, checkpoint_ns, coalesce(checkpoint_id, '') as checkpoint_id, coalesce(channel, '') as channel, detail
		from langgraph.fsck(`+args+`) order by 1, 2, 3, 4, 5`)
}

func TestFsckFinds(t *testing.T) {
	t.Parallel()
	counted := func(n int) string {
		return fmt.Sprintf(`{"counters_since_delta_snapshot": {"d": [%d, %d]}}`, n, n)
	}
	for name, c := range map[string]struct {
		checkpoints []saved
		blobs       []blob
		writes      []wrote
		args        string
		want        []finding
	}{
		"a missing parent": {
			checkpoints: []saved{{id: "1"}, {id: "2", parent: "1"}, {ns: "n", id: "3", parent: "1"}},
			want:        []finding{{"missing parent", "t", "n", "3", "", "Its parent 1 does not exist."}},
		},
		"a circle of parents": {
			checkpoints: []saved{{id: "1", parent: "2", metadata: counted(3)}, {id: "2", parent: "1", metadata: counted(3)}, {id: "3", parent: "2"}},
			want:        []finding{{"parent cycle", "t", "", "1", "", "Its parents run in a circle."}},
		},
		"a value that was written and not stored": {
			checkpoints: []saved{{id: "1"}, {id: "2", parent: "1", versions: `{"m": "2"}`}},
			writes:      []wrote{{id: "1", channel: "m"}},
			want:        []finding{{"missing value", "t", "", "2", "m", "Version 2 is not stored."}},
		},
		"a severed delta chain": {
			checkpoints: []saved{{id: "2", metadata: counted(2)}, {id: "3", parent: "2", metadata: counted(3)}},
			writes:      []wrote{{id: "2", channel: "d"}},
			want: []finding{{
				"severed delta chain", "t", "", "3", "d",
				"3 updates since the last stored value are expected, 1 are left and no stored value.",
			}},
		},
		"no severed chain where a stored value begins it": {
			checkpoints: []saved{{id: "2", values: `{"d": "x"}`}, {id: "3", parent: "2", metadata: counted(3)}},
		},
		"no severed chain where the writes are complete": {
			checkpoints: []saved{{id: "1", metadata: counted(0)}, {id: "2", parent: "1", metadata: counted(1)}, {id: "3", parent: "2", metadata: counted(2)}},
			writes:      []wrote{{id: "1", channel: "d"}, {id: "2", channel: "d"}},
		},
		"a version that two branches made": {
			checkpoints: []saved{{id: "1", versions: `{"m": 1}`}, {id: "2", parent: "1", versions: `{"m": 2}`}, {id: "3", parent: "1", versions: `{"m": 2}`}},
			blobs:       []blob{{channel: "m", version: "1", data: "\x01"}, {channel: "m", version: "2", data: "\x02"}},
			want:        []finding{{"version collision", "t", "", "3", "m", "Version 2 was made by 2 and by 3."}},
		},
		"no collision where a branch shares a version": {
			checkpoints: []saved{{id: "1", versions: `{"m": 1}`}, {id: "2", parent: "1", versions: `{"m": 1}`}, {id: "3", parent: "1", versions: `{"m": 1}`}},
			blobs:       []blob{{channel: "m", version: "1", data: "\x01"}},
		},
		"no collision where a copy stands beside its original": {
			checkpoints: []saved{{id: "1"}, {id: "2", parent: "1", versions: `{"m": 2}`}, {id: "3", parent: "1", versions: `{"m": 2}`, metadata: `{"source": "fork"}`}},
			blobs:       []blob{{channel: "m", version: "2", data: "\x01"}},
		},
		"writes without a checkpoint": {
			checkpoints: []saved{{id: "1"}},
			writes:      []wrote{{id: "1", channel: "m"}, {id: "2", channel: "m"}, {id: "2", idx: 1, channel: "m"}, {ns: "n", id: "1", channel: "m"}},
			want:        []finding{{"orphan writes", "t", "", "2", "", "Number of writes: 2."}, {"orphan writes", "t", "n", "1", "", "Number of writes: 1."}},
		},
		"a value that nothing refers to": {
			checkpoints: []saved{{id: "1", versions: `{"m": "1"}`}},
			blobs:       []blob{{channel: "m", version: "1", data: "\x01"}, {channel: "m", version: "2", data: "\x01"}, {ns: "n", channel: "m", version: "1", data: "\x01"}},
			want:        []finding{{"orphan blob", "t", "", "", "m", "Version 2."}, {"orphan blob", "t", "n", "", "m", "Version 1."}},
		},
		"what is left of threads without a checkpoint": {
			blobs:  []blob{{thread: "x", channel: "m", version: "1", data: "abc"}},
			writes: []wrote{{thread: "y", id: "1", channel: "m"}, {thread: "y", id: "1", idx: 1, channel: "m"}},
			want: []finding{
				{"orphan blob", "x", "", "", "m", "Version 1."}, {"orphan writes", "y", "", "1", "", "Number of writes: 2."},
			},
		},
		"only what is of the thread asked for": {
			checkpoints: []saved{{id: "1", parent: "0"}, {thread: "u", id: "1", parent: "0"}},
			args:        "'u'",
			want:        []finding{{"missing parent", "u", "", "1", "", "Its parent 0 does not exist."}},
		},
		"no damaged value, unless it looks deep": {
			checkpoints: []saved{{id: "1", versions: `{"m": "1"}`}},
			blobs:       []blob{{channel: "m", version: "1", data: "\x92\x01"}},
		},
		"nothing in a database that is empty": {},
		"nothing in threads that are whole": {
			checkpoints: []saved{
				{id: "1", versions: `{"m": "1", "e": "1"}`, values: `{"n": 1}`},
				{id: "2", parent: "1", versions: `{"m": "2", "e": "2", "n": "1"}`, values: `{"n": 1}`},
				{id: "3", parent: "1", versions: `{"m": "1"}`},
				{ns: "n:1", id: "1"},
				{thread: "u", id: "1"},
			},
			blobs:  []blob{{channel: "m", version: "1", data: "\x01"}, {channel: "m", version: "2", data: "\x01"}},
			writes: []wrote{{id: "1", channel: "m"}, {id: "1", idx: 1, channel: "n"}, {id: "2", channel: "m"}},
			args:   "p_deep => false",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newDatabase(t)
			storeAll(t, db, c.checkpoints...)
			storeBlobs(t, db, c.blobs...)
			storeWrites(t, db, c.writes...)
			want := c.want
			if want == nil {
				want = []finding{}
			}
			require.Equal(t, want, findings(t, db, c.args))
		})
	}
}

func TestFsckFindsDamagedValues(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	storeAll(t, db, saved{id: "1", versions: `{"m": "1", "j": "1", "null": "1", "empty": "1", "bytes": "1", "aes": "1", "cut": "1", "lost": "1", "pickle": "1"}`})
	storeBlobs(t, db,
		blob{channel: "m", version: "1", data: "\x92\x01\x02"}, blob{channel: "j", version: "1", kind: "json", data: `{"a": `},
		blob{channel: "null", version: "1", kind: "null"}, blob{channel: "empty", version: "1", kind: "empty"},
		blob{channel: "bytes", version: "1", kind: "bytes", data: "\xff\x00"}, blob{channel: "aes", version: "1", kind: "msgpack+aes", data: "?"},
		blob{channel: "cut", version: "1", data: "\x92\x01"}, blob{channel: "pickle", version: "1", kind: "pickle", data: "\x80"})
	exec(t, db, "insert into langgraph.checkpoint_blobs values ('t', '', 'lost', '1', 'msgpack', null)")
	storeWrites(t, db, wrote{id: "1", task: "a", channel: "w", data: "\xc1"}, wrote{id: "1", task: "b", channel: "w", data: "\xc0"})
	got := findings(t, db, "p_deep => true")
	places := make([]string, len(got))
	for i, f := range got {
		require.Equal(t, "damaged value", f.Problem)
		place, _, _ := strings.Cut(f.Detail, ":")
		places[i] = f.CheckpointID + "/" + f.Channel + " " + place
	}
	slices.Sort(places)
	require.Equal(t, []string{
		"/cut Version 1, type msgpack", "/j Version 1, type json", "/lost Version 1, type msgpack", "1/w Write 0 of task a, type msgpack",
	}, places)
	require.Len(t, findings(t, db, "'t', true"), 4)
	require.Empty(t, findings(t, db, "'t'"))
}

func TestFsckChangesNothing(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	storeAll(t, db, saved{id: "1", parent: "0"}, saved{id: "2", parent: "1", versions: `{"m": "2"}`})
	storeWrites(t, db, wrote{id: "1", channel: "m", data: "\x01"}, wrote{id: "9", channel: "m", data: "\x01"})
	storeBlobs(t, db, blob{channel: "m", version: "9"})
	before := wholeThread(t, db, "t")
	readOnly(t, db, func(tx pgx.Tx) { require.Len(t, findings(t, tx, "null, true"), 5) })
	require.Equal(t, before, wholeThread(t, db, "t"))
}

// readOnly runs do in a transaction that cannot write.
func readOnly(t *testing.T, db *pgxpool.Pool, do func(pgx.Tx)) {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), pgx.TxOptions{AccessMode: pgx.ReadOnly})
	require.NoError(t, err)
	defer func() { require.NoError(t, tx.Rollback(context.Background())) }()
	do(tx)
}

func TestWhatFsckAdvisesMends(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	storeAll(t, db, saved{id: "1", versions: `{"m": "1"}`}, saved{id: "2", parent: "1", versions: `{"m": "2"}`})
	storeBlobs(t, db, blob{channel: "m", version: "1", data: "\x91\x01"}, blob{channel: "m", version: "9", data: "\x91\x01"})
	storeWrites(t, db, wrote{id: "1", channel: "m", data: "\x91\x02"})
	remedies := column[string](t, db, "select remedy from langgraph.fsck() where problem = 'missing value'")
	require.Len(t, remedies, 1)
	call, _, found := strings.Cut(remedies[0], " recovers")
	require.True(t, found)
	require.Equal(t, []string{"rebuilt"}, column[string](t, db, "select result from langgraph."+call))
	exec(t, db, "select langgraph.prune(array['t'], p_keep => 2)")
	require.Empty(t, findings(t, db, ""))
}
