package pgsaver_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	cmpdiff "github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/testcontainers"
)

const (
	// casesVariable is how many random cases TestRetentionLeavesWhatItMust runs.
	casesVariable = "PGWEFT_PROPERTY_CASES"
	// caseVariable repeats the one case with this seed.
	caseVariable = "PGWEFT_PROPERTY_SEED"

	defaultCases  = 2000
	casesAtOnce   = 50
	roundsOfACase = 7
)

// TestRetentionLeavesWhatItMust puts random threads through random operations, and after each compares all tables, and what
// every checkpoint reads back, with a model (retention_model_test.go): nothing is lost, nothing unneeded survives, every
// count and every byte is reported.
func TestRetentionLeavesWhatItMust(t *testing.T) {
	t.Parallel()
	seeds := caseSeeds(t)
	const lanes = 2
	for lane := range lanes {
		t.Run(fmt.Sprintf("lane %d", lane), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for i := lane * casesAtOnce; i < len(seeds); i += lanes * casesAtOnce {
				w.run(seeds[i:min(i+casesAtOnce, len(seeds))])
			}
			w.log()
		})
	}
}

func caseSeeds(t *testing.T) []uint64 {
	t.Helper()
	number := func(variable string) (uint64, bool) {
		text := os.Getenv(variable)
		if text == "" {
			return 0, false
		}
		n, err := strconv.ParseUint(text, 10, 64)
		require.NoError(t, err, variable)
		return n, true
	}
	if seed, ok := number(caseVariable); ok {
		return []uint64{seed}
	}
	count, ok := number(casesVariable)
	if !ok {
		count = defaultCases
	}
	first := uint64(time.Now().UnixNano()) / 1000
	seeds := make([]uint64, count)
	for i := range seeds {
		seeds[i] = first + uint64(i)
	}
	return seeds
}

// world is a database in which cases run side by side; their threads, runs and tenants have names of their own.
type world struct {
	t      *testing.T
	conn   *pgx.Conn
	random *rand.Rand
	start  time.Time
	cases  []*retentionCase
	parsed map[[2]string]*modelCheckpoint // JSON columns seen before
	counts map[string]int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), testcontainers.NewDatabase(t).ConnString())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close(t.Context())) })
	// All deletes and lists are small, and the tables are emptied again and again.
	_, err = conn.Exec(t.Context(), "set synchronous_commit = off")
	require.NoError(t, err)
	return &world{
		t: t, conn: conn, start: time.Now().UTC().Truncate(time.Second), parsed: map[[2]string]*modelCheckpoint{},
		counts: map[string]int{},
	}
}

func (w *world) log() {
	for _, what := range slices.Sorted(maps.Keys(w.counts)) {
		w.t.Logf("%8d %s", w.counts[what], what)
	}
}

// run takes cases through their rounds, all of them in step, so that one query reads all tables.
func (w *world) run(seeds []uint64) {
	w.t.Helper()
	w.exec(`truncate langgraph.checkpoints, langgraph.checkpoint_blobs, langgraph.checkpoint_writes,
		langgraph.checkpoint_pins, langgraph.thread_ttls, langgraph.settings`)
	w.cases = nil
	clear(w.parsed)
	w.random = rand.New(rand.NewPCG(seeds[0], 0))
	for _, seed := range seeds {
		w.cases = append(w.cases, newCase(w, seed))
	}
	w.counts["cases"] += len(seeds)
	for round := range roundsOfACase {
		for _, c := range w.cases {
			switch {
			case round == 0:
				c.grow("a", 3+c.random.IntN(12))
			case round%3 == 2:
				c.makePolicies()
			default:
				c.operate()
			}
		}
		if round%3 == 2 {
			w.sweep()
		}
		w.verify(round)
	}
}

func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	_, err := w.conn.Exec(w.t.Context(), sql, args...)
	require.NoError(w.t, err, sql)
}

func query[T any](w *world, sql string, args ...any) []T {
	w.t.Helper()
	rows, err := w.conn.Query(w.t.Context(), sql, args...)
	require.NoError(w.t, err, sql)
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[T])
	require.NoError(w.t, err, sql)
	return found
}

// reported are the rows of prune, delete_for_runs and sweep_preview.
func (w *world) reported(sql string, args ...any) map[string]removal {
	w.t.Helper()
	type row struct {
		ThreadID string
		removal
	}
	found := map[string]removal{}
	for _, r := range query[row](w, sql, args...) {
		require.NotContains(w.t, found, r.ThreadID)
		found[r.ThreadID] = r.removal
	}
	return found
}

// sweep sweeps the whole database, in pieces or at once, and the models along.
func (w *world) sweep() {
	w.t.Helper()
	now := time.Now()
	preview := map[string]removal{}
	for _, c := range w.cases {
		for name, thread := range c.threads {
			before := thread.clone()
			r := thread.sweep(name, c.policies, now)
			c.check("sweep", before, thread)
			if r.Checkpoints+r.CheckpointBlobs+r.CheckpointWrites > 0 {
				preview[name] = r
			}
			w.count("sweep", r)
		}
	}
	got := w.reported("select * from langgraph.sweep_preview()")
	for _, c := range w.cases {
		for name := range c.threads {
			if diff := cmpdiff.Diff(preview[name], got[name]); diff != "" {
				c.fail("sweep_preview of %s (-want +got):\n%s", name, diff)
			}
		}
	}
	if w.random.IntN(2) == 0 {
		w.exec("call langgraph.sweep($1)", 1+w.random.IntN(60))
	} else {
		for done := false; !done; {
			w.exec("call langgraph.sweep($1, interval '0')", 1+w.random.IntN(60))
			require.NoError(w.t, w.conn.QueryRow(w.t.Context(),
				"select (value -> 'done')::boolean from langgraph.settings where key = 'sweep'").Scan(&done))
		}
	}
	for _, c := range w.cases {
		for _, p := range c.policies {
			w.exec("select langgraph.drop_retention_policy($1)", p.name)
		}
		c.policies = nil
	}
}

func (w *world) count(operation string, r removal) {
	w.counts[operation]++
	w.counts[operation+": checkpoints removed"] += int(r.Checkpoints)
	w.counts[operation+": blobs removed"] += int(r.CheckpointBlobs)
	w.counts[operation+": writes removed"] += int(r.CheckpointWrites)
	w.counts[operation+": checkpoints that had to stay"] += int(r.Kept)
}

// verify compares all tables and all that can be read from them with the models, and takes sizes over.
func (w *world) verify(round int) {
	w.t.Helper()
	got := w.readTables("s%")
	changed := w.changed(got)
	// All channels in both orders would take most of the time; each case meets every combination in some round.
	channels := append([]string{"d1", "d2"}, choose(w.random, "late", "count", "flag", "messages"))
	order := choose(w.random, "task_path", "task_id")
	read := w.readBack(changed, channels, order)
	for _, c := range w.cases {
		want, have := map[string][]string{}, map[string][]string{}
		for name, thread := range c.threads {
			want[name], have[name] = thread.lines(), got[name].lines()
		}
		for name, thread := range got {
			if strings.HasPrefix(name, c.prefix) && c.threads[name] == nil {
				have[name] = thread.lines()
			}
		}
		if diff := cmpdiff.Diff(want, have); diff != "" {
			c.fail("round %d: the tables are not what they should be (-want +got):\n%s", round, diff)
			continue
		}
		for name := range c.threads {
			if got[name] == nil {
				continue
			}
			c.threads[name] = got[name]
			if !slices.Contains(changed, name) {
				continue
			}
			c.verified[name] = got[name].lines()
			for key := range got[name].checkpoints {
				w.counts["checkpoints read back"]++
				if diff := cmpdiff.Diff(expectedReading(got[name], key, channels, order), read[name][key]); diff != "" {
					c.fail("round %d: %v of %s is not read back from its rows (-want +got):\n%s", round, key, name, diff)
				}
			}
		}
	}
	w.cases = slices.DeleteFunc(w.cases, func(c *retentionCase) bool { return c.failed })
}

// changed are the threads that are not as they were when they were last read back.
func (w *world) changed(got map[string]*modelThread) []string {
	changed := []string{}
	for _, c := range w.cases {
		for name := range c.threads {
			if got[name] != nil && !slices.Equal(got[name].lines(), c.verified[name]) {
				changed = append(changed, name)
			}
		}
	}
	return changed
}

// lines is the whole thread as text.
func (t *modelThread) lines() []string {
	if t == nil {
		return nil
	}
	var lines []string
	at := func(times ...time.Time) string {
		var b strings.Builder
		for _, u := range times {
			b.WriteString(u.UTC().Format(" 2006-01-02T15:04:05.000000"))
		}
		return b.String()
	}
	for k, c := range t.checkpoints {
		lines = append(lines, "checkpoint "+k.ns+" "+k.id+" parent="+c.parent+at(c.created, c.updated)+" "+c.checkpoint+c.metadata)
	}
	for k, b := range t.blobs {
		lines = append(lines, fmt.Sprintf("blob %s %s %s %s:%s %t", k.ns, k.channel, k.version, b.kind, b.data, b.isNull))
	}
	for k, v := range t.writes {
		lines = append(lines, fmt.Sprintf("write %s %s %s %d %s %s %s:%s", k.ns, k.id, k.task, k.idx, v.path, v.channel, v.kind,
			v.data)+at(v.created))
	}
	for k := range t.pins {
		lines = append(lines, "pin "+k.ns+" "+k.id)
	}
	if t.ttl > 0 {
		lines = append(lines, "ttl "+t.ttl.String())
	}
	slices.Sort(lines)
	return lines
}

// readTables is what the tables hold of threads whose name is like this, by thread.
func (w *world) readTables(like string) map[string]*modelThread {
	w.t.Helper()
	threads := map[string]*modelThread{}
	of := func(id string) *modelThread {
		if threads[id] == nil {
			threads[id] = newModelThread()
		}
		return threads[id]
	}
	type checkpointRow struct {
		ThreadID, CheckpointNS, CheckpointID, Checkpoint, Metadata string
		ParentCheckpointID                                         *string
		CreatedAt, UpdatedAt                                       time.Time
		Size                                                       int
	}
	for _, r := range query[checkpointRow](w, `select thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id,
			checkpoint::text, metadata::text, created_at, updated_at,
			pg_column_size(checkpoint) + pg_column_size(metadata) as size
			from langgraph.checkpoints where thread_id like $1`, like) {
		c := w.parse(r.Checkpoint, r.Metadata)
		if r.ParentCheckpointID != nil {
			c.parent = *r.ParentCheckpointID
		}
		c.created, c.updated, c.size = r.CreatedAt.UTC(), r.UpdatedAt.UTC(), r.Size
		of(r.ThreadID).checkpoints[nsKey{r.CheckpointNS, r.CheckpointID}] = c
	}
	type blobRow struct {
		ThreadID, CheckpointNS, Channel, Version, Type string
		Blob                                           []byte
		Size                                           int
	}
	for _, r := range query[blobRow](w, `select thread_id, checkpoint_ns, channel, version, type, blob,
			coalesce(pg_column_size(blob), 0) as size from langgraph.checkpoint_blobs where thread_id like $1`, like) {
		of(r.ThreadID).blobs[blobKey{r.CheckpointNS, r.Channel, r.Version}] = &modelBlob{
			kind: r.Type, data: abbreviated(r.Blob), isNull: r.Blob == nil, size: r.Size,
		}
	}
	type writeRow struct {
		ThreadID, CheckpointNS, CheckpointID, TaskID, Channel, Type, TaskPath string
		Idx                                                                   int
		Blob                                                                  []byte
		CreatedAt                                                             time.Time
		Size                                                                  int
	}
	for _, r := range query[writeRow](w, `select thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob,
			task_path, created_at, pg_column_size(blob) as size from langgraph.checkpoint_writes where thread_id like $1`, like) {
		of(r.ThreadID).writes[writeKey{r.CheckpointNS, r.CheckpointID, r.TaskID, r.Idx}] = &modelWrite{
			channel: r.Channel, kind: r.Type, data: abbreviated(r.Blob), path: r.TaskPath, created: r.CreatedAt.UTC(), size: r.Size,
		}
	}
	type pinRow struct{ ThreadID, CheckpointNS, CheckpointID string }
	for _, r := range query[pinRow](w, `select thread_id, checkpoint_ns, checkpoint_id from langgraph.checkpoint_pins
			where thread_id like $1`, like) {
		of(r.ThreadID).pins[nsKey{r.CheckpointNS, r.CheckpointID}] = true
	}
	type ttlRow struct {
		ThreadID string
		IdleTTL  time.Duration
	}
	for _, r := range query[ttlRow](w, "select thread_id, idle_ttl from langgraph.thread_ttls where thread_id like $1", like) {
		of(r.ThreadID).ttl = r.IdleTTL
	}
	return threads
}

// abbreviated is a value as text; of a long one its length and its ends.
func abbreviated(data []byte) string {
	if len(data) > 64 {
		return fmt.Sprintf("%d bytes %x..%x", len(data), data[:16], data[len(data)-16:])
	}
	return hex.EncodeToString(data)
}

func (w *world) parse(checkpoint, metadata string) *modelCheckpoint {
	w.t.Helper()
	key := [2]string{checkpoint, metadata}
	if w.parsed[key] == nil {
		canonicalCheckpoint, err := canonicalJSON(checkpoint)
		require.NoError(w.t, err)
		canonicalMetadata, err := canonicalJSON(metadata)
		require.NoError(w.t, err)
		w.parsed[key], err = parseCheckpoint(canonicalCheckpoint, canonicalMetadata)
		require.NoError(w.t, err)
	}
	copied := *w.parsed[key]
	return &copied
}

// expectedReading is what the functions should read: the tuple, and the history of channels.
func expectedReading(t *modelThread, key nsKey, channels []string, order string) map[string][]string {
	reading := map[string][]string{}
	add := func(what string, lines []string) {
		if len(lines) > 0 {
			reading[what] = lines
		}
	}
	add("tuple", t.tuple(key))
	for _, channel := range channels {
		add("history of "+channel, t.history(key, channel, order == "task_id"))
	}
	return reading
}

// readBack is what get_checkpoint and delta_channel_history say of every checkpoint of threads.
func (w *world) readBack(threads, channels []string, order string) map[string]map[nsKey]map[string][]string {
	w.t.Helper()
	read := map[string]map[nsKey]map[string][]string{}
	of := func(thread string, key nsKey) map[string][]string {
		if read[thread] == nil {
			read[thread] = map[nsKey]map[string][]string{}
		}
		if read[thread][key] == nil {
			read[thread][key] = map[string][]string{}
		}
		return read[thread][key]
	}
	type tupleRow struct {
		ThreadID, CheckpointNS, CheckpointID string
		ValueChannels, ValueTypes            []string
		ValueBlobs                           [][]byte
		WriteTaskIDs, WriteTaskPaths         []string
		WriteIdxs                            []int
		WriteChannels, WriteTypes            []string
		WriteBlobs                           [][]byte
		SendTypes                            []string
		SendBlobs                            [][]byte
	}
	for _, r := range query[tupleRow](w, `select g.thread_id, g.checkpoint_ns, g.checkpoint_id, value_channels, value_types,
			value_blobs, write_task_ids, write_task_paths, write_idxs, write_channels, write_types, write_blobs, send_types,
			send_blobs
			from langgraph.checkpoints c
			cross join lateral langgraph.get_checkpoint(c.thread_id, c.checkpoint_ns, c.checkpoint_id) g
			where c.thread_id = any ($1)`, threads) {
		var lines []string
		for i := range r.ValueChannels {
			lines = append(lines, fmt.Sprintf("value %s %s:%s", r.ValueChannels[i], r.ValueTypes[i], abbreviated(r.ValueBlobs[i])))
		}
		slices.Sort(lines)
		for i := range r.WriteTaskIDs {
			lines = append(lines, fmt.Sprintf("pending %s %s %d %s %s:%s", r.WriteTaskIDs[i], r.WriteTaskPaths[i], r.WriteIdxs[i],
				r.WriteChannels[i], r.WriteTypes[i], abbreviated(r.WriteBlobs[i])))
		}
		for i := range r.SendTypes {
			lines = append(lines, fmt.Sprintf("packet %s:%s", r.SendTypes[i], abbreviated(r.SendBlobs[i])))
		}
		reading := of(r.ThreadID, nsKey{r.CheckpointNS, r.CheckpointID})
		if len(lines) > 0 {
			reading["tuple"] = lines
		}
	}
	type historyRow struct {
		ThreadID, CheckpointNS, Target, Channel, Kind, CheckpointID string
		TaskID, TaskPath, Type, Value                               *string
		Idx                                                         *int
		Blob                                                        []byte
	}
	for _, r := range query[historyRow](w, `select c.thread_id, c.checkpoint_ns, c.checkpoint_id as target, h.channel, h.kind, h.checkpoint_id, h.task_id, h.task_path, h.idx, h.type, h.blob, h.value::text as value
			from langgraph.checkpoints c
			cross join lateral langgraph.delta_channel_history(c.thread_id, c.checkpoint_ns, c.checkpoint_id, $1, $2)
				with ordinality h
			where c.thread_id = any ($3)
			order by c.thread_id, c.checkpoint_ns, c.checkpoint_id, h.ordinality`, channels, order, threads) {
		var line string
		switch {
		case r.Kind == "write":
			line = fmt.Sprintf("write of %s %s %s %d %s:%s", r.CheckpointID, *r.TaskID, *r.TaskPath, *r.Idx, *r.Type,
				abbreviated(r.Blob))
		case r.Type != nil:
			line = fmt.Sprintf("seed of %s %s:%s", r.CheckpointID, *r.Type, abbreviated(r.Blob))
		default:
			line = fmt.Sprintf("seed of %s inline:%s", r.CheckpointID, *r.Value)
		}
		reading := of(r.ThreadID, nsKey{r.CheckpointNS, r.Target})
		what := "history of " + r.Channel
		reading[what] = append(reading[what], line)
	}
	return read
}

// retentionCase is a few threads and what happens to them, all from one seed.
type retentionCase struct {
	world    *world
	seed     uint64
	prefix   string
	random   *rand.Rand
	threads  map[string]*modelThread
	verified map[string][]string // the threads as they were last read back
	policies []policy
	failed   bool
	steps    []string // what was done, for the report of a failure

	integers    bool // channel versions are integers
	oldFormat   bool // some checkpoints are older than format 4
	hasDeltas   bool
	d2IsDelta   bool // before that it is a plain channel
	d2IsInline  bool // while it is plain
	clock       int  // rises with each id and version
	unsaved     map[string][]nsKey
	batch       *pgx.Batch
	backdated   map[string][]nsKey
	writtenKeys map[string][]writeKey
}

func newCase(w *world, seed uint64) *retentionCase {
	random := rand.New(rand.NewPCG(seed, 1))
	prefix := fmt.Sprintf("s%d-", seed)
	return &retentionCase{
		world: w, seed: seed, prefix: prefix, random: random, threads: map[string]*modelThread{},
		verified: map[string][]string{}, integers: random.IntN(4) == 0, oldFormat: random.IntN(4) == 0, hasDeltas: random.IntN(5) > 0,
		d2IsDelta: random.IntN(2) == 0, d2IsInline: random.IntN(2) == 0, unsaved: map[string][]nsKey{},
	}
}

func (c *retentionCase) fail(format string, args ...any) {
	c.world.t.Helper()
	if !c.failed {
		c.world.t.Errorf("%s=%d: %s\nafter\n  %s", caseVariable, c.seed, fmt.Sprintf(format, args...), strings.Join(c.steps, "\n  "))
	}
	c.failed = true
}

func (c *retentionCase) did(format string, args ...any) {
	c.steps = append(c.steps, fmt.Sprintf(format, args...))
}

// chance is true so many times in a hundred.
func (c *retentionCase) chance(percent int) bool { return c.random.IntN(100) < percent }

func choose[T any](random *rand.Rand, from ...T) T { return from[random.IntN(len(from))] }

// check requires that an operation of the model left everything that stays as it was: the oracle is held to the same rule.
func (c *retentionCase) check(operation string, before, after *modelThread) {
	if harm := after.harm(before); harm != "" {
		c.fail("the model itself: %s: %s", operation, harm)
	}
}

// thread is the name of an existing thread.
func (c *retentionCase) thread() string {
	return choose(c.random, slices.Sorted(maps.Keys(c.threads))...)
}

// checkpoint is one of a thread, in any namespace unless isRoot; false when there is none.
func (c *retentionCase) checkpoint(thread string, isRoot bool) (nsKey, bool) {
	var keys []nsKey
	for key := range c.threads[thread].checkpoints {
		if !isRoot || key.ns == "" {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nsKey{}, false
	}
	slices.SortFunc(keys, compareKeys)
	return choose(c.random, keys...), true
}

func (c *retentionCase) operate() {
	c.world.t.Helper()
	switch n := c.random.IntN(100); {
	case n < 22:
		c.grow(c.thread()[len(c.prefix):], 1+c.random.IntN(5))
	case n < 34:
		c.forkCheckpoint()
	case n < 44:
		c.pin()
	case n < 48:
		c.unpin()
	case n < 74:
		c.prune()
	case n < 83:
		c.deleteForRuns()
	case n < 87:
		c.deleteThread()
	case n < 92:
		c.copyThread()
	default:
		c.forkThread()
	}
}

func (c *retentionCase) pin() {
	thread := c.thread()
	key, ok := c.checkpoint(thread, c.chance(50))
	if !ok {
		return
	}
	c.did("pin %s %v", thread, key)
	c.world.exec("select langgraph.pin_checkpoint($1, $2, $3, 'why')", thread, key.ns, key.id)
	c.threads[thread].pins[key] = true
}

func (c *retentionCase) unpin() {
	thread := c.thread()
	pins := slices.SortedFunc(maps.Keys(c.threads[thread].pins), compareKeys)
	if len(pins) == 0 {
		return
	}
	key := choose(c.random, pins...)
	c.did("unpin %s %v", thread, key)
	c.world.exec("select langgraph.unpin_checkpoint($1, $2, $3)", thread, key.ns, key.id)
	delete(c.threads[thread].pins, key)
}

func (c *retentionCase) prune() {
	c.world.t.Helper()
	names := []string{c.prefix + "unknown"}
	for _, name := range slices.Sorted(maps.Keys(c.threads)) {
		if c.chance(70) {
			names = append(names, name)
		}
	}
	p := pruning{all: c.chance(15), keep: 1 + c.random.IntN(4), keepHeads: c.chance(30)}
	strategy := "keep_latest"
	if p.all {
		strategy = "delete"
	}
	want := map[string]removal{c.prefix + "unknown": {}}
	after := map[string]*modelThread{}
	for _, name := range names[1:] {
		after[name] = c.threads[name].clone()
		want[name] = after[name].prune(p)
		c.check("prune", c.threads[name], after[name])
	}
	c.remove("prune", want, after, "select * from langgraph.prune($1, $2, $3, $4, $5)",
		func(dry bool) []any { return []any{names, strategy, p.keep, dry, p.keepHeads} })
}

func (c *retentionCase) deleteForRuns() {
	c.world.t.Helper()
	var runs []string
	for i := range 4 {
		if c.chance(35) {
			runs = append(runs, c.run(i))
		}
	}
	runs = append(runs, c.prefix+"no run")
	want := map[string]removal{}
	after := map[string]*modelThread{}
	for name, thread := range c.threads {
		changed := thread.clone()
		if r, ok := changed.deleteForRuns(runs); ok {
			want[name], after[name] = r, changed
			c.check("delete_for_runs", thread, changed)
		}
	}
	c.remove("delete_for_runs", want, after, "select * from langgraph.delete_for_runs($1, $2)",
		func(dry bool) []any { return []any{runs, dry} })
}

// remove says first what would go, and then mostly removes it.
func (c *retentionCase) remove(operation string, want map[string]removal, after map[string]*modelThread, sql string,
	args func(dry bool) []any,
) {
	c.world.t.Helper()
	c.did("%s%v", operation, args(true))
	if diff := cmpdiff.Diff(want, c.world.reported(sql, args(true)...)); diff != "" {
		c.fail("dry %s (-want +got):\n%s", operation, diff)
	}
	if c.chance(20) {
		return
	}
	c.did("%s%v", operation, args(false))
	if diff := cmpdiff.Diff(want, c.world.reported(sql, args(false)...)); diff != "" {
		c.fail("%s (-want +got):\n%s", operation, diff)
	}
	maps.Copy(c.threads, after)
	for _, r := range want {
		c.world.count(operation, r)
	}
}

func (c *retentionCase) deleteThread() {
	c.world.t.Helper()
	name := c.thread()
	thread := c.threads[name]
	c.did("delete_thread %s", name)
	type counts struct{ Checkpoints, CheckpointBlobs, CheckpointWrites int }
	const sql = "select * from langgraph.delete_thread($1)"
	if len(thread.pins) > 0 {
		_, err := c.world.conn.Exec(c.world.t.Context(), sql, name)
		c.requireRefused("LG005", err)
		return
	}
	want := []counts{{len(thread.checkpoints), len(thread.blobs), len(thread.writes)}}
	require.Equal(c.world.t, want, query[counts](c.world, sql, name), "%s=%d", caseVariable, c.seed)
	c.threads[name] = newModelThread()
}

func (c *retentionCase) requireRefused(code string, err error) {
	c.world.t.Helper()
	var pgErr *pgconn.PgError
	require.ErrorAs(c.world.t, err, &pgErr, "%s=%d", caseVariable, c.seed)
	require.Equal(c.world.t, code, pgErr.Code, pgErr.Message)
}

// target is a thread to copy to, mostly one that is empty.
func (c *retentionCase) target(source string) string {
	names := slices.DeleteFunc([]string{"a", "b", "c", "d"}, func(n string) bool { return c.prefix+n == source })
	return c.prefix + choose(c.random, names...)
}

func (c *retentionCase) isEmpty(name string) bool {
	t := c.threads[name]
	return t == nil || len(t.checkpoints)+len(t.blobs)+len(t.writes) == 0
}

func (c *retentionCase) copyThread() {
	c.world.t.Helper()
	source := c.thread()
	target := c.target(source)
	c.did("copy_thread %s %s", source, target)
	c.copyTo(source, target, c.threads[source].copied(), "select * from langgraph.copy_thread($1, $2)", source, target)
}

func (c *retentionCase) forkThread() {
	c.world.t.Helper()
	source := c.thread()
	key, ok := c.checkpoint(source, true)
	if !ok {
		return
	}
	target := c.target(source)
	var id any = key.id
	if newest := c.threads[source].newest(""); c.chance(25) {
		key, id = newest[0], nil
	}
	c.did("fork_thread %s %v %s", source, key, target)
	made := c.threads[source].fork(key.id)
	for copied := range made.checkpoints {
		channels := c.threads[source].deltaChannels(copied.ns)
		if diff := cmpdiff.Diff(c.threads[source].reading(copied, channels), made.reading(copied, channels)); diff != "" {
			c.fail("the model itself: fork_thread: %v reads back differently (-source +target):\n%s", copied, diff)
		}
	}
	c.copyTo(source, target, made, "select * from langgraph.fork_thread($1, $2, $3)", source, id, target)
}

func (c *retentionCase) copyTo(_, target string, made *modelThread, sql string, args ...any) {
	c.world.t.Helper()
	if !c.isEmpty(target) {
		_, err := c.world.conn.Exec(c.world.t.Context(), sql, args...)
		c.requireRefused("LG002", err)
		return
	}
	type counts struct{ Checkpoints, CheckpointBlobs, CheckpointWrites int }
	want := []counts{{len(made.checkpoints), len(made.blobs), len(made.writes)}}
	if diff := cmpdiff.Diff(want, query[counts](c.world, sql, args...)); diff != "" {
		c.fail("%s (-want +got):\n%s", sql, diff)
	}
	if old := c.threads[target]; old != nil {
		made.ttl = old.ttl
	}
	c.threads[target] = made
}

// forkCheckpoint branches, and takes what the database made of it over once it is known to have the target's state.
func (c *retentionCase) forkCheckpoint() {
	c.world.t.Helper()
	name := c.thread()
	key, ok := c.checkpoint(name, false)
	if !ok {
		return
	}
	fork := nsKey{key.ns, c.newID()}
	copyBlobs := c.chance(40)
	c.did("fork_checkpoint %s %v %s copy_blobs=%t", name, key, fork.id, copyBlobs)
	c.world.exec("select langgraph.fork_checkpoint($1, $2, $3, $4, $5, $6)", name, key.ns, key.id, fork.id,
		fmt.Sprintf(`{"run_id": %q}`, c.run(c.random.IntN(4))), copyBlobs)
	before := c.threads[name]
	made := c.world.readTables(name)[name]
	row := made.checkpoints[fork]
	require.NotNil(c.world.t, row)
	for channel, version := range row.versions {
		if n, err := strconv.Atoi(version); err == nil && c.integers && n > c.clock && channel != "" {
			c.clock = n
		}
	}
	after := before.clone()
	after.checkpoints[fork] = row
	for channel, version := range row.versions {
		if b := (blobKey{key.ns, channel, version}); made.blobs[b] != nil {
			after.blobs[b] = made.blobs[b]
		}
	}
	c.threads[name] = after
	if parent := row.parent; parent != key.id && parent != before.checkpoints[key].parent {
		c.fail("the fork of %v has parent %q", key, parent)
	}
	for _, channel := range []string{"count", "d1", "d2", "flag", "late", "messages", "branch:to:a"} {
		want, wantOK := before.stored(key, channel)
		if got, gotOK := after.stored(fork, channel); want != got || wantOK != gotOK {
			c.fail("the fork of %v stores %q in channel %s, and its target %q", key, got, channel, want)
		}
		if before.checkpoints[key].counters[channel] && !wantOK {
			if diff := cmpdiff.Diff(before.history(key, channel, false), after.history(fork, channel, false)); diff != "" {
				c.fail("the fork of %v has another history of %s (-target +fork):\n%s", key, channel, diff)
			}
		}
	}
}

// makePolicies gives the case's threads rules, for the sweep that follows.
func (c *retentionCase) makePolicies() {
	c.world.t.Helper()
	for _, name := range slices.Sorted(maps.Keys(c.threads)) {
		if c.chance(20) {
			ttl := time.Duration(c.random.IntN(4)*40) * time.Hour
			c.did("set_thread_ttl %s %s", name, ttl)
			var interval *time.Duration
			if ttl > 0 {
				interval = &ttl
			}
			c.world.exec("select langgraph.set_thread_ttl($1, $2)", name, interval)
			c.threads[name].ttl = ttl
		}
	}
	for i := range c.random.IntN(4) {
		c.makePolicy(fmt.Sprintf("%s%d", c.prefix, i))
	}
}

func (c *retentionCase) makePolicy(name string) {
	c.world.t.Helper()
	p := policy{name: name, disabled: c.chance(10), pattern: c.prefix + "%"}
	switch c.random.IntN(4) {
	case 0:
		p.pattern = c.thread()
	case 1:
		p.pattern, p.tenant = "", c.tenant(c.random.IntN(2))
	case 2:
		p.tenant = c.tenant(c.random.IntN(2))
	}
	for p.idle == 0 && p.maxAge == 0 && p.keepLast == 0 {
		if c.chance(30) {
			p.idle = time.Duration(1+c.random.IntN(5)) * 30 * time.Hour
		}
		if c.chance(40) {
			p.maxAge = time.Duration(1+c.random.IntN(10)) * 20 * time.Hour
		}
		if c.chance(40) {
			p.keepLast = 1 + c.random.IntN(5)
		}
	}
	c.did("set_retention_policy %+v", p)
	var pattern, filter, idle, maxAge, keepLast any
	if p.pattern != "" {
		pattern = p.pattern
	}
	if p.tenant != "" {
		filter = fmt.Sprintf(`{"tenant": %q}`, p.tenant)
	}
	if p.idle > 0 {
		idle = p.idle
	}
	if p.maxAge > 0 {
		maxAge = p.maxAge
	}
	if p.keepLast > 0 {
		keepLast = p.keepLast
	}
	c.world.exec("select langgraph.set_retention_policy($1, $2, $3, $4, $5, $6, $7)", p.name, pattern, filter, idle, maxAge,
		keepLast, !p.disabled)
	c.policies = append(c.policies, p)
}

func (c *retentionCase) run(i int) string    { return fmt.Sprintf("%srun%d", c.prefix, i) }
func (c *retentionCase) tenant(i int) string { return fmt.Sprintf("%stenant%d", c.prefix, i) }

func (c *retentionCase) newID() string {
	c.clock++
	return fmt.Sprintf("%09d", c.clock*10)
}

// oldID sorts somewhere before the newest.
func (c *retentionCase) oldID() string {
	c.clock++
	return fmt.Sprintf("%09d-%d", c.random.IntN(c.clock)*10, c.clock)
}

func (c *retentionCase) newVersion() string {
	c.clock++
	if c.integers {
		return strconv.Itoa(c.clock)
	}
	return fmt.Sprintf("%032d.%016d", c.clock, c.random.IntN(1e15))
}

// time is at some half hour, and never at the edge of a rule, whose times are whole hours.
func (c *retentionCase) time() time.Time {
	return c.world.start.Add(-time.Duration(c.random.IntN(200))*time.Hour - 30*time.Minute)
}

func (c *retentionCase) value() (kind string, data []byte) {
	kind = choose(c.random, "msgpack", "msgpack", "json", "bytes", "null")
	switch {
	case kind == "null":
		return kind, []byte{}
	case c.chance(3):
		data = make([]byte, 3000+c.random.IntN(6000))
		if c.chance(50) { // otherwise it compresses
			for i := range data {
				data[i] = byte(c.random.Uint32())
			}
		}
		return kind, data
	}
	data = make([]byte, 1+c.random.IntN(12))
	for i := range data {
		data[i] = byte(c.random.Uint32())
	}
	return kind, data
}

// grow saves random checkpoints and writes, as runtimes do and as broken clients do.
func (c *retentionCase) grow(letter string, n int) {
	c.world.t.Helper()
	name := c.prefix + letter
	if c.threads[name] == nil {
		c.threads[name] = newModelThread()
	}
	c.did("grow %s by %d", name, n)
	c.batch, c.backdated, c.writtenKeys = &pgx.Batch{}, map[string][]nsKey{}, map[string][]writeKey{}
	if c.chance(15) {
		c.d2IsDelta = true
	}
	for range n {
		switch k := c.random.IntN(100); {
		case k < 55:
			c.step(name, "", map[string]string{})
		case k < 75:
			c.call(name)
		case k < 82:
			c.remember(name)
		case k < 92:
			if key, ok := c.checkpoint(name, false); ok {
				c.tasks(name, key)
			}
		case k < 95:
			c.saveAgain(name)
		default:
			// Writes may be saved before their checkpoint, and their checkpoint never.
			key := nsKey{choose(c.random, "", "", "sub:0", "mem"), c.newID()}
			c.unsaved[name] = append(c.unsaved[name], key)
			c.tasks(name, key)
		}
	}
	c.flush(name)
}

// remember saves what a subgraph that keeps its state between calls knows.
func (c *retentionCase) remember(name string) {
	if roots := c.threads[name].newest(""); len(roots) > 0 {
		c.step(name, choose(c.random, "mem", "mem|deep"), map[string]string{"": roots[0].id})
	}
}

// call is a subgraph's call by a checkpoint of the root graph, sometimes with a call inside, or goes on with one.
func (c *retentionCase) call(name string) {
	thread := c.threads[name]
	for _, ns := range thread.namespaces() {
		if strings.Contains(ns, ":") && c.chance(15) {
			newest := thread.newest(ns)[0]
			var meta struct {
				Parents map[string]string `json:"parents"`
			}
			require.NoError(c.world.t, json.Unmarshal([]byte(thread.checkpoints[newest].metadata), &meta))
			c.step(name, ns, meta.Parents)
			return
		}
	}
	parents := map[string]string{}
	roots := thread.newest("")
	switch k := c.random.IntN(20); {
	case k == 0: // a client that names none
	case k < 3 || len(roots) == 0: // one that is not saved yet, or never will be
		parents[""] = c.newID()
	case k < 7:
		parents[""] = choose(c.random, roots...).id
	default:
		parents[""] = roots[0].id
	}
	c.clock++
	ns := fmt.Sprintf("sub:%d", c.clock)
	for range 1 + c.random.IntN(3) {
		c.step(name, ns, parents)
	}
	if c.chance(25) {
		inner := maps.Clone(parents)
		inner[ns] = thread.newest(ns)[0].id
		c.step(name, ns+"|inner:1", inner)
	}
}

// tasks saves what tasks of a checkpoint wrote.
func (c *retentionCase) tasks(name string, key nsKey) {
	channels := []string{"messages", "branch:to:a", "count"}
	if c.hasDeltas {
		channels = append(channels, "d1", "d2", "d1", "d2", "late")
	}
	if c.oldFormat || c.chance(5) {
		channels = append(channels, "__pregel_tasks", "__pregel_tasks")
	}
	for range 1 + c.random.IntN(2) {
		c.clock++
		task, path := fmt.Sprintf("task%d", c.random.IntN(1000)), fmt.Sprintf("~%d", c.random.IntN(3))
		switch c.random.IntN(10) {
		case 0:
			c.write(name, key, task, path, []string{"__interrupt__"})
		case 1:
			c.write(name, key, task, path, []string{choose(c.random, "__error__", "__resume__")})
		default:
			written := make([]string, 1+c.random.IntN(3))
			for i := range written {
				written[i] = choose(c.random, channels...)
			}
			c.write(name, key, task, path, written)
		}
	}
}

var reservedIndexes = map[string]int{"__error__": -1, "__scheduled__": -2, "__interrupt__": -3, "__resume__": -4}

func (c *retentionCase) write(name string, key nsKey, task, path string, channels []string) {
	thread := c.threads[name]
	kinds, blobs := make([]string, len(channels)), make([][]byte, len(channels))
	onlyReserved := true
	for _, channel := range channels {
		_, isReserved := reservedIndexes[channel]
		onlyReserved = onlyReserved && isReserved
	}
	for i, channel := range channels {
		kinds[i], blobs[i] = c.value()
		idx, isReserved := reservedIndexes[channel]
		if !isReserved {
			idx = i
		}
		k := writeKey{key.ns, key.id, task, idx}
		w := &modelWrite{channel: channel, kind: kinds[i], data: abbreviated(blobs[i]), path: path, created: c.time()}
		if old := thread.writes[k]; old != nil {
			if !onlyReserved {
				continue
			}
			w.path, w.created = old.path, old.created
		}
		thread.writes[k] = w
		c.writtenKeys[name] = append(c.writtenKeys[name], k)
	}
	c.batch.Queue("select langgraph.put_writes($1, $2, $3, $4, $5, null, $6, $7, $8)", name, key.ns, key.id, task, path, channels,
		kinds, blobs)
}

// saveAgain puts a checkpoint that is there with other metadata.
func (c *retentionCase) saveAgain(name string) {
	key, ok := c.checkpoint(name, false)
	if !ok {
		return
	}
	row := c.threads[name].checkpoints[key]
	fields := maps.Clone(row.fields)
	fields["again"] = c.clock
	metadata, err := json.Marshal(fields)
	require.NoError(c.world.t, err)
	again := c.world.parse(row.checkpoint, string(metadata))
	again.parent, again.created, again.updated = row.parent, row.created, c.time()
	c.threads[name].checkpoints[key] = again
	c.batch.Queue("select langgraph.put_checkpoint($1, $2, $3, $4, $5, $6)", name, key.ns, key.id, nil, row.checkpoint,
		string(metadata))
	c.backdated[name] = append(c.backdated[name], key)
}

// step saves a checkpoint after one of its namespace, or after none.
func (c *retentionCase) step(name, ns string, parents map[string]string) {
	thread := c.threads[name]
	old := c.oldFormat && c.chance(70)
	var parent *modelCheckpoint
	var parentID string
	if existing := thread.newest(ns); len(existing) > 0 {
		key := existing[0]
		if c.chance(25) {
			key = choose(c.random, existing...)
		}
		switch k := c.random.IntN(100); {
		case k < 3:
		case k < 6 && !old:
			parentID = "missing"
		default:
			parent, parentID = thread.checkpoints[key], key.id
			if c.chance(75) {
				c.tasks(name, key)
			}
		}
	}
	b := c.build(thread, ns, parent)
	b.metadata["parents"] = parents
	key := nsKey{ns, c.idFor(name, ns, parentID)}
	b.checkpoint["id"], b.checkpoint["v"] = key.id, 4
	if old {
		b.checkpoint["v"] = 1 + c.random.IntN(3)
	}
	checkpoint, err := json.Marshal(b.checkpoint)
	require.NoError(c.world.t, err)
	metadata, err := json.Marshal(b.metadata)
	require.NoError(c.world.t, err)
	row := c.world.parse(string(checkpoint), string(metadata))
	row.parent, row.created, row.updated = parentID, c.time(), c.time()
	thread.checkpoints[key] = row
	var parentArg any
	if parentID != "" {
		parentArg = parentID
	}
	c.batch.Queue("select langgraph.put_checkpoint($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)", name, ns, key.id, parentArg,
		string(checkpoint), string(metadata), b.channels, b.versions, b.kinds, b.blobs)
	c.backdated[name] = append(c.backdated[name], key)
}

// idFor mostly sorts above all others, and may be one to which writes are saved already.
func (c *retentionCase) idFor(name, ns, parentID string) string {
	for i, key := range c.unsaved[name] {
		if key.ns == ns && key.id != parentID && c.chance(40) {
			c.unsaved[name] = slices.Delete(c.unsaved[name], i, i+1)
			return key.id
		}
	}
	if c.chance(6) {
		return c.oldID()
	}
	return c.newID()
}

// built is a checkpoint in the making, with the values that are new with it.
type built struct {
	checkpoint, metadata map[string]any
	channels, versions   []string
	kinds                []string
	blobs                [][]byte
}

// build makes the state that follows parent's (nil for a first one) with some channels updated.
func (c *retentionCase) build(thread *modelThread, ns string, parent *modelCheckpoint) *built {
	if parent == nil {
		parent = &modelCheckpoint{}
	}
	b := &built{channels: []string{}, versions: []string{}, kinds: []string{}, blobs: [][]byte{}, metadata: map[string]any{"source": "loop", "step": c.clock, "tenant": c.tenant(c.random.IntN(2))}}
	if c.chance(85) {
		b.metadata["run_id"] = c.run(c.random.IntN(4))
	}
	s := &channelState{c: c, thread: thread, ns: ns, b: b, versions: maps.Clone(parent.versions), inline: map[string]any{}, parent: parent}
	if s.versions == nil {
		s.versions = map[string]string{}
	}
	counters := map[string]any{}
	s.plainBlob("messages", 50)
	s.plainInline("count", 40)
	s.plainInline("flag", 30)
	s.ephemeral("branch:to:a")
	if c.hasDeltas {
		s.delta("d1", 50, counters)
		s.delta("late", 12, counters)
		switch {
		case c.d2IsDelta:
			s.delta("d2", 50, counters)
		case c.d2IsInline:
			s.plainInline("d2", 50)
		default:
			s.plainBlob("d2", 50)
		}
	}
	if len(counters) > 0 {
		b.metadata["counters_since_delta_snapshot"] = counters
	}
	if c.chance(4) { // a value that no checkpoint names
		s.store("messages", c.newVersion(), "msgpack", []byte("unreferenced"))
	}
	versions := map[string]any{}
	for channel, version := range s.versions {
		if versions[channel] = version; c.integers {
			versions[channel] = json.Number(version)
		}
	}
	b.checkpoint = map[string]any{"channel_values": s.inline, "channel_versions": versions, "versions_seen": map[string]any{}}
	return b
}

// channelState is the state of the channels of a checkpoint in the making.
type channelState struct {
	c        *retentionCase
	thread   *modelThread
	ns       string
	b        *built
	parent   *modelCheckpoint
	versions map[string]string
	inline   map[string]any
}

// store saves a value with the checkpoint.
func (s *channelState) store(channel, version, kind string, data []byte) {
	s.b.channels, s.b.versions = append(s.b.channels, channel), append(s.b.versions, version)
	s.b.kinds, s.b.blobs = append(s.b.kinds, kind), append(s.b.blobs, data)
	s.thread.blobs[blobKey{s.ns, channel, version}] = &modelBlob{kind: kind, data: abbreviated(data), isNull: data == nil}
}

func (s *channelState) bump(channel string) string {
	s.versions[channel] = s.c.newVersion()
	return s.versions[channel]
}

func (s *channelState) plainBlob(channel string, percent int) {
	if s.c.chance(percent) {
		kind, data := s.c.value()
		s.store(channel, s.bump(channel), kind, data)
	}
}

func (s *channelState) plainInline(channel string, percent int) {
	if v, ok := s.parent.inline[channel]; ok {
		s.inline[channel] = json.RawMessage(v)
	}
	if s.c.chance(percent) {
		s.bump(channel)
		s.inline[channel] = choose[any](s.c.random, s.c.clock, "text", true, false, nil)
	}
}

// ephemeral is a channel that keeps a version and no value.
func (s *channelState) ephemeral(channel string) {
	if s.c.chance(50) {
		if version := s.bump(channel); s.c.chance(30) {
			s.store(channel, version, "empty", nil)
		}
	}
}

// delta is a channel of which only snapshots are stored; each other checkpoint counts.
func (s *channelState) delta(channel string, percent int, counters map[string]any) {
	updated := s.c.chance(percent)
	if updated {
		s.bump(channel)
	}
	if _, written := s.versions[channel]; written && s.c.chance(15) {
		version := s.versions[channel]
		if !updated {
			version = s.bump(channel)
		}
		s.store(channel, version, "msgpack", []byte(fmt.Sprintf("snapshot %d", s.c.clock)))
		s.inline[channel] = true
		return
	}
	counters[channel] = []int{s.c.random.IntN(5), 1 + s.c.random.IntN(9)}
}

// flush saves what was grown, at the times the model has. The trigger of checkpoints would move updated_at.
func (c *retentionCase) flush(name string) {
	c.world.t.Helper()
	thread := c.threads[name]
	var namespaces, ids []string
	var created, updated []time.Time
	for _, key := range c.backdated[name] {
		row := thread.checkpoints[key]
		namespaces, ids = append(namespaces, key.ns), append(ids, key.id)
		created, updated = append(created, row.created), append(updated, row.updated)
	}
	c.batch.Queue("set session_replication_role = replica")
	c.batch.Queue(`update langgraph.checkpoints c set created_at = u.created, updated_at = u.updated
		from unnest($2::text[], $3::text[], $4::timestamptz[], $5::timestamptz[]) u (ns, id, created, updated)
		where c.thread_id = $1 and c.checkpoint_ns = u.ns and c.checkpoint_id = u.id`, name, namespaces, ids, created, updated)
	var writeNS, writeIDs, tasks []string
	var idxs []int
	var writtenAt []time.Time
	for _, k := range c.writtenKeys[name] {
		writeNS, writeIDs, tasks, idxs = append(writeNS, k.ns), append(writeIDs, k.id), append(tasks, k.task), append(idxs, k.idx)
		writtenAt = append(writtenAt, thread.writes[k].created)
	}
	c.batch.Queue(`update langgraph.checkpoint_writes w set created_at = u.created
		from unnest($2::text[], $3::text[], $4::text[], $5::int[], $6::timestamptz[]) u (ns, id, task, idx, created)
		where w.thread_id = $1 and w.checkpoint_ns = u.ns and w.checkpoint_id = u.id and w.task_id = u.task and w.idx = u.idx`,
		name, writeNS, writeIDs, tasks, idxs, writtenAt)
	c.batch.Queue("reset session_replication_role")
	require.NoError(c.world.t, c.world.conn.SendBatch(c.world.t.Context(), c.batch).Close(), "%s=%d", caseVariable, c.seed)
}
