package sql_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// saved is a checkpoint to be there, inserted plainly. JSON that is empty stands for {}.
type saved struct {
	thread, ns, id, parent     string
	values, versions, metadata string
	v                          int // 0 is 4
	age                        time.Duration
}

func (s saved) store(t *testing.T, db querier) {
	t.Helper()
	orEmptyObject := func(text string) string {
		if text == "" {
			return "{}"
		}
		return text
	}
	if s.thread == "" {
		s.thread = "t"
	}
	if s.v == 0 {
		s.v = 4
	}
	exec(t, db, `
		insert into langgraph.checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata,
			created_at, updated_at)
		values ($1, $2, $3, nullif($4, ''), jsonb_build_object('v', $5::int, 'id', $3::text, 'channel_values', $6::jsonb,
			'channel_versions', $7::jsonb), $8, now() - $9::interval, now() - $9::interval)`,
		s.thread, s.ns, s.id, s.parent, s.v, orEmptyObject(s.values), orEmptyObject(s.versions), orEmptyObject(s.metadata), s.age)
}

func storeAll(t *testing.T, db querier, checkpoints ...saved) {
	t.Helper()
	for _, c := range checkpoints {
		c.store(t, db)
	}
}

// blob is a stored value to be there: a channel's version, with bytes as msgpack unless kind says otherwise.
type blob struct{ thread, ns, channel, version, kind, data string }

func (b blob) store(t *testing.T, db querier) {
	t.Helper()
	if b.thread == "" {
		b.thread = "t"
	}
	if b.kind == "" {
		b.kind = "msgpack"
	}
	var data []byte
	if b.kind != "empty" {
		data = []byte(b.data)
	}
	exec(t, db, "insert into langgraph.checkpoint_blobs values ($1, $2, $3, $4, $5, $6)", b.thread, b.ns, b.channel, b.version,
		b.kind, data)
}

func storeBlobs(t *testing.T, db querier, blobs ...blob) {
	t.Helper()
	for _, b := range blobs {
		b.store(t, db)
	}
}

// wrote is a write to be there, as msgpack unless kind says otherwise.
type wrote struct {
	thread, ns, id, task, path string
	idx                        int
	channel, kind, data        string
	age                        time.Duration
}

func storeWrites(t *testing.T, db querier, writes ...wrote) {
	t.Helper()
	for _, w := range writes {
		if w.thread == "" {
			w.thread = "t"
		}
		if w.kind == "" {
			w.kind = "msgpack"
		}
		exec(t, db, `
			insert into langgraph.checkpoint_writes (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob,
				task_path, created_at)
			values ($1, $2, $3, $4, $5, $6, $7, $8, $9, now() - $10::interval)`,
			w.thread, w.ns, w.id, w.task, w.idx, w.channel, w.kind, []byte(w.data), w.path, w.age)
	}
}

// left are the checkpoints of a thread: "namespace/id<parent".
func left(t *testing.T, db querier, thread string) []string {
	t.Helper()
	return column[string](t, db, `
		select checkpoint_ns || '/' || checkpoint_id || coalesce('<' || parent_checkpoint_id, '')
		from langgraph.checkpoints where thread_id = $1 order by checkpoint_ns, checkpoint_id`, thread)
}

// leftBlobs are the stored values of a thread: "namespace/channel version".
func leftBlobs(t *testing.T, db querier, thread string) []string {
	t.Helper()
	return column[string](t, db, `
		select checkpoint_ns || '/' || channel || ' ' || version
		from langgraph.checkpoint_blobs where thread_id = $1 order by checkpoint_ns, channel, version`, thread)
}

// leftWrites are the writes of a thread: "namespace/id channel".
func leftWrites(t *testing.T, db querier, thread string) []string {
	t.Helper()
	return column[string](t, db, `
		select checkpoint_ns || '/' || checkpoint_id || ' ' || channel
		from langgraph.checkpoint_writes where thread_id = $1 order by checkpoint_ns, checkpoint_id, task_id, idx`, thread)
}

// removed is a row of prune, delete_for_runs and sweep_preview, but for the bytes.
type removed struct {
	ThreadID                                             string
	Checkpoints, CheckpointBlobs, CheckpointWrites, Kept int64
}

const removedColumns = "thread_id, checkpoints, checkpoint_blobs, checkpoint_writes, kept"

func prune(t *testing.T, db querier, args string) []removed {
	t.Helper()
	return table[removed](t, db, "select "+removedColumns+" from langgraph.prune("+args+")")
}

// orEmpty makes a list that a table of cases left out equal to one that a query found empty.
func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// line stores checkpoints 1, 2, ... of a namespace in a row.
func line(t *testing.T, db querier, thread, ns string, n int) {
	t.Helper()
	for i := 1; i <= n; i++ {
		c := saved{thread: thread, ns: ns, id: fmt.Sprint(i)}
		if i > 1 {
			c.parent = fmt.Sprint(i - 1)
		}
		c.store(t, db)
	}
}

func TestPruneKeepsTheNewestOfEachNamespace(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	for name, c := range map[string]struct {
		args string
		want []string
		row  removed
	}{
		"one by default":   {"", []string{"/4", "sub/2"}, removed{Checkpoints: 4}},
		"two":              {", p_keep => 2", []string{"/3", "/4<3", "sub/1", "sub/2<1"}, removed{Checkpoints: 2}},
		"more than are":    {", p_keep => 9", []string{"/1", "/2<1", "/3<2", "/4<3", "sub/1", "sub/2<1"}, removed{}},
		"none with delete": {", 'delete'", []string{}, removed{Checkpoints: 6}},
		"all when dry":     {", p_dry_run => true", []string{"/1", "/2<1", "/3<2", "/4<3", "sub/1", "sub/2<1"}, removed{Checkpoints: 4}},
		"all when dry, though all would go": {
			", 'delete', p_dry_run => true", []string{"/1", "/2<1", "/3<2", "/4<3", "sub/1", "sub/2<1"}, removed{Checkpoints: 6},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			line(t, db, name, "", 4)
			line(t, db, name, "sub", 2)
			c.row.ThreadID = name
			require.Equal(t, []removed{c.row}, prune(t, db, fmt.Sprintf("array['%s']%s", name, c.args)))
			require.Equal(t, c.want, left(t, db, name))
		})
	}
}

func TestPruneOfThreads(t *testing.T) {
	t.Parallel()
	t.Run("takes those that are named, once, in the order of their ids", func(t *testing.T) {
		t.Parallel()
		db := newDatabase(t)
		for _, thread := range []string{"b", "a", "B", "other"} {
			line(t, db, thread, "", 2)
		}
		require.Equal(t, []removed{
			{ThreadID: "B", Checkpoints: 1}, {ThreadID: "a", Checkpoints: 1}, {ThreadID: "b", Checkpoints: 1}, {ThreadID: "unknown"},
		}, prune(t, db, "array['b', 'unknown', 'a', 'B', 'b']"))
		require.Equal(t, []string{"/1", "/2<1"}, left(t, db, "other"))
	})
	t.Run("of none is no error", func(t *testing.T) {
		t.Parallel()
		db := newDatabase(t)
		line(t, db, "t", "", 2)
		require.Empty(t, prune(t, db, "'{}'"))
		require.Len(t, left(t, db, "t"), 2)
	})
	t.Run("reports the bytes it frees, the same when dry", func(t *testing.T) {
		t.Parallel()
		db := newDatabase(t)
		line(t, db, "t", "", 2)
		storeWrites(t, db, wrote{id: "1", channel: "a", data: "0123456789"})
		storeBlobs(t, db, blob{channel: "a", version: "1", data: strings.Repeat("x", 100_000)})
		want := value[int64](t, db, `
			select pg_column_size(checkpoint) + pg_column_size(metadata)
				+ (select pg_column_size(blob) from langgraph.checkpoint_blobs)
				+ (select pg_column_size(blob) from langgraph.checkpoint_writes)
			from langgraph.checkpoints where checkpoint_id = '1'`)
		require.Less(t, want, int64(5000), "bytes are as stored, compressed")
		require.Equal(t, want, value[int64](t, db, "select bytes from langgraph.prune(array['t'], p_dry_run => true)"))
		require.Equal(t, want, value[int64](t, db, "select bytes from langgraph.prune(array['t'])"))
		require.Zero(t, value[int64](t, db, "select bytes from langgraph.prune(array['t'])"))
	})
}

func TestPruneKeeps(t *testing.T) {
	t.Parallel()
	interrupt := func(ns, id string) wrote { return wrote{ns: ns, id: id, idx: -3, channel: "__interrupt__"} }
	counted := `{"counters_since_delta_snapshot": {"d": [1, 1]}}`
	for name, c := range map[string]struct {
		checkpoints []saved
		blobs       []blob
		writes      []wrote
		pins        []string // "namespace/id"
		args        string
		want        []string
		wantBlobs   []string
		wantWrites  []string
		kept        int64
	}{
		"every head, when asked to": {
			checkpoints: []saved{{id: "1"}, {id: "2", parent: "1"}, {id: "3", parent: "2"}, {id: "4", parent: "1"}, {id: "5", parent: "4"}},
			args:        "p_keep_heads => true",
			want:        []string{"/3", "/5"},
		},
		"no older head, when not": {
			checkpoints: []saved{{id: "1"}, {id: "2", parent: "1"}, {id: "3", parent: "2"}, {id: "4", parent: "1"}, {id: "5", parent: "4"}},
			want:        []string{"/5"},
		},
		"a branch that waits for a human": {
			checkpoints: []saved{{id: "1"}, {id: "2", parent: "1"}, {id: "3", parent: "1"}},
			writes:      []wrote{interrupt("", "2")},
			want:        []string{"/2", "/3"},
			wantWrites:  []string{"/2 __interrupt__"},
		},
		"no checkpoint that waited and was resumed": {
			checkpoints: []saved{{id: "1"}, {id: "2", parent: "1"}},
			writes:      []wrote{interrupt("", "1")},
			want:        []string{"/2"},
		},
		"nothing that waits, with delete": {
			checkpoints: []saved{{id: "1"}},
			writes:      []wrote{interrupt("", "1")},
			args:        "'delete'",
			want:        []string{},
		},
		"what is pinned": {
			checkpoints: []saved{{id: "1"}, {id: "2", parent: "1"}, {id: "3", parent: "2"}, {ns: "sub", id: "1"}, {ns: "sub", id: "2"}},
			pins:        []string{"/1", "sub/1"},
			want:        []string{"/1", "/3", "sub/1", "sub/2"},
			kept:        2,
		},
		"what is pinned, with delete": {
			checkpoints: []saved{{id: "1"}, {id: "2", parent: "1"}, {id: "3", parent: "2"}},
			writes:      []wrote{{id: "2", channel: "a"}, {id: "3", channel: "a"}, {id: "unsaved", channel: "a"}},
			blobs:       []blob{{channel: "a", version: "1"}},
			pins:        []string{"/2"},
			args:        "'delete'",
			want:        []string{"/2"},
			wantWrites:  []string{"/2 a"},
			kept:        1,
		},
		"the values that a checkpoint that stays refers to": {
			checkpoints: []saved{{id: "1", versions: `{"a": "1", "b": "1"}`}, {id: "2", parent: "1", versions: `{"a": "1", "b": "2"}`}},
			blobs: []blob{
				{channel: "a", version: "1"},
				{channel: "b", version: "1"},
				{channel: "b", version: "2"},
				{channel: "c", version: "1"},
				{ns: "elsewhere", channel: "a", version: "1"},
			},
			want:      []string{"/2"},
			wantBlobs: []string{"/a 1", "/b 2"},
		},
		"integer versions apart from equal text": {
			checkpoints: []saved{{id: "1", versions: `{"a": 1}`}, {id: "2", parent: "1", versions: `{"a": 10}`}},
			blobs:       []blob{{channel: "a", version: "1"}, {channel: "a", version: "10"}},
			want:        []string{"/2"},
			wantBlobs:   []string{"/a 10"},
		},
		"writes whose checkpoint is not saved yet": {
			checkpoints: []saved{{id: "1"}, {id: "2", parent: "1"}},
			writes:      []wrote{{id: "1", channel: "a"}, {id: "2", channel: "a"}, {id: "3", channel: "a"}},
			want:        []string{"/2"},
			wantWrites:  []string{"/2 a", "/3 a"},
		},
		"a parent that was missing before": {
			checkpoints: []saved{{id: "1"}, {id: "2", parent: "missing"}},
			want:        []string{"/2<missing"},
		},
		"the ancestors back to a snapshot": {
			checkpoints: []saved{
				{id: "1", metadata: counted},
				{id: "2", parent: "1", values: `{"d": true}`, versions: `{"d": "2"}`},
				{id: "3", parent: "2", metadata: counted},
				{id: "4", parent: "3", metadata: counted},
			},
			blobs:      []blob{{channel: "d", version: "2"}},
			writes:     []wrote{{id: "1", channel: "d"}, {id: "2", channel: "d"}},
			want:       []string{"/2", "/3<2", "/4<3"},
			wantBlobs:  []string{"/d 2"},
			wantWrites: []string{"/2 d"},
			kept:       2,
		},
		"the ancestors back to a plain value": {
			checkpoints: []saved{
				{id: "1", versions: `{"d": "1"}`}, {id: "2", parent: "1", versions: `{"d": "2"}`}, {id: "3", parent: "2", metadata: counted},
			},
			blobs:     []blob{{channel: "d", version: "1"}, {channel: "d", version: "2"}},
			want:      []string{"/2", "/3<2"},
			wantBlobs: []string{"/d 2"},
			kept:      1,
		},
		"the ancestors back to an inline value, and not to a null": {
			checkpoints: []saved{
				{id: "1", values: `{"d": "x"}`}, {id: "2", parent: "1", values: `{"d": null}`}, {id: "3", parent: "2", metadata: counted},
			},
			want: []string{"/1", "/2<1", "/3<2"},
			kept: 2,
		},
		"the ancestors back to the first that wrote, where none stores": {
			checkpoints: []saved{
				{id: "1"}, {id: "2", parent: "1"}, {id: "3", parent: "2"}, {id: "4", parent: "3", metadata: counted},
			},
			writes:     []wrote{{id: "2", channel: "d"}, {id: "1", channel: "other"}},
			want:       []string{"/2", "/3<2", "/4<3"},
			wantWrites: []string{"/2 d"},
			kept:       2,
		},
		"no ancestor, where it keeps the value itself": {
			checkpoints: []saved{
				{id: "1", metadata: counted}, {id: "2", parent: "1", values: `{"d": true}`, versions: `{"d": "2"}`},
			},
			blobs:     []blob{{channel: "d", version: "2"}},
			writes:    []wrote{{id: "1", channel: "d"}},
			want:      []string{"/2"},
			wantBlobs: []string{"/d 2"},
		},
		"no value of type empty as one to begin from": {
			checkpoints: []saved{
				{id: "1"}, {id: "2", parent: "1", versions: `{"d": "2"}`}, {id: "3", parent: "2", metadata: counted},
			},
			blobs:      []blob{{channel: "d", version: "2", kind: "empty"}},
			writes:     []wrote{{id: "1", channel: "d"}},
			want:       []string{"/1", "/2<1", "/3<2"},
			wantBlobs:  []string{"/d 2"},
			wantWrites: []string{"/1 d"},
			kept:       2,
		},
		"what each of several delta channels needs, and what those need": {
			checkpoints: []saved{
				{id: "1", values: `{"e": true}`, versions: `{"e": "1"}`},
				{id: "2", parent: "1", metadata: `{"counters_since_delta_snapshot": {"e": [1, 1]}}`},
				{id: "3", parent: "2", values: `{"d": true}`, versions: `{"d": "3"}`, metadata: `{"counters_since_delta_snapshot": {"e": [1, 2]}}`},
				{id: "4", parent: "3", values: `{"e": true}`, versions: `{"d": "4", "e": "4"}`, metadata: counted},
			},
			blobs:     []blob{{channel: "e", version: "1"}, {channel: "d", version: "3"}, {channel: "e", version: "4"}},
			want:      []string{"/1", "/2<1", "/3<2", "/4<3"},
			wantBlobs: []string{"/d 3", "/e 1", "/e 4"},
			kept:      3,
		},
		"the parent that sent packets to a checkpoint of an old format": {
			checkpoints: []saved{{id: "1"}, {id: "2", parent: "1"}, {id: "3", parent: "2", v: 3}},
			writes:      []wrote{{id: "2", channel: "__pregel_tasks"}},
			want:        []string{"/2", "/3<2"},
			wantWrites:  []string{"/2 __pregel_tasks"},
			kept:        1,
		},
		"no parent that sent packets to a checkpoint of format 4": {
			checkpoints: []saved{{id: "1"}, {id: "2", parent: "1"}},
			writes:      []wrote{{id: "1", channel: "__pregel_tasks"}},
			want:        []string{"/2"},
		},
		"all of a circle of parents that a checkpoint may need": {
			checkpoints: []saved{
				{id: "1", parent: "2"}, {id: "2", parent: "1"}, {id: "3", parent: "2", metadata: counted},
			},
			writes:     []wrote{{id: "1", channel: "d"}},
			want:       []string{"/1<2", "/2<1", "/3<2"},
			wantWrites: []string{"/1 d"},
			kept:       2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newDatabase(t)
			storeAll(t, db, c.checkpoints...)
			storeBlobs(t, db, c.blobs...)
			storeWrites(t, db, c.writes...)
			for _, pin := range c.pins {
				ns, id, _ := strings.Cut(pin, "/")
				exec(t, db, "select langgraph.pin_checkpoint('t', $1, $2)", ns, id)
			}
			args := "array['t']"
			if c.args != "" {
				args += ", " + c.args
			}
			want := []removed{{
				ThreadID: "t", Checkpoints: int64(len(c.checkpoints) - len(c.want)), CheckpointBlobs: int64(len(c.blobs) - len(c.wantBlobs)),
				CheckpointWrites: int64(len(c.writes) - len(c.wantWrites)), Kept: c.kept,
			}}
			require.Equal(t, want, prune(t, db, args+", p_dry_run => true"))
			require.Len(t, left(t, db, "t"), len(c.checkpoints))
			require.Equal(t, want, prune(t, db, args))
			require.Equal(t, c.want, left(t, db, "t"))
			require.Equal(t, orEmpty(c.wantBlobs), leftBlobs(t, db, "t"))
			require.Equal(t, orEmpty(c.wantWrites), leftWrites(t, db, "t"))

			want[0].Checkpoints, want[0].CheckpointBlobs, want[0].CheckpointWrites = 0, 0, 0
			require.Equal(t, want, prune(t, db, args), "pruning again finds nothing")
		})
	}
}

func TestPruneOfSubgraphCalls(t *testing.T) {
	t.Parallel()
	made := func(root string) string { return fmt.Sprintf(`{"parents": {"": %q}}`, root) }
	for name, c := range map[string]struct {
		checkpoints []saved
		writes      []wrote
		blobs       []blob
		pins        []string
		args        string
		want        []string
		wantWrites  []string
		kept        int64
	}{
		"of a root checkpoint that goes take them whole": {
			checkpoints: []saved{
				{id: "1"},
				{id: "2", parent: "1"},
				{ns: "n:1", id: "11", metadata: made("1")},
				{ns: "n:1", id: "12", parent: "11", metadata: made("1")},
				{ns: "n:1|m:2", id: "11", metadata: made("1")},
			},
			writes: []wrote{{ns: "n:1", id: "12", idx: -3, channel: "__interrupt__"}, {ns: "n:1", id: "unsaved", channel: "a"}},
			blobs:  []blob{{ns: "n:1", channel: "a", version: "1"}},
			want:   []string{"/2"},
		},
		"of one that stays keep the newest": {
			checkpoints: []saved{
				{id: "1"}, {ns: "n:1", id: "11", metadata: made("1")}, {ns: "n:1", id: "12", parent: "11", metadata: made("1")},
			},
			writes:     []wrote{{ns: "n:1", id: "unsaved", channel: "a"}},
			want:       []string{"/1", "n:1/12"},
			wantWrites: []string{"n:1/unsaved a"},
		},
		"of one that stays because it waits keep the newest": {
			checkpoints: []saved{{id: "1"}, {id: "2"}, {ns: "n:1", id: "11", metadata: made("1")}},
			writes:      []wrote{{id: "1", idx: -3, channel: "__interrupt__"}},
			want:        []string{"/1", "/2", "n:1/11"},
			wantWrites:  []string{"/1 __interrupt__"},
		},
		"are left where the client names no root": {
			checkpoints: []saved{{id: "1"}, {id: "2", parent: "1"}, {ns: "n:1", id: "11"}, {ns: "n:1", id: "12", parent: "11"}},
			want:        []string{"/2", "n:1/12"},
		},
		"are left where the root may still be saved": {
			checkpoints: []saved{{id: "1"}, {ns: "n:1", id: "11", metadata: made("2")}},
			want:        []string{"/1", "n:1/11"},
		},
		"go where the root does not exist and the graph went on": {
			checkpoints: []saved{{id: "1"}, {ns: "n:1", id: "11", metadata: made("10")}, {id: "3", parent: "1"}},
			want:        []string{"/3"},
		},
		"do not include a subgraph that keeps its state between calls": {
			checkpoints: []saved{
				{id: "1"}, {id: "2", parent: "1"}, {ns: "n", id: "11", metadata: made("1")}, {ns: "n", id: "12", metadata: made("1")},
			},
			want: []string{"/2", "n/12"},
		},
		"stay where one is pinned": {
			checkpoints: []saved{
				{id: "1"}, {id: "2", parent: "1"}, {ns: "n:1", id: "11", metadata: made("1")}, {ns: "n:1", id: "12", metadata: made("1")},
			},
			pins: []string{"n:1/11"},
			want: []string{"/2", "n:1/11"},
			kept: 1,
		},
		"of a pinned root checkpoint keep the newest, even with delete": {
			checkpoints: []saved{
				{id: "1"},
				{id: "2", parent: "1"},
				{ns: "n:1", id: "11", metadata: made("1")},
				{ns: "n:1", id: "12", metadata: made("1")},
				{ns: "n:2", id: "21", metadata: made("2")},
			},
			pins: []string{"/1"},
			args: ", 'delete'",
			want: []string{"/1", "n:1/12"},
			kept: 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newDatabase(t)
			storeAll(t, db, c.checkpoints...)
			storeWrites(t, db, c.writes...)
			storeBlobs(t, db, c.blobs...)
			for _, pin := range c.pins {
				ns, id, _ := strings.Cut(pin, "/")
				exec(t, db, "select langgraph.pin_checkpoint('t', $1, $2)", ns, id)
			}
			require.Equal(t, []removed{{
				ThreadID: "t", Checkpoints: int64(len(c.checkpoints) - len(c.want)), CheckpointBlobs: int64(len(c.blobs)),
				CheckpointWrites: int64(len(c.writes) - len(c.wantWrites)), Kept: c.kept,
			}}, prune(t, db, "array['t']"+c.args))
			require.Equal(t, c.want, left(t, db, "t"))
			require.Equal(t, orEmpty(c.wantWrites), leftWrites(t, db, "t"))
		})
	}
}

func TestPruneTakesTheTTLOfAThreadThatIsGone(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	line(t, db, "t", "", 2)
	exec(t, db, "select langgraph.set_thread_ttl('t', '1 day')")
	ttls := func() int64 { return value[int64](t, db, "select count(*) from langgraph.thread_ttls") }
	prune(t, db, "array['t']")
	require.EqualValues(t, 1, ttls())
	prune(t, db, "array['t'], 'delete', p_dry_run => true")
	require.EqualValues(t, 1, ttls())
	exec(t, db, "select langgraph.pin_checkpoint('t', '', '2')")
	prune(t, db, "array['t'], 'delete'")
	require.EqualValues(t, 1, ttls(), "the pinned checkpoint is still the thread")
	exec(t, db, "select langgraph.unpin_checkpoint('t', '', '2')")
	prune(t, db, "array['t'], 'delete'")
	require.Zero(t, ttls())
}

func TestPruneLeavesTheTimesOfWhatStays(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	storeAll(t, db, saved{id: "1", age: 3 * time.Hour}, saved{id: "2", parent: "1", age: 2 * time.Hour})
	times := func() []time.Time {
		return column[time.Time](t, db, "select unnest(array[created_at, updated_at]) from langgraph.checkpoints where checkpoint_id = '2'")
	}
	before := times()
	prune(t, db, "array['t']")
	require.Equal(t, []string{"/2"}, left(t, db, "t"))
	require.Equal(t, before, times(), "a thread is not active because it was pruned")
}

func TestRetentionRefusesArguments(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	line(t, db, "t", "", 2)
	for sql, want := range map[string]refusal{
		"select langgraph.prune(null)":                                              {"LG002", "invalid prune", "thread_ids NULL", "keep is at least 1"},
		"select langgraph.prune(array['t', null])":                                  {"LG002", "invalid prune", "thread_ids", "no argument may be null"},
		"select langgraph.prune(array['t'], 'keep')":                                {"LG002", "invalid prune", "strategy 'keep'", `"keep_latest" or "delete"`},
		"select langgraph.prune(array['t'], null)":                                  {"LG002", "invalid prune", "strategy NULL", "no argument may be null"},
		"select langgraph.prune(array['t'], p_keep => 0)":                           {"LG002", "invalid prune", "keep '0'", "at least 1"},
		"select langgraph.prune(array['t'], p_keep => null)":                        {"LG002", "invalid prune", "keep NULL", "at least 1"},
		"select langgraph.prune(array['t'], p_dry_run => null)":                     {"LG002", "invalid prune", "dry_run NULL", "no argument may be null"},
		"select langgraph.prune(array['t'], p_keep_heads => null)":                  {"LG002", "invalid prune", "keep_heads NULL", "no argument may be null"},
		"select langgraph.delete_for_runs(null)":                                    {"LG002", "invalid run_ids", "NULL", "Pass run ids"},
		"select langgraph.delete_for_runs(array['r', null])":                        {"LG002", "invalid run_ids", "r", "none of them null"},
		"select langgraph.delete_for_runs(array['r'], null)":                        {"LG002", "invalid run_ids", "", ""},
		"select langgraph.pin_checkpoint(null, '', '1')":                            {"LG002", "invalid checkpoint to pin", "thread_id NULL", "Name the checkpoint"},
		"select langgraph.pin_checkpoint('', '', '1')":                              {"LG002", "invalid checkpoint to pin", "thread_id ''", "Name the checkpoint"},
		"select langgraph.pin_checkpoint('t', null, '1')":                           {"LG002", "invalid checkpoint to pin", "checkpoint_ns NULL", "empty for the root graph"},
		"select langgraph.pin_checkpoint('t', '', null)":                            {"LG002", "invalid checkpoint to pin", "checkpoint_id NULL", "Name the checkpoint"},
		"select langgraph.pin_checkpoint('t', '', '')":                              {"LG002", "invalid checkpoint to pin", "checkpoint_id ''", "Name the checkpoint"},
		"select langgraph.pin_checkpoint('t', '', '9')":                             {"LG001", "checkpoint '9' does not exist", "Thread 't', namespace ''", "list_checkpoints"},
		"select langgraph.pin_checkpoint('t', 'sub', '1')":                          {"LG001", "checkpoint '1' does not exist", "namespace 'sub'", "list_checkpoints"},
		"select langgraph.set_thread_ttl(null, '1 day')":                            {"LG002", "invalid thread TTL", "thread_id NULL", "Name the thread"},
		"select langgraph.set_thread_ttl('', '1 day')":                              {"LG002", "invalid thread TTL", "thread_id ''", "Name the thread"},
		"select langgraph.set_thread_ttl('t', '0')":                                 {"LG002", "invalid thread TTL", "idle_ttl '00:00:00'", "positive"},
		"select langgraph.set_thread_ttl('t', '-1 day')":                            {"LG002", "invalid thread TTL", "-1 days", "positive"},
		"select langgraph.set_retention_policy(null, p_keep_last => 1)":             {"LG002", "invalid retention policy", "name NULL", "A policy has a name"},
		"select langgraph.set_retention_policy('', p_keep_last => 1)":               {"LG002", "invalid retention policy", "name ''", "A policy has a name"},
		"select langgraph.set_retention_policy('p')":                                {"LG002", "invalid retention policy", "keep_last NULL", "at least one of"},
		"select langgraph.set_retention_policy('p', p_keep_last => 0)":              {"LG002", "invalid retention policy", "keep_last '0'", "positive"},
		"select langgraph.set_retention_policy('p', p_idle_ttl => '0')":             {"LG002", "invalid retention policy", "idle_ttl '00:00:00'", "positive"},
		"select langgraph.set_retention_policy('p', p_max_age => '-1 s')":           {"LG002", "invalid retention policy", "max_age '-00:00:01'", "positive"},
		"select langgraph.set_retention_policy('p', null, '[]', p_keep_last=>1)":    {"LG002", "invalid retention policy", "metadata_filter '[]'", ""},
		"select langgraph.set_retention_policy('p',p_keep_last=>1,p_enabled=>null)": {"LG002", "invalid retention policy", "name 'p'", ""},
		"call langgraph.sweep(0)":                                                   {"LG002", "invalid sweep", "batch_size '0'", "at least 1"},
		"call langgraph.sweep(null)":                                                {"LG002", "invalid sweep", "batch_size NULL", "at least 1"},
		"call langgraph.sweep(1, '-1 s')":                                           {"LG002", "invalid sweep", "max_duration '-00:00:01'", "not negative"},
		"select langgraph.store_sweep(0)":                                           {"LG002", "invalid limit", "'0'", "at least 1"},
		"select langgraph.store_sweep(null)":                                        {"LG002", "invalid limit", "NULL", "at least 1"},
		"select langgraph.list_threads(p_limit => -1)":                              {"LG002", "invalid list of threads", "limit '-1'", "not negative"},
		"select langgraph.list_threads('[]')":                                       {"LG002", "invalid list of threads", "filter '[]'", "JSON object"},
	} {
		t.Run(sql, func(t *testing.T) {
			t.Parallel()
			requireRefused(t, want, attempt(t.Context(), db, sql))
		})
	}
}

func TestDeleteForRuns(t *testing.T) {
	t.Parallel()
	by := func(run string) string { return fmt.Sprintf(`{"run_id": %q}`, run) }
	counted := `{"run_id": "r2", "counters_since_delta_snapshot": {"d": [1, 1]}}`
	deleteFor := func(t *testing.T, db querier, runs string) []removed {
		t.Helper()
		return table[removed](t, db, "select "+removedColumns+" from langgraph.delete_for_runs("+runs+")")
	}
	fill := func(t *testing.T) *pgxpool.Pool {
		t.Helper()
		db := newDatabase(t)
		storeAll(t, db,
			saved{id: "1", metadata: by("r1"), versions: `{"a": "1"}`}, saved{id: "2", parent: "1", metadata: by("r2"), versions: `{"a": "2"}`},
			saved{id: "3", parent: "2", metadata: by("r2"), versions: `{"a": "3"}`}, saved{id: "4", parent: "3", metadata: by("r3")},
			saved{ns: "n:1", id: "1", metadata: by("r2")},
			saved{thread: "u", id: "1", metadata: by("r2")}, saved{thread: "u", id: "2", parent: "1"},
			saved{thread: "v", id: "1", metadata: `{"run_id": 2}`})
		storeBlobs(t, db, blob{channel: "a", version: "1"}, blob{channel: "a", version: "2"}, blob{channel: "a", version: "3"},
			blob{ns: "elsewhere", channel: "a", version: "9"})
		storeWrites(t, db, wrote{id: "2", channel: "a"}, wrote{id: "4", channel: "a"}, wrote{id: "5", channel: "a"})
		return db
	}

	t.Run("removes what they saved in every thread and namespace", func(t *testing.T) {
		t.Parallel()
		db := fill(t)
		want := []removed{{ThreadID: "t", Checkpoints: 3, CheckpointBlobs: 2, CheckpointWrites: 1}, {ThreadID: "u", Checkpoints: 1}}
		require.Equal(t, want, deleteFor(t, db, "array['r2', 'r2', 'unknown'], true"))
		require.Len(t, left(t, db, "t"), 5, "dry")
		require.Equal(t, want, deleteFor(t, db, "array['r2', 'r2', 'unknown']"))
		require.Equal(t, []string{"/1", "/4"}, left(t, db, "t"))
		require.Equal(t, []string{"/a 1", "elsewhere/a 9"}, leftBlobs(t, db, "t"))
		require.Equal(t, []string{"/4 a", "/5 a"}, leftWrites(t, db, "t"))
		require.Equal(t, []string{"/2"}, left(t, db, "u"))
		require.Empty(t, deleteFor(t, db, "array['r2']"))
	})
	t.Run("of none, or unknown, is no error", func(t *testing.T) {
		t.Parallel()
		db := fill(t)
		require.Empty(t, deleteFor(t, db, "'{}'"))
		require.Empty(t, deleteFor(t, db, "array['unknown', '']"))
		require.Len(t, left(t, db, "t"), 5)
	})
	t.Run("takes a run id for text, not for a number", func(t *testing.T) {
		t.Parallel()
		db := fill(t)
		require.Empty(t, deleteFor(t, db, "array['2']"))
		storeAll(t, db, saved{thread: "v", id: "2", metadata: by("2")})
		require.Equal(t, []removed{{ThreadID: "v", Checkpoints: 1}}, deleteFor(t, db, "array['2']"))
		require.Equal(t, []string{"/1"}, left(t, db, "v"))
	})
	t.Run("keeps what is pinned", func(t *testing.T) {
		t.Parallel()
		db := fill(t)
		exec(t, db, "select langgraph.pin_checkpoint('t', '', '3')")
		require.Equal(t, []removed{
			{ThreadID: "t", Checkpoints: 2, CheckpointBlobs: 1, CheckpointWrites: 1, Kept: 1}, {ThreadID: "u", Checkpoints: 1},
		}, deleteFor(t, db, "array['r2']"))
		require.Equal(t, []string{"/1", "/3", "/4<3"}, left(t, db, "t"))
	})
	t.Run("keeps what a delta channel of another run needs", func(t *testing.T) {
		t.Parallel()
		db := newDatabase(t)
		storeAll(t, db, saved{id: "1", metadata: by("r1")}, saved{id: "2", parent: "1", metadata: by("r1")},
			saved{id: "3", parent: "2", metadata: counted}, saved{id: "4", metadata: by("r1")})
		storeWrites(t, db, wrote{id: "2", channel: "d"})
		require.Equal(t, []removed{{ThreadID: "t", Checkpoints: 2, Kept: 1}}, deleteFor(t, db, "array['r1']"))
		require.Equal(t, []string{"/2", "/3<2"}, left(t, db, "t"))
		require.Equal(t, []removed{{ThreadID: "t", Checkpoints: 2, CheckpointWrites: 1}}, deleteFor(t, db, "array['r1', 'r2']"))
	})
}

func TestPins(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	line(t, db, "t", "", 1)
	pins := func() []string {
		return column[string](t, db, `
			select concat_ws(' ', thread_id, checkpoint_ns, checkpoint_id, coalesce(reason, 'NULL'), pinned_by = current_user)
			from langgraph.checkpoint_pins`)
	}
	exec(t, db, "select langgraph.pin_checkpoint('t', '', '1')")
	require.Equal(t, []string{"t  1 NULL t"}, pins())
	exec(t, db, "select langgraph.pin_checkpoint('t', '', '1', 'evidence')")
	require.Equal(t, []string{"t  1 evidence t"}, pins(), "the reason is the newest")
	require.False(t, value[bool](t, db, "select langgraph.unpin_checkpoint('t', 'sub', '1')"))
	require.True(t, value[bool](t, db, "select langgraph.unpin_checkpoint('t', '', '1')"))
	require.False(t, value[bool](t, db, "select langgraph.unpin_checkpoint('t', '', '1')"))
	require.Empty(t, pins())
}

func TestThreadTTLs(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	ttls := func() []string {
		return column[string](t, db, "select thread_id || ' ' || idle_ttl from langgraph.thread_ttls order by thread_id")
	}
	exec(t, db, "select langgraph.set_thread_ttl('not yet there', '1 day')")
	exec(t, db, "select langgraph.set_thread_ttl('t', '1 day')")
	exec(t, db, "select langgraph.set_thread_ttl('t', '90 minutes')")
	require.Equal(t, []string{"not yet there 1 day", "t 01:30:00"}, ttls())
	exec(t, db, "select langgraph.set_thread_ttl('t', null)")
	exec(t, db, "select langgraph.set_thread_ttl('t', null)")
	require.Equal(t, []string{"not yet there 1 day"}, ttls())
}

func TestRetentionPolicies(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	policies := func() []string {
		return column[string](t, db, `
			select concat_ws('|', name, coalesce(thread_pattern, '-'), coalesce(metadata_filter::text, '-'),
				coalesce(idle_ttl::text, '-'), coalesce(max_age::text, '-'), coalesce(keep_last::text, '-'), enabled)
			from langgraph.retention_policies order by name`)
	}
	exec(t, db, "select langgraph.set_retention_policy('a', 'user-%', '{\"team\": 1}', '1 day', '1 week', 5, false)")
	exec(t, db, "select langgraph.set_retention_policy('b', p_max_age => '1 week')")
	require.Equal(t, []string{`a|user-%|{"team": 1}|1 day|7 days|5|f`, "b|-|-|-|7 days|-|t"}, policies())
	exec(t, db, "select langgraph.set_retention_policy('a', p_keep_last => 2)")
	require.Equal(t, []string{"a|-|-|-|-|2|t", "b|-|-|-|7 days|-|t"}, policies(), "what is not given is not kept")
	require.True(t, value[bool](t, db, "select langgraph.drop_retention_policy('a')"))
	require.False(t, value[bool](t, db, "select langgraph.drop_retention_policy('a')"))
	require.Equal(t, []string{"b|-|-|-|7 days|-|t"}, policies())
}

func TestSweepApplies(t *testing.T) {
	t.Parallel()
	const hour = time.Hour
	four := func(thread string) []saved {
		return []saved{
			{thread: thread, id: "1", age: 9 * hour},
			{thread: thread, id: "2", parent: "1", age: 7 * hour},
			{thread: thread, id: "3", parent: "2", age: 5 * hour, metadata: `{"team": "blue"}`},
			{thread: thread, id: "4", parent: "3", age: 3 * hour, metadata: `{"team": "red"}`},
		}
	}
	all, none := []string{"/1", "/2<1", "/3<2", "/4<3"}, []string{}
	for name, c := range map[string]struct {
		policies []string // the arguments behind the name
		ttl      string
		also     []saved
		writes   []wrote
		want     []string
	}{
		"nothing without a rule":                           {want: all},
		"a number of checkpoints":                          {policies: []string{"p_keep_last => 2"}, want: []string{"/3", "/4<3"}},
		"an age":                                           {policies: []string{"p_max_age => '6 h'"}, want: []string{"/3", "/4<3"}},
		"an age, but for the newest":                       {policies: []string{"p_max_age => '1 h'"}, want: []string{"/4"}},
		"an age and a number, the stricter":                {policies: []string{"p_max_age => '8 h', p_keep_last => 2"}, want: []string{"/3", "/4<3"}},
		"a number and an age, the stricter":                {policies: []string{"p_max_age => '4 h', p_keep_last => 3"}, want: []string{"/4"}},
		"the strictest of several policies":                {policies: []string{"p_keep_last => 3", "p_keep_last => 1", "p_max_age => '8 h'"}, want: []string{"/4"}},
		"an idle time that has passed":                     {policies: []string{"p_idle_ttl => '2 h'"}, want: none},
		"no idle time that has not":                        {policies: []string{"p_idle_ttl => '4 h'"}, want: all},
		"the shortest idle time":                           {policies: []string{"p_idle_ttl => '4 h'", "p_idle_ttl => '2 h'"}, want: none},
		"no idle time since a write":                       {policies: []string{"p_idle_ttl => '2 h'"}, writes: []wrote{{id: "4", channel: "a", age: hour}}, want: all},
		"no idle time since a write before its checkpoint": {policies: []string{"p_idle_ttl => '2 h'"}, writes: []wrote{{id: "5", channel: "a", age: hour}}, want: all},
		"no idle time since a subgraph was active": {
			policies: []string{"p_idle_ttl => '2 h'"}, also: []saved{{ns: "n:1", id: "1", age: hour}}, want: append(slices.Clone(all), "n:1/1"),
		},
		"the thread's own TTL above a shorter one":      {policies: []string{"p_idle_ttl => '2 h'"}, ttl: "4 h", want: all},
		"the thread's own TTL above a longer one":       {policies: []string{"p_idle_ttl => '4 h'"}, ttl: "2 h", want: none},
		"the thread's own TTL alone":                    {ttl: "2 h", want: none},
		"other rules beside a TTL that has not passed":  {policies: []string{"p_keep_last => 1"}, ttl: "4 h", want: []string{"/4"}},
		"no policy that is not enabled":                 {policies: []string{"p_keep_last => 1, p_enabled => false"}, want: all},
		"a policy for threads of this name":             {policies: []string{"'t%', p_keep_last => 1"}, want: []string{"/4"}},
		"no policy for threads of another name":         {policies: []string{"'u%', p_keep_last => 1"}, want: all},
		"a policy for the newest checkpoint's metadata": {policies: []string{`null, '{"team": "red"}', p_keep_last => 1`}, want: []string{"/4"}},
		"no policy for an older checkpoint's metadata":  {policies: []string{`null, '{"team": "blue"}', p_keep_last => 1`}, want: all},
		"no policy of which only the name fits":         {policies: []string{`'t', '{"team": "blue"}', p_keep_last => 1`}, want: all},
		"no policy for the metadata of a subgraph": {
			policies: []string{`null, '{"team": "blue"}', p_keep_last => 1`}, also: []saved{{ns: "n", id: "9", metadata: `{"team": "blue"}`}},
			want: append(slices.Clone(all), "n/9"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newDatabase(t)
			storeAll(t, db, append(four("t"), c.also...)...)
			storeWrites(t, db, c.writes...)
			for i, p := range c.policies {
				exec(t, db, fmt.Sprintf("select langgraph.set_retention_policy('p%d', %s)", i, p))
			}
			if c.ttl != "" {
				exec(t, db, "select langgraph.set_thread_ttl('t', $1)", c.ttl)
			}
			before := left(t, db, "t")
			preview := table[removed](t, db, "select "+removedColumns+" from langgraph.sweep_preview()")
			want := []removed{}
			if n := len(before) - len(c.want); n > 0 {
				want = []removed{{ThreadID: "t", Checkpoints: int64(n)}}
			}
			require.Equal(t, want, preview)
			require.Equal(t, before, left(t, db, "t"), "the preview changes nothing")
			exec(t, db, "call langgraph.sweep()")
			require.Equal(t, c.want, left(t, db, "t"))
		})
	}
}

func TestSweepTakesAnIdleThreadButWhatIsPinned(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	storeAll(t, db, saved{id: "1", age: 9 * time.Hour}, saved{id: "2", parent: "1", age: 8 * time.Hour},
		saved{thread: "u", id: "1", age: 9 * time.Hour})
	storeWrites(t, db, wrote{id: "2", idx: -3, channel: "__interrupt__", age: 8 * time.Hour}, wrote{thread: "u", id: "7", channel: "a", age: 8 * time.Hour})
	storeBlobs(t, db, blob{thread: "u", ns: "elsewhere", channel: "a", version: "1"})
	exec(t, db, "select langgraph.pin_checkpoint('t', '', '1'), langgraph.set_thread_ttl('t', '1 h'), langgraph.set_thread_ttl('u', '1 h')")
	require.Equal(t, []removed{
		{ThreadID: "t", Checkpoints: 1, CheckpointWrites: 1, Kept: 1}, {ThreadID: "u", Checkpoints: 1, CheckpointBlobs: 1, CheckpointWrites: 1},
	}, table[removed](t, db, "select "+removedColumns+" from langgraph.sweep_preview()"))
	exec(t, db, "call langgraph.sweep()")
	require.Equal(t, []string{"/1"}, left(t, db, "t"))
	require.Empty(t, slices.Concat(left(t, db, "u"), leftBlobs(t, db, "u"), leftWrites(t, db, "u")))
	require.Equal(t, []string{"t"}, column[string](t, db, "select thread_id from langgraph.thread_ttls"))
	require.Empty(t, table[removed](t, db, "select "+removedColumns+" from langgraph.sweep_preview()"))
}

// sweepState is what sweep notes about itself.
type sweepState struct {
	Position                               string
	Done                                   bool
	Threads, Checkpoints, Rows, StoreItems int64
}

func sweepStateOf(t *testing.T, db querier) sweepState {
	t.Helper()
	return table[sweepState](t, db, `
		select value ->> 'position' as position, (value -> 'done')::boolean as done, (value -> 'threads')::bigint as threads,
			(value -> 'checkpoints')::bigint as checkpoints, (value -> 'rows')::bigint as rows,
			(value -> 'store_items')::bigint as store_items
		from langgraph.settings where key = 'sweep'`)[0]
}

func TestSweepGoesOnWhereItStopped(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	for _, thread := range []string{"a", "b", "c", "d", "e"} {
		line(t, db, thread, "", 3)
	}
	exec(t, db, "select langgraph.set_retention_policy('p', p_keep_last => 1)")
	for _, want := range []sweepState{
		{Position: "b", Threads: 2, Checkpoints: 4, Rows: 4},
		{Position: "d", Threads: 2, Checkpoints: 4, Rows: 4},
		{Position: "e", Threads: 1, Checkpoints: 2, Rows: 2},
		{Done: true},
		{Position: "b", Threads: 2},
	} {
		exec(t, db, "call langgraph.sweep(2, '0')")
		require.Equal(t, want, sweepStateOf(t, db))
	}
	exec(t, db, "call langgraph.sweep(2)")
	require.Equal(t, sweepState{Done: true, Threads: 3}, sweepStateOf(t, db))
	exec(t, db, "call langgraph.sweep()")
	require.Equal(t, sweepState{Done: true, Threads: 5}, sweepStateOf(t, db), "a whole round begins at the first")
}

func TestSweepTakesExpiredItemsOfTheStore(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	exec(t, db, `
		insert into langgraph.store (prefix, key, value, expires_at)
		select 'p', n::text, '{}'::jsonb, now() - n * interval '1 minute' from generate_series(-5, 20) n
		union all select 'p', 'for ever', '{}', null`)
	line(t, db, "t", "", 2)
	exec(t, db, "select langgraph.set_retention_policy('p', p_keep_last => 1)")
	exec(t, db, "call langgraph.sweep(4)")
	require.Equal(t, []string{"-1", "-2", "-3", "-4", "-5", "for ever"}, column[string](t, db, "select key from langgraph.store order by key"))
	require.Equal(t, sweepState{Done: true, Threads: 1, Checkpoints: 1, Rows: 1, StoreItems: 21}, sweepStateOf(t, db),
		"the thread is looked at once, however many items there are")
}

func TestSweepIsRefusedInsideATransaction(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	inTx(t, db, func(tx pgx.Tx) { requireState(t, "2D000", attempt(t.Context(), tx, "call langgraph.sweep()")) })
}

func TestStoreSweep(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	exec(t, db, `
		insert into langgraph.store (prefix, key, value, expires_at)
		select 'p', n::text, '{}', now() - n * interval '1 minute' from generate_series(0, 5) n`)
	keys := func() []string { return column[string](t, db, "select key from langgraph.store order by key") }
	require.EqualValues(t, 2, value[int64](t, db, "select langgraph.store_sweep(2)"))
	require.Equal(t, []string{"0", "1", "2", "3"}, keys(), "the longest expired go first")
	inTx(t, db, func(tx pgx.Tx) {
		exec(t, tx, "select from langgraph.store where key = '3' for update")
		require.EqualValues(t, 3, value[int64](t, db, "select langgraph.store_sweep()"), "it does not wait for the one that is locked")
	})
	require.Equal(t, []string{"3"}, keys())
	require.EqualValues(t, 1, value[int64](t, db, "select langgraph.store_sweep()"))
	require.EqualValues(t, 0, value[int64](t, db, "select langgraph.store_sweep()"))
}

func TestLockThread(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	free := func(thread string) bool { return value[bool](t, db, "select langgraph.lock_thread($1, false)", thread) }
	inTx(t, db, func(tx pgx.Tx) {
		require.True(t, value[bool](t, tx, "select langgraph.lock_thread('t')"))
		require.True(t, value[bool](t, tx, "select langgraph.lock_thread('t', false)"), "for whoever holds it")
		require.False(t, free("t"))
		require.True(t, free("u"))
	})
	require.True(t, free("t"), "the transaction's end gives it back")
}

func TestNextThreads(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	for _, thread := range []string{"b", "a", "C", "é"} {
		line(t, db, thread, "", 2)
	}
	storeWrites(t, db, wrote{thread: "no checkpoint", id: "1", channel: "a"})
	next := func(after string, limit int) []string {
		return column[string](t, db, "select * from langgraph.next_threads($1, $2)", after, limit)
	}
	require.Equal(t, []string{"C", "a", "b", "é"}, next("", 9))
	require.Equal(t, []string{"C", "a"}, next("", 2))
	require.Equal(t, []string{"b", "é"}, next("a", 9))
	require.Equal(t, []string{"b", "é"}, next("aa", 9))
	require.Empty(t, next("é", 9))
}

type listedThread struct {
	ThreadID                string
	Namespaces, Checkpoints int64
	Status                  string
	NewestCheckpointID      string
}

func TestListThreads(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	ago := func(hours int) time.Duration { return time.Duration(hours) * time.Hour }
	storeAll(t, db,
		saved{thread: "idle", id: "1", age: ago(9)}, saved{thread: "idle", id: "2", parent: "1", age: ago(8), metadata: `{"team": "red", "n": 1}`},
		saved{thread: "idle", ns: "n:1", id: "9", age: ago(1)},
		saved{thread: "waiting", id: "1", age: ago(7)}, saved{thread: "waiting", id: "2", age: ago(6), metadata: `{"team": "red"}`},
		saved{thread: "resumed", id: "1", age: ago(5)}, saved{thread: "resumed", id: "2", age: ago(4)},
		saved{thread: "failed", id: "1", age: ago(3), metadata: `{"team": "blue"}`},
		saved{thread: "no root", ns: "n:1", id: "5", age: ago(2)})
	storeWrites(t, db,
		wrote{thread: "idle", ns: "n:1", id: "9", idx: -3, channel: "__interrupt__"}, wrote{thread: "idle", id: "2", channel: "a"},
		wrote{thread: "waiting", id: "2", idx: -3, channel: "__interrupt__"}, wrote{thread: "waiting", id: "2", idx: 0, channel: "a"},
		wrote{thread: "resumed", id: "1", idx: -3, channel: "__interrupt__"}, wrote{thread: "resumed", id: "2", idx: -4, channel: "__resume__"},
		wrote{thread: "failed", id: "1", task: "a", idx: -3, channel: "__interrupt__"}, wrote{thread: "failed", id: "1", task: "b", idx: -1, channel: "__error__"})
	list := func(args string) []listedThread {
		return table[listedThread](t, db, `
			select thread_id, namespaces, checkpoints, status, newest_checkpoint_id from langgraph.list_threads(`+args+`)`)
	}
	all := []listedThread{
		{"idle", 2, 3, "idle", "2"},
		{"no root", 1, 1, "idle", "5"},
		{"failed", 1, 1, "error", "1"},
		{"resumed", 1, 2, "idle", "2"},
		{"waiting", 1, 2, "interrupted", "2"},
	}

	t.Run("the most recently active first", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, all, list(""))
	})
	t.Run("at most so many", func(t *testing.T) {
		t.Parallel()
		for limit := range 7 {
			require.Equal(t, all[:min(limit, len(all))], list(fmt.Sprintf("p_limit => %d", limit)), limit)
		}
	})
	t.Run("whose newest checkpoint has this metadata", func(t *testing.T) {
		t.Parallel()
		want := []listedThread{all[0], all[4]}
		require.Equal(t, want, list(`'{"team": "red"}'`))
		require.Equal(t, want, list(`'{"team": "red"}', p_limit => 9`))
		require.Equal(t, want[:1], list(`'{"team": "red"}', p_limit => 1`))
		require.Equal(t, want[:1], list(`'{"team": "red", "n": 1}'`))
		require.Equal(t, all, list(`'{}'`))
		require.Empty(t, list(`'{"team": "green"}', p_limit => 9`))
	})
	t.Run("before a time, for the next page", func(t *testing.T) {
		t.Parallel()
		var paged []listedThread
		before := "null"
		for {
			page := list("p_limit => 2, p_before => " + before)
			if len(page) == 0 {
				break
			}
			paged = append(paged, page...)
			before = fmt.Sprintf("(select last_activity from langgraph.list_threads() where thread_id = '%s')", page[len(page)-1].ThreadID)
		}
		require.Equal(t, all, paged)
		require.Equal(t, all[3:], list("p_before => now() - interval '3.5 h'"))
		require.Equal(t, all[3:], list("p_before => now() - interval '3.5 h', p_limit => 9"),
			"a thread that was active since does not come with an older checkpoint")
	})
	t.Run("with the metadata of the newest checkpoint and the times", func(t *testing.T) {
		t.Parallel()
		type times struct {
			First, Last time.Time
			Metadata    map[string]any
		}
		got := table[times](t, db, `
			select first_activity as first, last_activity as last, metadata from langgraph.list_threads() where thread_id = 'idle'`)
		require.Equal(t, map[string]any{"team": "red", "n": 1.0}, got[0].Metadata)
		require.InDelta(t, 8, got[0].Last.Sub(got[0].First).Hours(), 0.1)
	})
}

func TestListThreadsOfAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	require.Empty(t, table[listedThread](t, db, "select thread_id, namespaces, checkpoints, status, newest_checkpoint_id from langgraph.list_threads()"))
	require.Empty(t, table[listedThread](t, db, "select thread_id, namespaces, checkpoints, status, newest_checkpoint_id from langgraph.list_threads(p_limit => 5)"))
}
