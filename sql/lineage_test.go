package sql_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// parents is a namespace as ids and their parents; "" is no parent.
type parents map[string]string

// store inserts the checkpoints plainly: put_checkpoint would refuse some of them.
func (p parents) store(t *testing.T, db querier, thread string) {
	t.Helper()
	ids := slices.Sorted(maps.Keys(p))
	above := make([]string, len(ids))
	for i, id := range ids {
		above[i] = p[id]
	}
	exec(t, db, `
		insert into langgraph.checkpoints (thread_id, checkpoint_id, parent_checkpoint_id, checkpoint, metadata)
		select $1, id, nullif(parent, ''), jsonb_build_object('id', id), jsonb_build_object('source', 'loop', 'step', n)
		from unnest($2::text[], $3::text[]) with ordinality as c (id, parent, n)`, thread, ids, above)
}

type ancestor struct {
	Depth              int
	CheckpointID       string
	ParentCheckpointID string
	Problem            string
}

const ancestorsSQL = `
	select depth, checkpoint_id, coalesce(parent_checkpoint_id, '') as parent_checkpoint_id, coalesce(problem, '') as problem
	from langgraph.ancestors($1, '', $2, $3)`

// ancestors is the walk that the function of the same name has to make.
func (p parents) ancestors(from string, maxDepth int) []ancestor {
	var walk []ancestor
	seen := map[string]bool{}
	for id := from; ; id = p[id] {
		seen[id] = true
		a := ancestor{Depth: len(walk), CheckpointID: id, ParentCheckpointID: p[id]}
		_, exists := p[p[id]]
		switch {
		case p[id] != "" && !exists:
			a.Problem = "missing parent"
		case a.Depth < maxDepth && seen[p[id]]:
			a.Problem = "cycle"
		}
		walk = append(walk, a)
		if p[id] == "" || a.Problem != "" || a.Depth == maxDepth {
			return walk
		}
	}
}

func TestAncestors(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	chain := parents{"c1": "", "c2": "c1", "c3": "c2", "c4": "c3", "x4": "c2"}
	chain.store(t, db, "chain")
	parents{"c2": "c1", "c3": "c2"}.store(t, db, "severed")

	t.Run("of the newest", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, []ancestor{{0, "x4", "c2", ""}, {1, "c2", "c1", ""}, {2, "c1", "", ""}},
			table[ancestor](t, db, ancestorsSQL, "chain", nil, nil))
	})
	t.Run("of a named one", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, []ancestor{{0, "c3", "c2", ""}, {1, "c2", "c1", ""}, {2, "c1", "", ""}},
			table[ancestor](t, db, ancestorsSQL, "chain", "c3", nil))
	})
	t.Run("of a root", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, []ancestor{{0, "c1", "", ""}}, table[ancestor](t, db, ancestorsSQL, "chain", "c1", nil))
	})
	t.Run("as far as asked", func(t *testing.T) {
		t.Parallel()
		for depth := range 6 {
			require.Equal(t, chain.ancestors("c4", depth), table[ancestor](t, db, ancestorsSQL, "chain", "c4", depth))
		}
	})
	t.Run("up to a parent that is missing", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, []ancestor{{0, "c3", "c2", ""}, {1, "c2", "c1", "missing parent"}},
			table[ancestor](t, db, ancestorsSQL, "severed", nil, nil))
	})
	t.Run("with their metadata and times, in their namespace", func(t *testing.T) {
		t.Parallel()
		for _, ns := range []string{"", "sub"} {
			put(t, db, pgx.NamedArgs{"thread": "full", "ns": ns, "id": "c1", "metadata": fmt.Sprintf(`{"ns": %q}`, ns)})
			put(t, db, pgx.NamedArgs{"thread": "full", "ns": ns, "id": "c2", "parent": "c1"})
		}
		type row struct {
			Depth              int
			CheckpointID       string
			ParentCheckpointID *string
			Metadata           map[string]any
			CreatedAt          time.Time
			Problem            *string
		}
		rows := table[row](t, db, "select * from langgraph.ancestors('full', 'sub', 'c2')")
		require.Len(t, rows, 2)
		require.Equal(t, map[string]any{"ns": "sub"}, rows[1].Metadata)
		require.Equal(t, get(t, db, "full", "sub", "c1").CreatedAt, rows[1].CreatedAt)
		require.Nil(t, rows[1].ParentCheckpointID)
		require.Nil(t, rows[1].Problem)
	})
	t.Run("of what does not exist are refused", func(t *testing.T) {
		t.Parallel()
		requireRefused(t, refusal{code: "LG001", message: "checkpoint 'c9' does not exist", detail: "Thread 'chain', namespace ''", hint: "list_checkpoints"},
			attempt(t.Context(), db, ancestorsSQL, "chain", "c9", nil))
		requireRefused(t, refusal{code: "LG001", message: "thread 'nobody' has no checkpoint", detail: "Thread 'nobody'", hint: "list_checkpoints"},
			attempt(t.Context(), db, ancestorsSQL, "nobody", nil, nil))
	})
	for name, args := range map[string][]any{
		"a null thread":    {nil},
		"an empty thread":  {""},
		"a null namespace": {"chain", nil},
		"an empty id":      {"chain", "", ""},
		"a negative depth": {"chain", "", "c4", -1},
	} {
		t.Run("refuse "+name, func(t *testing.T) {
			t.Parallel()
			requireRefused(t, refusal{code: "LG002", message: "invalid checkpoint to walk from", detail: "max_depth", hint: "not negative"},
				attempt(t.Context(), db, "select * from langgraph.ancestors("+placeholders(len(args))+")", args...))
		})
	}
}

func TestAncestorsEndInACycle(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	for length := 1; length <= 5; length++ {
		for tail := range 4 {
			thread := fmt.Sprintf("%d behind %d", length, tail)
			p := parents{}
			for i := range length {
				p[fmt.Sprint("loop", i)] = fmt.Sprint("loop", (i+1)%length)
			}
			for i := range tail {
				p[fmt.Sprint("tail", i)] = fmt.Sprint("tail", i+1)
			}
			from := "loop0"
			if tail > 0 {
				p[fmt.Sprint("tail", tail-1)] = "loop0"
				from = "tail0"
			}
			p.store(t, db, thread)
			t.Run(thread, func(t *testing.T) {
				t.Parallel()
				got := table[ancestor](t, db, ancestorsSQL, thread, from, nil)
				require.Len(t, got, length+tail)
				require.Equal(t, "cycle", got[len(got)-1].Problem)
				require.Equal(t, p.ancestors(from, 1<<30), got)
				for depth := range 4 * (length + tail) {
					require.Equal(t, p.ancestors(from, depth), table[ancestor](t, db, ancestorsSQL, thread, from, depth), "max_depth %d", depth)
				}
			})
		}
	}
}

func TestAncestorsOfAVeryLongConversation(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	const depth = 10000
	p := parents{"00000": ""}
	for i := 1; i < depth; i++ {
		p[fmt.Sprintf("%05d", i)] = fmt.Sprintf("%05d", i-1)
	}
	p.store(t, db, "long")
	got := table[ancestor](t, db, ancestorsSQL, "long", nil, nil)
	require.Len(t, got, depth)
	require.Equal(t, p.ancestors("09999", depth), got)

	tree := table[branch](t, db, treeSQL, "long")
	require.Len(t, tree, depth)
	require.Equal(t, branch{
		Ordinal: depth, Depth: depth - 1, CheckpointID: "09999", ParentCheckpointID: "09998", IsHead: true, IsLatest: true, Drawing: "09999",
	}, tree[depth-1])

	p["00000"] = "09999"
	exec(t, db, "update langgraph.checkpoints set parent_checkpoint_id = '09999' where checkpoint_id = '00000'")
	got = table[ancestor](t, db, ancestorsSQL, "long", "05000", nil)
	require.Len(t, got, depth)
	require.Equal(t, ancestor{depth - 1, "05001", "05000", "cycle"}, got[depth-1])
}

// randomParents makes a forest, or with loops a graph in which any checkpoint may be any other's parent.
func randomParents(random *rand.Rand, size int, loops bool) parents {
	p := parents{}
	ids := make([]string, size)
	for i := range ids {
		ids[i] = fmt.Sprintf("c%03d", i)
	}
	reach := pick(random, 1, 3, size) // how far back a parent is: a chain, a few branches, bushes
	for i, id := range ids {
		switch {
		case random.IntN(12) == 0:
			p[id] = pick(random, "", "", "lost"+id)
		case loops:
			p[id] = pick(random, ids...)
		case i > 0:
			p[id] = ids[i-1-random.IntN(min(i, reach))]
		default:
			p[id] = ""
		}
	}
	return p
}

func TestAncestorsAreTheWalkOnRandomTrees(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	random := newRandom(t)
	for n := range 12 {
		thread := fmt.Sprint("t", n)
		p := randomParents(random, 2+random.IntN(50), n%3 == 0)
		p.store(t, db, thread)
		maxDepth := pick(random, 1<<30, 1<<30, 3, 7, 20)
		type row struct {
			Start string
			ancestor
		}
		got := map[string][]ancestor{}
		for _, r := range table[row](t, db, `
			select s.checkpoint_id as start, a.depth, a.checkpoint_id, coalesce(a.parent_checkpoint_id, '') as parent_checkpoint_id,
				coalesce(a.problem, '') as problem
			from langgraph.checkpoints s
			cross join lateral langgraph.ancestors(s.thread_id, '', s.checkpoint_id, $2) with ordinality a
			where s.thread_id = $1
			order by s.checkpoint_id, a.ordinality`, thread, maxDepth) {
			got[r.Start] = append(got[r.Start], r.ancestor)
		}
		for id := range p {
			require.Empty(t, cmp.Diff(p.ancestors(id, maxDepth), got[id]), "from %s of %v", id, p)
		}
	}
}

// branch is a row of thread_tree.
type branch struct {
	Ordinal, Depth                   int
	CheckpointID, ParentCheckpointID string
	ChildCount                       int
	Branch                           string
	IsHead, IsLatest                 bool
	Drawing, Problem                 string
}

const treeSQL = `
	select ordinal, depth, checkpoint_id, coalesce(parent_checkpoint_id, '') as parent_checkpoint_id, child_count, branch,
		is_head, is_latest, drawing, coalesce(problem, '') as problem
	from langgraph.thread_tree($1)`

// tree draws, by recursion, what thread_tree has to draw.
func (p parents) tree() []branch {
	d := &drawer{parents: p, children: map[string][]string{}, drawn: map[string]bool{}}
	ids := slices.Sorted(maps.Keys(p))
	var roots []string
	for _, id := range ids {
		if _, exists := p[p[id]]; exists {
			d.children[p[id]] = append(d.children[p[id]], id)
		} else {
			roots = append(roots, id)
		}
	}
	siblings := 0
	for _, id := range roots {
		siblings++
		label, problem := "", ""
		if len(roots) > 1 {
			label = strconv.Itoa(siblings)
		}
		if p[id] != "" {
			problem = "missing parent"
		}
		d.draw(id, "", branch{Branch: label, Drawing: id, Problem: problem})
	}
	for _, id := range ids {
		if !d.drawn[id] {
			siblings++
			id = p.oldestOfLoop(id)
			d.draw(id, "", branch{Branch: strconv.Itoa(siblings), Drawing: id, Problem: "cycle"})
		}
	}
	for i := range d.rows {
		d.rows[i].IsLatest = d.rows[i].CheckpointID == ids[len(ids)-1]
	}
	return d.rows
}

// oldestOfLoop is the oldest member of the loop that a checkpoint without a root descends from.
func (p parents) oldestOfLoop(id string) string {
	for range p {
		id = p[id]
	}
	oldest := id
	for at := p[id]; at != id; at = p[at] {
		oldest = min(oldest, at)
	}
	return oldest
}

type drawer struct {
	parents  parents
	children map[string][]string
	drawn    map[string]bool
	rows     []branch
}

func (d *drawer) draw(id, indent string, row branch) {
	d.drawn[id] = true
	children := d.children[id]
	row.Ordinal, row.CheckpointID, row.ParentCheckpointID = len(d.rows)+1, id, d.parents[id]
	row.ChildCount, row.IsHead = len(children), len(children) == 0
	d.rows = append(d.rows, row)
	for i, child := range children {
		if d.drawn[child] {
			continue // the loop closes
		}
		below := branch{Depth: row.Depth + 1, Branch: row.Branch, Drawing: indent + child}
		if len(children) == 1 {
			d.draw(child, indent, below)
			continue
		}
		below.Branch = strings.TrimPrefix(row.Branch+"."+strconv.Itoa(i+1), ".")
		if i < len(children)-1 {
			below.Drawing = indent + "├─ " + child
			d.draw(child, indent+"│  ", below)
		} else {
			below.Drawing = indent + "└─ " + child
			d.draw(child, indent+"   ", below)
		}
	}
}

func TestThreadTree(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	for name, c := range map[string]struct {
		parents  parents
		drawings []string
		branches []string
		problems string
	}{
		"a conversation that was rolled back twice": {
			parents: parents{"c1": "", "c2": "c1", "c3": "c2", "c4": "c3", "c5": "c2", "c6": "c5", "c7": "c5", "c8": "c2", "c9": "c6"},
			drawings: []string{
				"c1",
				"c2",
				"├─ c3",
				"│  c4",
				"├─ c5",
				"│  ├─ c6",
				"│  │  c9",
				"│  └─ c7",
				"└─ c8",
			},
			branches: []string{"", "", "1", "1", "2", "2.1", "2.1", "2.2", "3"},
		},
		"one checkpoint": {parents{"c1": ""}, []string{"c1"}, []string{""}, ""},
		"two roots": {
			parents{"c1": "", "c2": "", "c3": "c1", "c4": "c2", "c5": "c2"},
			[]string{"c1", "c3", "c2", "├─ c4", "└─ c5"},
			[]string{"1", "1", "2", "2.1", "2.2"},
			"",
		},
		"a missing parent": {
			parents{"c2": "c1", "c3": "c2", "c4": "lost"}, []string{"c2", "c3", "c4"}, []string{"1", "1", "2"}, "c2 missing parent, c4 missing parent",
		},
		"its own parent":       {parents{"c1": "c1"}, []string{"c1"}, []string{"1"}, "c1 cycle"},
		"a loop":               {parents{"c1": "c3", "c2": "c1", "c3": "c2"}, []string{"c1", "c2", "c3"}, []string{"1", "1", "1"}, "c1 cycle"},
		"a loop beside a root": {parents{"c1": "", "c2": "c3", "c3": "c2"}, []string{"c1", "c2", "c3"}, []string{"", "2", "2"}, "c2 cycle"},
		"what hangs on a loop and is older than it": {
			parents{"c1": "c3", "c2": "c4", "c3": "c4", "c4": "c3"}, []string{"c3", "├─ c1", "└─ c4", "   ├─ c2"}, []string{"1", "1.1", "1.2", "1.2.1"}, "c3 cycle",
		},
	} {
		t.Run("draws "+name, func(t *testing.T) {
			t.Parallel()
			c.parents.store(t, db, name)
			rows := table[branch](t, db, treeSQL, name)
			var drawings, branches, problems []string
			for _, r := range rows {
				drawings, branches = append(drawings, r.Drawing), append(branches, r.Branch)
				if r.Problem != "" {
					problems = append(problems, r.CheckpointID+" "+r.Problem)
				}
			}
			require.Equal(t, c.drawings, drawings)
			require.Equal(t, c.branches, branches)
			require.Equal(t, c.problems, strings.Join(problems, ", "))
			require.Equal(t, c.parents.tree(), rows)
		})
	}
	t.Run("of an empty thread has no rows", func(t *testing.T) {
		t.Parallel()
		require.Empty(t, table[branch](t, db, treeSQL, "nobody"))
	})
	t.Run("says what each checkpoint is", func(t *testing.T) {
		t.Parallel()
		for i, metadata := range []string{`{"source": "input", "step": -1}`, `{}`, `{"source": null, "step": "x"}`, `{"step": 2.0}`} {
			put(t, db, pgx.NamedArgs{"thread": "meta", "ns": "sub", "id": fmt.Sprint("c", i), "metadata": metadata})
		}
		put(t, db, pgx.NamedArgs{"thread": "meta", "id": "c9"})
		type row struct {
			CheckpointID string
			Source       *string
			Step         *int
			CreatedAt    time.Time
		}
		rows := table[row](t, db, "select checkpoint_id, source, step, created_at from langgraph.thread_tree('meta', 'sub')")
		require.Len(t, rows, 4, "of its namespace only")
		require.Equal(t, "input -1", fmt.Sprint(*rows[0].Source, " ", *rows[0].Step))
		require.Equal(t, get(t, db, "meta", "sub", "c0").CreatedAt, rows[0].CreatedAt)
		for _, r := range rows[1:] {
			require.Nil(t, r.Source)
		}
		require.Nil(t, rows[1].Step)
		require.Nil(t, rows[2].Step, "text is no step")
		require.Equal(t, 2, *rows[3].Step)
	})
	for name, args := range map[string][]any{"a null thread": {nil}, "an empty thread": {""}, "a null namespace": {"t", nil}} {
		t.Run("refuses "+name, func(t *testing.T) {
			t.Parallel()
			requireRefused(t, refusal{code: "LG002", message: "invalid thread to draw", detail: "thread_id", hint: "empty for the root graph"},
				attempt(t.Context(), db, "select * from langgraph.thread_tree("+placeholders(len(args))+")", args...))
		})
	}
}

func TestThreadTreeIsTheDrawingOfRandomForests(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	random := newRandom(t)
	for n := range 40 {
		thread := fmt.Sprint("t", n)
		p := randomParents(random, 1+random.IntN(60), n%2 == 0)
		p.store(t, db, thread)
		rows := table[branch](t, db, treeSQL, thread)
		require.Empty(t, cmp.Diff(p.tree(), rows), "%v", p)
		require.Len(t, rows, len(p), "each checkpoint once")
		requirePreorder(t, rows)
	}
}

// requirePreorder requires that each checkpoint's descendants are the rows below it that are deeper.
func requirePreorder(t *testing.T, rows []branch) {
	t.Helper()
	var path []string
	for _, r := range rows {
		require.LessOrEqual(t, r.Depth, len(path))
		path = append(path[:r.Depth], r.CheckpointID)
		if r.Depth > 0 {
			require.Equal(t, path[r.Depth-1], r.ParentCheckpointID)
		}
	}
}

const forkSQL = `select langgraph.fork_checkpoint(p_thread_id => @thread, p_checkpoint_ns => @ns, p_checkpoint_id => @id,
	p_new_checkpoint_id => @new, p_metadata => @metadata, p_copy_blobs => @copy)`

func forkArgs(replaced ...pgx.NamedArgs) pgx.NamedArgs {
	args := pgx.NamedArgs{"thread": "t", "ns": "", "id": "1-c2", "new": nil, "metadata": `{}`, "copy": false}
	for _, r := range replaced {
		maps.Copy(args, r)
	}
	return args
}

// version is a channel version as Python writes it.
func version(n int) string { return fmt.Sprintf("%032d.0.123456789012345", n) }

// conversation is a thread of three checkpoints with text versions: m and n change with each, k only with the first, and s
// is inline. The second has pending writes.
func conversation(t *testing.T, db querier, where pgx.NamedArgs) {
	t.Helper()
	for i := 1; i <= 3; i++ {
		id := fmt.Sprintf("1-c%d", i)
		args := stateArgs(id, [3]string{"m", version(i), fmt.Sprint("m", i)}, [3]string{"n", version(i), fmt.Sprint("n", i)},
			[3]string{"k", version(1), "k1"})
		args["checkpoint"] = fmt.Sprintf(`{
			"v": 4, "id": %q, "ts": "2026-04-07T10:00:00+00:00", "channel_values": {"s": %d}, "updated_channels": ["m", "n"],
			"channel_versions": {"m": %q, "n": %q, "k": %q, "s": %q},
			"versions_seen": {"__input__": {}, "node": {"m": %q, "n": %q, "other": "1"}}}`,
			id, i, version(i), version(i), version(1), version(i), version(i), version(i-1))
		args["metadata"] = fmt.Sprintf(`{"source": "loop", "step": %d, "parents": {"": "p%d"}, "run_id": "r", "custom": %d}`, i-1, i, i)
		if i > 1 {
			args["parent"] = fmt.Sprintf("1-c%d", i-1)
		}
		put(t, db, args, where)
	}
	exec(t, db, putWritesSQL, writesArgs([]string{"m", "__interrupt__"}, where, pgx.NamedArgs{"id": "1-c2"}))
}

func TestForkCheckpoint(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	all := func(t *testing.T, thread string) []string {
		t.Helper()
		return column[string](t, db, `
			select to_jsonb(x)::text from (select * from langgraph.checkpoints where thread_id = $1 order by checkpoint_ns, checkpoint_id) x
			union all select to_jsonb(x)::text from (select * from langgraph.checkpoint_blobs where thread_id = $1 order by checkpoint_ns, channel, version) x
			union all select to_jsonb(x)::text from (select * from langgraph.checkpoint_writes where thread_id = $1 order by task_id, idx) x`, thread)
	}
	fork := func(t *testing.T, args pgx.NamedArgs) *tuple {
		t.Helper()
		id := value[string](t, db, forkSQL, args)
		got := get(t, db, args["thread"], args["ns"], id)
		require.NotNil(t, got)
		return got
	}

	t.Run("has the state of its target, and changes nothing else", func(t *testing.T) {
		t.Parallel()
		where := pgx.NamedArgs{"thread": "same"}
		conversation(t, db, where)
		before, target, started := all(t, "same"), get(t, db, "same", "", "1-c2"), value[time.Time](t, db, "select clock_timestamp()")
		got := fork(t, forkArgs(where))
		require.Equal(t, target.values(), got.values())
		require.Equal(t, map[string]string{"m": "msgpack m2", "n": "msgpack n2", "k": "msgpack k1"}, got.values())

		ts, err := time.Parse(time.RFC3339Nano, got.Checkpoint["ts"].(string))
		require.NoError(t, err)
		require.False(t, ts.Before(started.Truncate(time.Microsecond)))
		require.Regexp(t, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$`, got.Checkpoint["ts"], "as Python writes it")
		want := maps.Clone(target.Checkpoint)
		want["id"], want["ts"] = got.CheckpointID, got.Checkpoint["ts"]
		require.Equal(t, want, got.Checkpoint)
		require.Equal(t, map[string]any{"source": "fork", "step": 2.0, "parents": map[string]any{"": "p2"}}, got.Metadata)
		require.Equal(t, "1-c2", *got.ParentCheckpointID)
		require.Empty(t, got.writes(), "what was pending is not pending here")
		require.Subset(t, all(t, "same"), before)
		require.Len(t, all(t, "same"), len(before)+1)
		require.Equal(t, got.CheckpointID, get(t, db, "same").CheckpointID, "the conversation goes on from it")
	})
	t.Run("again and again has ids that rise", func(t *testing.T) {
		t.Parallel()
		where := pgx.NamedArgs{"thread": "often"}
		conversation(t, db, where)
		last := "1-c3"
		for range 20 {
			id := value[string](t, db, forkSQL, forkArgs(where))
			require.Greater(t, id, last)
			last = id
		}
		require.Equal(t, 20, value[int](t, db, `select child_count - 1 from langgraph.thread_tree('often') where checkpoint_id = '1-c2'`))
	})
	t.Run("adds metadata, which stands above its own", func(t *testing.T) {
		t.Parallel()
		where := pgx.NamedArgs{"thread": "metadata"}
		conversation(t, db, where)
		got := fork(t, forkArgs(where, pgx.NamedArgs{"metadata": `{"source": "update", "why": ["a", null], "step": null}`}))
		require.Equal(t, map[string]any{
			"source": "update", "step": nil, "why": []any{"a", nil}, "parents": map[string]any{"": "p2"},
		}, got.Metadata)
		require.Equal(t, "fork", fork(t, forkArgs(where, pgx.NamedArgs{"metadata": nil})).Metadata["source"])
	})
	t.Run("of a target without a step has none", func(t *testing.T) {
		t.Parallel()
		put(t, db, pgx.NamedArgs{"thread": "stepless", "id": "1-c2", "metadata": `{"step": "x"}`})
		got := fork(t, forkArgs(pgx.NamedArgs{"thread": "stepless"}))
		require.Equal(t, map[string]any{"source": "fork", "parents": map[string]any{}}, got.Metadata)
	})
	t.Run("carries the counters of delta channels", func(t *testing.T) {
		t.Parallel()
		put(t, db, pgx.NamedArgs{"thread": "counters", "id": "1-c2", "metadata": `{"step": 3, "counters_since_delta_snapshot": {"d": [4, 2]}}`})
		got := fork(t, forkArgs(pgx.NamedArgs{"thread": "counters"}))
		require.Equal(t, map[string]any{"d": []any{4.0, 2.0}}, got.Metadata["counters_since_delta_snapshot"])
		require.Equal(t, 4.0, got.Metadata["step"])
	})
	t.Run("takes an id that sorts above all others", func(t *testing.T) {
		t.Parallel()
		where := pgx.NamedArgs{"thread": "given"}
		conversation(t, db, where)
		require.Equal(t, "1-c3a", value[string](t, db, forkSQL, forkArgs(where, pgx.NamedArgs{"new": "1-c3a"})))
		require.Equal(t, "1-c3a", get(t, db, "given").CheckpointID)
	})
	t.Run("stays in its namespace", func(t *testing.T) {
		t.Parallel()
		conversation(t, db, pgx.NamedArgs{"thread": "spaces"})
		where := pgx.NamedArgs{"thread": "spaces", "ns": "sub:1"}
		conversation(t, db, where)
		got := fork(t, forkArgs(where, pgx.NamedArgs{"new": "1-c4", "copy": true}))
		require.Equal(t, map[string]string{"m": "msgpack m2", "n": "msgpack n2", "k": "msgpack k1"}, got.values())
		require.Equal(t, "1-c3", get(t, db, "spaces").CheckpointID)
		require.Equal(t, "sub:1", get(t, db, "spaces", "sub:1", "1-c4").CheckpointNS)
	})

	conversation(t, db, pgx.NamedArgs{"thread": "refused"})
	for name, c := range map[string]struct {
		args pgx.NamedArgs
		want refusal
	}{
		"a null thread":         {pgx.NamedArgs{"thread": nil}, refusal{"LG002", "invalid checkpoint to fork", "thread_id NULL", "Name the checkpoint"}},
		"an empty thread":       {pgx.NamedArgs{"thread": ""}, refusal{"LG002", "invalid checkpoint to fork", "thread_id ''", "Name the checkpoint"}},
		"a null namespace":      {pgx.NamedArgs{"ns": nil}, refusal{"LG002", "invalid checkpoint to fork", "checkpoint_ns NULL", "Name the checkpoint"}},
		"a null id":             {pgx.NamedArgs{"id": nil}, refusal{"LG002", "invalid checkpoint to fork", "checkpoint_id NULL", "Name the checkpoint"}},
		"an empty id":           {pgx.NamedArgs{"id": ""}, refusal{"LG002", "invalid checkpoint to fork", "checkpoint_id ''", "Name the checkpoint"}},
		"an empty new id":       {pgx.NamedArgs{"new": ""}, refusal{"LG002", "invalid checkpoint to fork", "new_checkpoint_id ''", "null makes one"}},
		"a list as metadata":    {pgx.NamedArgs{"metadata": `[]`}, refusal{"LG002", "invalid metadata", "not a JSON object", "{}"}},
		"a new id that exists":  {pgx.NamedArgs{"new": "1-c3"}, refusal{"LG002", "invalid new_checkpoint_id", "'1-c3' does not sort above '1-c3'", "sorts above"}},
		"the target's id":       {pgx.NamedArgs{"new": "1-c2"}, refusal{"LG002", "invalid new_checkpoint_id", "'1-c2' does not sort above '1-c3'", "sorts above"}},
		"an id below":           {pgx.NamedArgs{"new": "1-c2z"}, refusal{"LG002", "invalid new_checkpoint_id", "'1-c2z' does not sort above '1-c3'", "sorts above"}},
		"an id below by byte":   {pgx.NamedArgs{"new": "1-C4"}, refusal{"LG002", "invalid new_checkpoint_id", "'1-C4' does not sort above '1-c3'", "sorts above"}},
		"a target that is not":  {pgx.NamedArgs{"id": "1-c9"}, refusal{"LG001", "checkpoint '1-c9' does not exist", "Thread 'refused', namespace ''", "list_checkpoints"}},
		"a target of elsewhere": {pgx.NamedArgs{"ns": "sub"}, refusal{"LG001", "checkpoint '1-c2' does not exist", "namespace 'sub'", "list_checkpoints"}},
		"a thread that is not":  {pgx.NamedArgs{"thread": "nobody"}, refusal{"LG001", "checkpoint '1-c2' does not exist", "Thread 'nobody'", "list_checkpoints"}},
	} {
		t.Run("refuses "+name, func(t *testing.T) {
			t.Parallel()
			requireRefused(t, c.want, attempt(t.Context(), db, forkSQL, forkArgs(pgx.NamedArgs{"thread": "refused"}, c.args)))
		})
	}
	t.Run("makes an id above one of a clock ahead", func(t *testing.T) {
		t.Parallel()
		const ahead = "ff000000-0000-6fff-bfff-ffffffffffff"
		put(t, db, pgx.NamedArgs{"thread": "fast", "id": "1-c2"})
		put(t, db, pgx.NamedArgs{"thread": "fast", "id": ahead})
		require.Greater(t, fork(t, forkArgs(pgx.NamedArgs{"thread": "fast"})).CheckpointID, ahead)
	})
	t.Run("refuses to make an id where none is above", func(t *testing.T) {
		t.Parallel()
		put(t, db, pgx.NamedArgs{"thread": "ahead", "id": "1-c2"})
		put(t, db, pgx.NamedArgs{"thread": "ahead", "id": "ffffffff-ffff-6fff-bfff-ffffffffffff"})
		requireRefused(t, refusal{"LG002", "invalid new_checkpoint_id", "'ffffffff-ffff-6fff-bfff-ffffffffffff', the newest", "sorts above"},
			attempt(t.Context(), db, forkSQL, forkArgs(pgx.NamedArgs{"thread": "ahead"})))
	})
}

// versionsOf are the channel_versions of a checkpoint as JSON text.
func versionsOf(t *testing.T, db querier, thread, id string) map[string]string {
	t.Helper()
	type pair struct{ Key, Value string }
	versions := map[string]string{}
	for _, p := range table[pair](t, db, `
		select v.key, v.value::text from langgraph.checkpoints c cross join lateral jsonb_each(c.checkpoint -> 'channel_versions') v
		where c.thread_id = $1 and c.checkpoint_id = $2`, thread, id) {
		versions[p.Key] = p.Value
	}
	return versions
}

// seenBy are the versions_seen of a node as JSON text.
func seenBy(t *testing.T, db querier, thread, id, node string) map[string]json.RawMessage {
	t.Helper()
	return value[map[string]json.RawMessage](t, db, `
		select checkpoint -> 'versions_seen' -> $3 from langgraph.checkpoints where thread_id = $1 and checkpoint_id = $2`, thread, id, node)
}

func TestForkCheckpointCopiesValuesUnderTextVersions(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	conversation(t, db, nil)
	before := storedBlobs(t, db, "t")
	id := value[string](t, db, forkSQL, forkArgs(pgx.NamedArgs{"copy": true}))
	got := get(t, db, "t", "", id)
	require.Equal(t, get(t, db, "t", "", "1-c2").values(), got.values())
	require.Equal(t, map[string]any{"s": 2.0}, got.Checkpoint["channel_values"])

	versions := versionsOf(t, db, "t", id)
	require.Regexp(t, `^"0{31}4\.`, versions["m"], "above m's version 3, which the target does not know")
	require.Regexp(t, `^"0{31}4\.`, versions["n"])
	require.Regexp(t, `^"0{31}2\.`, versions["k"])
	require.Equal(t, strconv.Quote(version(2)), versions["s"], "inline values have no version to share")

	seen := seenBy(t, db, "t", id, "node")
	require.Equal(t, versions["m"], string(seen["m"]), "the node has seen what it had seen: m as it is now")
	require.Equal(t, strconv.Quote(version(1)), string(seen["n"]), "and an older n")
	require.Equal(t, `"1"`, string(seen["other"]))
	require.Empty(t, seenBy(t, db, "t", id, "__input__"))

	after := storedBlobs(t, db, "t")
	require.Subset(t, after, before, "the old values are untouched")
	require.Len(t, after, len(before)+3)
	require.Contains(t, after, "m "+strings.Trim(versions["m"], `"`)+" msgpack m2")

	t.Run("and again, above the copies", func(t *testing.T) {
		again := value[string](t, db, forkSQL, forkArgs(pgx.NamedArgs{"copy": true, "id": id}))
		require.Equal(t, got.values(), get(t, db, "t", "", again).values())
		require.Regexp(t, `^"0{31}5\.`, versionsOf(t, db, "t", again)["m"])
		require.Regexp(t, `^"0{31}3\.`, versionsOf(t, db, "t", again)["k"])
	})
}

func TestForkCheckpointCopiesValuesOfEveryKind(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	put(t, db, pgx.NamedArgs{
		"id": "1-c2", "channels": []string{"gone", "nil", "enc"}, "versions": []string{version(1), version(1), version(1)},
		"types": []string{"empty", "null", "msgpack+aes"}, "blobs": [][]byte{nil, {}, []byte("secret")},
		"checkpoint": fmt.Sprintf(`{"id": "1-c2", "channel_versions": {"gone": %[1]q, "nil": %[1]q, "enc": %[1]q, "lost": %[1]q}}`, version(1)),
	})
	id := value[string](t, db, forkSQL, forkArgs(pgx.NamedArgs{"copy": true}))
	versions := versionsOf(t, db, "t", id)
	require.Equal(t, map[string]string{"nil": "null ", "enc": "msgpack+aes secret"}, get(t, db, "t", "", id).values())
	require.Equal(t, strconv.Quote(version(1)), versions["lost"], "a version without a value stays")
	require.Contains(t, storedBlobs(t, db, "t"), "gone "+strings.Trim(versions["gone"], `"`)+" empty NULL")

	t.Run("and needs none", func(t *testing.T) {
		put(t, db, pgx.NamedArgs{"thread": "bare", "id": "1-c2"})
		id := value[string](t, db, forkSQL, forkArgs(pgx.NamedArgs{"copy": true, "thread": "bare"}))
		require.Empty(t, get(t, db, "bare", "", id).values())
		require.Empty(t, storedBlobs(t, db, "bare"))
	})
}

// counting is a thread of a client with integer versions: each of three checkpoints writes x under its number, and the
// first writes y.
func counting(t *testing.T, db querier, thread string) {
	t.Helper()
	for i := 1; i <= 3; i++ {
		id := fmt.Sprintf("1-c%d", i)
		args := pgx.NamedArgs{
			"thread": thread, "id": id, "channels": []string{"x", "y"}, "versions": []string{fmt.Sprint(i), "1"},
			"types": []string{"json", "json"}, "blobs": [][]byte{fmt.Append(nil, i), []byte("0")},
			"checkpoint": fmt.Sprintf(`{"id": %q, "channel_versions": {"x": %d, "y": 1, "z": %d}, "versions_seen": {"node": {"x": %d, "y": 0}}}`, id, i, i, i),
		}
		if i > 1 {
			args["parent"] = fmt.Sprintf("1-c%d", i-1)
		}
		put(t, db, args)
	}
}

// next puts a checkpoint as a client does that counts: x under the highest integer it sees in its parent, plus one.
func next(t *testing.T, db querier, thread, parent, id, x string) {
	t.Helper()
	version := value[string](t, db, `
		select (max(v.value::numeric) + 1)::text from langgraph.checkpoints c
		cross join lateral jsonb_each_text(c.checkpoint -> 'channel_versions') v
		where c.thread_id = $1 and c.checkpoint_id = $2`, thread, parent)
	put(t, db, pgx.NamedArgs{
		"thread": thread, "id": id, "parent": parent, "channels": []string{"x"}, "versions": []string{version},
		"types": []string{"json"}, "blobs": [][]byte{[]byte(x)},
		"checkpoint": fmt.Sprintf(`{"id": %q, "channel_versions": {"x": %s}}`, id, version),
	})
}

func TestForkCheckpointCopiesValuesUnderIntegerVersionsByItself(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	counting(t, db, "t")
	before := storedBlobs(t, db, "t")
	id := value[string](t, db, forkSQL, forkArgs(nil))
	require.Equal(t, map[string]string{"x": "json 2", "y": "json 0"}, get(t, db, "t", "", id).values())

	versions := versionsOf(t, db, "t", id)
	x, err := strconv.Atoi(versions["x"])
	require.NoError(t, err, "an integer stays an integer")
	require.Greater(t, x, 3, "above all of the namespace")
	require.Equal(t, map[string]string{"x": versions["x"], "y": versions["x"], "z": versions["x"]}, versions, "one for all channels")
	require.Equal(t, versions["x"], string(seenBy(t, db, "t", id, "node")["x"]))
	require.Equal(t, "0", string(seenBy(t, db, "t", id, "node")["y"]), "what was not seen is still news")
	require.Subset(t, storedBlobs(t, db, "t"), before)

	t.Run("and both branches go on counting", func(t *testing.T) {
		last := map[string]string{"old": "1-c3", "new": id}
		for i := range 5 {
			for branch := range last {
				checkpoint := fmt.Sprintf("z%d-%s", i, branch)
				next(t, db, "t", last[branch], checkpoint, strconv.Quote(checkpoint))
				last[branch] = checkpoint
			}
		}
		for i := range 5 {
			for branch := range last {
				checkpoint := fmt.Sprintf("z%d-%s", i, branch)
				require.Equal(t, "json "+strconv.Quote(checkpoint), get(t, db, "t", "", checkpoint).values()["x"])
			}
		}
	})
	t.Run("and forks of forks do", func(t *testing.T) {
		counting(t, db, "deep")
		var heads []string
		target := "1-c2"
		for i := range 4 {
			target = value[string](t, db, forkSQL, forkArgs(pgx.NamedArgs{"thread": "deep", "id": target, "new": fmt.Sprint("2-f", i)}))
			heads = append(heads, target)
		}
		for _, head := range heads {
			next(t, db, "deep", head, "3-"+head, strconv.Quote(head))
		}
		for _, head := range heads {
			require.Equal(t, map[string]string{"x": "json 2", "y": "json 0"}, get(t, db, "deep", "", head).values())
			require.Equal(t, "json "+strconv.Quote(head), get(t, db, "deep", "", "3-"+head).values()["x"])
		}
	})
}

func TestForkCheckpointKeepsTheKindOfMixedVersions(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	put(t, db, pgx.NamedArgs{
		"id": "1-c2", "channels": []string{"x", "m", "m", "f"}, "versions": []string{"7", "3", version(4), "2.5"},
		"types": []string{"json", "json", "msgpack", "json"}, "blobs": [][]byte{[]byte("1"), []byte("2"), []byte("m"), []byte("3")},
		"checkpoint": fmt.Sprintf(`{"id": "1-c2", "channel_versions": {"x": 7, "m": %q, "f": 2.5}}`, version(4)),
	})
	id := value[string](t, db, forkSQL, forkArgs(nil))
	versions := versionsOf(t, db, "t", id)
	require.Equal(t, map[string]string{"x": "json 1", "m": "msgpack m", "f": "json 3"}, get(t, db, "t", "", id).values())
	require.Regexp(t, `^[1-9]\d*$`, versions["x"])
	require.Equal(t, versions["x"], versions["f"])
	require.Regexp(t, `^"0{31}5\.`, versions["m"], "above the text, not above the 3 of an earlier client")
}

func TestForkCheckpointOfWritesToADeltaChannelIsASibling(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	counters := `{"source": "loop", "counters_since_delta_snapshot": {"d": [1, 1]}}`
	snapshot := pgx.NamedArgs{
		"channels": []string{"d"}, "versions": []string{"1"}, "types": []string{"msgpack"}, "blobs": [][]byte{{0xd4, 7, 0x90}},
	}
	marked := func(id string) pgx.NamedArgs {
		return pgx.NamedArgs{"checkpoint": fmt.Sprintf(`{"id": %q, "channel_values": {"d": true}, "channel_versions": {"d": "1"}}`, id)}
	}
	for name, c := range map[string]struct {
		target, child pgx.NamedArgs
		writes        []string
		want          string
	}{
		"known by its own counters":         {pgx.NamedArgs{"metadata": counters}, nil, []string{"d"}, "1-c1"},
		"known by its child's counters":     {nil, pgx.NamedArgs{"metadata": counters}, []string{"m", "d"}, "1-c1"},
		"known by a snapshot":               {mergeArgs(snapshot, marked("1-c2")), nil, []string{"d"}, "1-c1"},
		"known by its child's snapshot":     {nil, mergeArgs(snapshot, marked("1-c3")), []string{"d"}, "1-c1"},
		"unless they go to another channel": {pgx.NamedArgs{"metadata": counters}, nil, []string{"m"}, "1-c2"},
		"unless there are none":             {pgx.NamedArgs{"metadata": counters}, nil, nil, "1-c2"},
		"unless they are reserved":          {pgx.NamedArgs{"metadata": `{"counters_since_delta_snapshot": {"__interrupt__": [1, 1]}}`}, nil, []string{"__interrupt__"}, "1-c2"},
		"unless it is true by value":        {marked("1-c2"), nil, []string{"d"}, "1-c2"},
		"unless nothing is known of it":     {nil, nil, []string{"d"}, "1-c2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			where := pgx.NamedArgs{"thread": name}
			put(t, db, where, pgx.NamedArgs{"id": "1-c1"})
			put(t, db, where, pgx.NamedArgs{"id": "1-c2", "parent": "1-c1"}, c.target)
			put(t, db, where, pgx.NamedArgs{"id": "1-c3", "parent": "1-c2"}, c.child)
			if c.writes != nil {
				exec(t, db, putWritesSQL, writesArgs(c.writes, where, pgx.NamedArgs{"id": "1-c2"}))
			}
			id := value[string](t, db, forkSQL, forkArgs(where))
			require.Equal(t, c.want, *get(t, db, name, "", id).ParentCheckpointID)
			require.Equal(t, c.want == "1-c1", value[bool](t, db, "select langgraph.writes_delta_channel($1, '', '1-c2')", name))
		})
	}
	t.Run("or a root, where the target is one", func(t *testing.T) {
		t.Parallel()
		put(t, db, pgx.NamedArgs{"thread": "root", "id": "1-c2", "metadata": counters})
		exec(t, db, putWritesSQL, writesArgs([]string{"d"}, pgx.NamedArgs{"thread": "root", "id": "1-c2"}))
		id := value[string](t, db, forkSQL, forkArgs(pgx.NamedArgs{"thread": "root"}))
		require.Nil(t, get(t, db, "root", "", id).ParentCheckpointID)
	})
}

func mergeArgs(all ...pgx.NamedArgs) pgx.NamedArgs {
	merged := pgx.NamedArgs{}
	for _, args := range all {
		maps.Copy(merged, args)
	}
	return merged
}
