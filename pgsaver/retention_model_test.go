package pgsaver_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	cmpdiff "github.com/google/go-cmp/cmp"
)

// The model of retention: what the tables hold, what a reader gets from them, and what each operation must leave behind. It
// follows the words of the functions' headers, by the simplest algorithm that comes to mind, and shares none of theirs.

// nsKey names a checkpoint of a thread.
type nsKey struct{ ns, id string }

func compareKeys(a, b nsKey) int { return cmp.Or(cmp.Compare(a.ns, b.ns), cmp.Compare(a.id, b.id)) }

// blobKey names a stored value of a thread.
type blobKey struct{ ns, channel, version string }

// writeKey names a write of a thread.
type writeKey struct {
	ns, id, task string
	idx          int
}

// modelCheckpoint is a row of checkpoints, taken apart.
type modelCheckpoint struct {
	parent           string // empty for null
	checkpoint       string // canonical JSON
	metadata         string // canonical JSON
	created, updated time.Time
	size             int // bytes as stored; known once it was read back

	old      bool              // format older than 4
	versions map[string]string // by channel
	inline   map[string]string // channel to JSON
	counters map[string]bool   // channels counted since their snapshot
	root     string            // the checkpoint of the root graph that made the call; empty for none
	run      string
	fields   map[string]any // of the metadata
}

type modelBlob struct {
	kind, data string
	isNull     bool
	size       int
}

type modelWrite struct {
	channel, kind, data, path string
	created                   time.Time
	size                      int
}

// modelThread is everything the database keeps about one thread.
type modelThread struct {
	checkpoints map[nsKey]*modelCheckpoint
	blobs       map[blobKey]*modelBlob
	writes      map[writeKey]*modelWrite
	pins        map[nsKey]bool
	ttl         time.Duration // 0 for none
}

func newModelThread() *modelThread {
	return &modelThread{
		checkpoints: map[nsKey]*modelCheckpoint{}, blobs: map[blobKey]*modelBlob{}, writes: map[writeKey]*modelWrite{},
		pins: map[nsKey]bool{},
	}
}

// clone shares the rows, which never change once they are in a thread, except for a parent (see withoutParent).
func (t *modelThread) clone() *modelThread {
	return &modelThread{
		checkpoints: maps.Clone(t.checkpoints), blobs: maps.Clone(t.blobs), writes: maps.Clone(t.writes),
		pins: maps.Clone(t.pins), ttl: t.ttl,
	}
}

func (c *modelCheckpoint) withoutParent() *modelCheckpoint {
	orphan := *c
	orphan.parent = ""
	return &orphan
}

// parseCheckpoint takes the two JSON columns apart.
func parseCheckpoint(checkpoint, metadata string) (*modelCheckpoint, error) {
	var parsed struct {
		V        float64                    `json:"v"`
		Values   map[string]json.RawMessage `json:"channel_values"`
		Versions map[string]json.RawMessage `json:"channel_versions"`
	}
	if err := json.Unmarshal([]byte(checkpoint), &parsed); err != nil {
		return nil, err
	}
	var meta struct {
		Parents  map[string]string `json:"parents"`
		RunID    string            `json:"run_id"`
		Counters map[string]any    `json:"counters_since_delta_snapshot"`
	}
	if err := json.Unmarshal([]byte(metadata), &meta); err != nil {
		return nil, err
	}
	c := &modelCheckpoint{
		checkpoint: checkpoint, metadata: metadata, old: parsed.V < 4, root: meta.Parents[""], run: meta.RunID,
		versions: map[string]string{}, inline: map[string]string{}, counters: map[string]bool{},
	}
	for channel, version := range parsed.Versions {
		c.versions[channel] = strings.Trim(string(version), `"`)
	}
	for channel, value := range parsed.Values {
		c.inline[channel] = string(value)
	}
	for channel := range meta.Counters {
		c.counters[channel] = true
	}
	return c, json.Unmarshal([]byte(metadata), &c.fields)
}

// canonicalJSON is the same text for equal values.
func canonicalJSON(text string) (string, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		return "", err
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return strings.TrimSuffix(out.String(), "\n"), err
}

// stored is the value a checkpoint itself keeps of a channel, as text; false when it keeps none. A blob wins over what is
// inline; an inline null is none.
func (t *modelThread) stored(key nsKey, channel string) (string, bool) {
	c := t.checkpoints[key]
	if version, ok := c.versions[channel]; ok {
		if b := t.blobs[blobKey{key.ns, channel, version}]; b != nil && b.kind != "empty" {
			return b.kind + ":" + b.data, true
		}
	}
	if v, ok := c.inline[channel]; ok && v != "null" {
		return "inline:" + v, true
	}
	return "", false
}

// deltaChannels are the channels of a namespace that some checkpoint counts, or of which one keeps a snapshot: an inline true
// with a value behind it.
func (t *modelThread) deltaChannels(ns string) []string {
	found := map[string]bool{}
	for key, c := range t.checkpoints {
		if key.ns != ns {
			continue
		}
		for channel := range c.counters {
			found[channel] = true
		}
		for channel, v := range c.inline {
			if stored, ok := t.stored(key, channel); v == "true" && ok && !strings.HasPrefix(stored, "inline:") {
				found[channel] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// lineage is the chain of existing ancestors, nearest first; it ends where a parent is missing or was met before.
func (t *modelThread) lineage(key nsKey) []nsKey {
	var chain []nsKey
	met := map[nsKey]bool{key: true}
	for at := key; ; {
		parent := nsKey{key.ns, t.checkpoints[at].parent}
		if parent.id == "" || t.checkpoints[parent] == nil || met[parent] {
			return chain
		}
		met[parent] = true
		chain = append(chain, parent)
		at = parent
	}
}

// writesTo are the writes of a checkpoint's tasks to a channel (all channels when it is empty), in the order they apply.
func (t *modelThread) writesTo(key nsKey, channel string, byTaskID bool) []writeKey {
	var found []writeKey
	for k, w := range t.writes {
		if k.ns == key.ns && k.id == key.id && (channel == "" || w.channel == channel) {
			found = append(found, k)
		}
	}
	slices.SortFunc(found, func(a, b writeKey) int {
		byPath := 0
		if !byTaskID {
			byPath = cmp.Compare(t.writes[a].path, t.writes[b].path)
		}
		return cmp.Or(byPath, cmp.Compare(a.task, b.task), cmp.Compare(a.idx, b.idx))
	})
	return found
}

// history is what rebuilds a delta channel, a line each: the seed, then the writes since, oldest first.
func (t *modelThread) history(key nsKey, channel string, byTaskID bool) []string {
	var steps [][]string // of each ancestor, nearest first
	for _, ancestor := range t.lineage(key) {
		var lines []string
		seed, isSeed := t.stored(ancestor, channel)
		if isSeed {
			lines = append(lines, "seed of "+ancestor.id+" "+seed)
		}
		for _, k := range t.writesTo(ancestor, channel, byTaskID) {
			w := t.writes[k]
			lines = append(lines, fmt.Sprintf("write of %s %s %s %d %s:%s", ancestor.id, k.task, w.path, k.idx, w.kind, w.data))
		}
		steps = append(steps, lines)
		if isSeed {
			break
		}
	}
	slices.Reverse(steps)
	return slices.Concat(steps...)
}

// tuple is what a reader gets of a checkpoint, apart from its row: stored values, pending writes, packets of old formats.
func (t *modelThread) tuple(key nsKey) []string {
	c := t.checkpoints[key]
	var lines []string
	for channel, version := range c.versions {
		if b := t.blobs[blobKey{key.ns, channel, version}]; b != nil && b.kind != "empty" {
			lines = append(lines, fmt.Sprintf("value %s %s:%s", channel, b.kind, b.data))
		}
	}
	slices.Sort(lines)
	for _, k := range t.writesTo(key, "", false) {
		w := t.writes[k]
		lines = append(lines, fmt.Sprintf("pending %s %s %d %s %s:%s", k.task, w.path, k.idx, w.channel, w.kind, w.data))
	}
	if c.old && c.parent != "" {
		for _, k := range t.writesTo(nsKey{key.ns, c.parent}, "__pregel_tasks", false) {
			lines = append(lines, fmt.Sprintf("packet %s:%s", t.writes[k].kind, t.writes[k].data))
		}
	}
	return lines
}

// reading is all that retention must leave as it is about a checkpoint, by what it is called: its row without the parent, the
// tuple, and the history of those of the delta channels that it does not keep itself.
func (t *modelThread) reading(key nsKey, deltaChannels []string) map[string][]string {
	c := t.checkpoints[key]
	read := map[string][]string{
		"checkpoint": {c.checkpoint}, "metadata": {c.metadata}, "tuple": t.tuple(key),
		"times": {c.created.String(), c.updated.String()},
	}
	for _, channel := range deltaChannels {
		if _, ok := t.stored(key, channel); !ok {
			read["history of "+channel] = t.history(key, channel, false)
			read["history by task of "+channel] = t.history(key, channel, true)
		}
	}
	return read
}

// harm is what a removal did to a checkpoint that it left: empty when it reads back as before, and has its parent unless that
// went.
func (t *modelThread) harm(before *modelThread) string {
	for _, ns := range t.namespaces() {
		channels := before.deltaChannels(ns)
		for _, key := range t.newest(ns) {
			was, is := before.checkpoints[key], t.checkpoints[key]
			if diff := cmpdiff.Diff(before.reading(key, channels), t.reading(key, channels)); diff != "" {
				return fmt.Sprintf("%v reads back differently (-before +after):\n%s", key, diff)
			}
			parent := nsKey{ns, was.parent}
			wentWithParent := before.checkpoints[parent] != nil && t.checkpoints[parent] == nil
			if wentWithParent && is.parent != "" || !wentWithParent && is.parent != was.parent {
				return fmt.Sprintf("%v has parent %q, and had %q", key, is.parent, was.parent)
			}
		}
	}
	return ""
}

// needs are the ancestors without which a checkpoint would read back differently.
func (t *modelThread) needs(key nsKey) []nsKey {
	var needed []nsKey
	chain := t.lineage(key)
	for _, channel := range t.deltaChannels(key.ns) {
		if _, ok := t.stored(key, channel); ok {
			continue
		}
		last := -1
		for i, ancestor := range chain {
			_, isSeed := t.stored(ancestor, channel)
			if isSeed || len(t.writesTo(ancestor, channel, false)) > 0 {
				last = i
			}
			if isSeed {
				break
			}
		}
		needed = append(needed, chain[:last+1]...)
	}
	c := t.checkpoints[key]
	parent := nsKey{key.ns, c.parent}
	if c.old && t.checkpoints[parent] != nil && len(t.writesTo(parent, "__pregel_tasks", false)) > 0 {
		needed = append(needed, parent)
	}
	return needed
}

// newest are the checkpoints of a namespace, newest first.
func (t *modelThread) newest(ns string) []nsKey {
	var keys []nsKey
	for key := range t.checkpoints {
		if key.ns == ns {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b nsKey) int { return compareKeys(b, a) })
	return keys
}

func (t *modelThread) namespaces() []string {
	found := map[string]bool{}
	for key := range t.checkpoints {
		found[key.ns] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// isCall says whether a namespace is that of a single call of a subgraph, made by this checkpoint of the root graph.
func (t *modelThread) isCall(ns string) (root string, ok bool) {
	if !strings.Contains(ns, ":") {
		return "", false
	}
	root = t.checkpoints[t.newest(ns)[0]].root
	return root, root != ""
}

// pinned are the checkpoints that pins hold: themselves, and the newest of each call that one of the root graph made.
func (t *modelThread) pinned() map[nsKey]bool {
	held := maps.Clone(t.pins)
	for _, ns := range t.namespaces() {
		if root, ok := t.isCall(ns); ok && t.pins[nsKey{"", root}] {
			held[t.newest(ns)[0]] = true
		}
	}
	return held
}

// removable are those of the given that can go: all but the least set that holds what is pinned, what is not given, and
// what any member needs.
func (t *modelThread) removable(given map[nsKey]bool, ignorePins bool) map[nsKey]bool {
	held := map[nsKey]bool{}
	if !ignorePins {
		held = t.pinned()
	}
	stays := map[nsKey]bool{}
	var todo []nsKey
	for key := range t.checkpoints {
		if !given[key] || held[key] {
			todo = append(todo, key)
		}
	}
	for len(todo) > 0 {
		key := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !stays[key] {
			stays[key] = true
			todo = append(todo, t.needs(key)...)
		}
	}
	going := map[nsKey]bool{}
	for key := range given {
		if !stays[key] {
			going[key] = true
		}
	}
	return going
}

// removal is what an operation reports about a thread.
type removal struct {
	Checkpoints, CheckpointBlobs, CheckpointWrites, Bytes, Kept int64
}

// remove takes checkpoints away with their writes, the blobs of the namespaces that nothing refers to, and in whole
// namespaces the writes that belong to no checkpoint.
func (t *modelThread) remove(going map[nsKey]bool, inNamespace, isWhole func(string) bool) removal {
	var r removal
	for key := range going {
		r.Checkpoints++
		r.Bytes += int64(t.checkpoints[key].size)
		delete(t.checkpoints, key)
	}
	for key, c := range t.checkpoints {
		if going[nsKey{key.ns, c.parent}] {
			t.checkpoints[key] = c.withoutParent()
		}
	}
	for k, w := range t.writes {
		key := nsKey{k.ns, k.id}
		if going[key] || isWhole(k.ns) && t.checkpoints[key] == nil {
			r.CheckpointWrites++
			r.Bytes += int64(w.size)
			delete(t.writes, k)
		}
	}
	referenced := t.referencedBlobs()
	for k, b := range t.blobs {
		if inNamespace(k.ns) && !referenced[k] {
			r.CheckpointBlobs++
			r.Bytes += int64(b.size)
			delete(t.blobs, k)
		}
	}
	return r
}

func (t *modelThread) referencedBlobs() map[blobKey]bool {
	referenced := map[blobKey]bool{}
	for key, c := range t.checkpoints {
		for channel, version := range c.versions {
			referenced[blobKey{key.ns, channel, version}] = true
		}
	}
	return referenced
}

// pruning is what prune and sweep are told about a thread. Zero values: keep everything, nothing is too old.
type pruning struct {
	all       bool
	keep      int
	keepHeads bool
	olderThan time.Time
}

func (t *modelThread) isHead(key nsKey) bool {
	for other, c := range t.checkpoints {
		if other.ns == key.ns && c.parent == key.id {
			return false
		}
	}
	return true
}

func (t *modelThread) isWaiting(key nsKey) bool {
	return t.isHead(key) && len(t.writesTo(key, "__interrupt__", false)) > 0
}

// condemned are the checkpoints that the rules would have go, whatever needs them.
func (t *modelThread) condemned(p pruning) map[nsKey]bool {
	going := map[nsKey]bool{}
	for _, ns := range t.namespaces() {
		for place, key := range t.newest(ns) {
			tooMany := p.keep > 0 && place >= p.keep
			tooOld := !p.olderThan.IsZero() && place > 0 && t.checkpoints[key].created.Before(p.olderThan)
			spared := t.isWaiting(key) || p.keepHeads && t.isHead(key)
			if p.all || (tooMany || tooOld) && !spared {
				going[key] = true
			}
		}
	}
	return going
}

func inRoot(keys map[nsKey]bool, isRoot bool) map[nsKey]bool {
	found := map[nsKey]bool{}
	for key := range keys {
		if (key.ns == "") == isRoot {
			found[key] = true
		}
	}
	return found
}

// finished are the namespaces of calls that nothing can resume: their root checkpoint goes, or does not exist while the root
// graph has saved a newer one than the call did.
func (t *modelThread) finished(goingRoots map[nsKey]bool) map[string]bool {
	over := map[string]bool{}
	for _, ns := range t.namespaces() {
		root, ok := t.isCall(ns)
		if !ok {
			continue
		}
		switch key := (nsKey{"", root}); {
		case goingRoots[key]:
			over[ns] = true
		case t.checkpoints[key] == nil:
			roots := t.newest("")
			over[ns] = len(roots) > 0 && roots[0].id > t.newest(ns)[0].id
		}
	}
	return over
}

// prune changes the thread as prune and sweep must.
func (t *modelThread) prune(p pruning) removal {
	condemned := t.condemned(p)
	going := t.removable(inRoot(condemned, true), false)
	over := t.finished(going)
	for key := range t.checkpoints {
		if over[key.ns] {
			condemned[key] = true
		}
	}
	maps.Copy(going, t.removable(inRoot(condemned, false), false))
	r := t.remove(going, func(string) bool { return true }, func(ns string) bool { return p.all || over[ns] })
	r.Kept = int64(len(condemned) - len(going))
	if p.all && len(t.checkpoints) == 0 {
		t.ttl = 0
	}
	return r
}

// deleteForRuns changes the thread as delete_for_runs must; false when the runs saved nothing in it.
func (t *modelThread) deleteForRuns(runs []string) (removal, bool) {
	given := map[nsKey]bool{}
	namespaces := map[string]bool{}
	for key, c := range t.checkpoints {
		if c.run != "" && slices.Contains(runs, c.run) {
			given[key] = true
			namespaces[key.ns] = true
		}
	}
	if len(given) == 0 {
		return removal{}, false
	}
	going := t.removable(given, false)
	r := t.remove(going, func(ns string) bool { return namespaces[ns] }, func(string) bool { return false })
	r.Kept = int64(len(given) - len(going))
	return r, true
}

// policy is a row of retention_policies. Zero values stand for null.
type policy struct {
	name, pattern, tenant string
	idle, maxAge          time.Duration
	keepLast              int
	disabled              bool
}

func (p policy) matches(threadID string, t *modelThread) bool {
	newest := t.checkpoints[t.newest(t.namespaces()[0])[0]]
	byPattern := p.pattern == "" || p.pattern == threadID ||
		strings.HasSuffix(p.pattern, "%") && strings.HasPrefix(threadID, strings.TrimSuffix(p.pattern, "%"))
	return !p.disabled && byPattern && (p.tenant == "" || newest.fields["tenant"] == p.tenant)
}

// lastActivity is when the thread last got a checkpoint or a write.
func (t *modelThread) lastActivity() time.Time {
	var last time.Time
	for _, c := range t.checkpoints {
		if c.updated.After(last) {
			last = c.updated
		}
	}
	for _, w := range t.writes {
		if w.created.After(last) {
			last = w.created
		}
	}
	return last
}

// sweep changes the thread as sweep must.
func (t *modelThread) sweep(threadID string, policies []policy, now time.Time) removal {
	if len(t.checkpoints) == 0 {
		return removal{}
	}
	idle, maxAge, keep := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64), math.MaxInt
	for _, p := range policies {
		if !p.matches(threadID, t) {
			continue
		}
		if p.idle > 0 {
			idle = min(idle, p.idle)
		}
		if p.maxAge > 0 {
			maxAge = min(maxAge, p.maxAge)
		}
		if p.keepLast > 0 {
			keep = min(keep, p.keepLast)
		}
	}
	if t.ttl > 0 {
		idle = t.ttl
	}
	switch {
	case idle < math.MaxInt64 && t.lastActivity().Before(now.Add(-idle)):
		return t.prune(pruning{all: true})
	case maxAge < math.MaxInt64:
		return t.prune(pruning{keep: keep, olderThan: now.Add(-maxAge)})
	case keep < math.MaxInt:
		return t.prune(pruning{keep: keep})
	}
	return removal{}
}

// fork is the thread that fork_thread must make from a checkpoint of the root graph.
func (t *modelThread) fork(id string) *modelThread {
	others := map[nsKey]bool{}
	for key := range t.checkpoints {
		if key != (nsKey{"", id}) {
			others[key] = true
		}
	}
	unwantedRoots := t.removable(inRoot(others, true), true)
	wanted := map[nsKey]bool{}
	for key := range t.checkpoints {
		if key.ns == "" && !unwantedRoots[key] {
			wanted[key] = true
		}
	}
	subgraphs := inRoot(others, false)
	for key, c := range t.checkpoints {
		if key.ns != "" && c.root != "" && wanted[nsKey{"", c.root}] {
			delete(subgraphs, key)
		}
	}
	for _, ns := range t.namespaces() {
		if key, ok := t.memory(ns, id); ok {
			delete(subgraphs, key)
		}
	}
	unwanted := t.removable(subgraphs, true)
	for key := range t.checkpoints {
		if key.ns != "" && !unwanted[key] {
			wanted[key] = true
		}
	}

	made := newModelThread()
	for key := range wanted {
		c := t.checkpoints[key]
		if !wanted[nsKey{key.ns, c.parent}] {
			c = c.withoutParent()
		}
		made.checkpoints[key] = c
	}
	for k := range made.referencedBlobs() {
		if b := t.blobs[k]; b != nil {
			made.blobs[k] = b
		}
	}
	for k, w := range t.writes {
		if wanted[nsKey{k.ns, k.id}] {
			made.writes[k] = w
		}
	}
	return made
}

// memory is what a subgraph that keeps its state between calls knew at a checkpoint of the root graph: the newest that this
// checkpoint or an ancestor made, or that an ancestor made which was pruned.
func (t *modelThread) memory(ns, id string) (nsKey, bool) {
	if ns == "" || strings.Contains(ns, ":") {
		return nsKey{}, false
	}
	line := append(t.lineage(nsKey{"", id}), nsKey{"", id})
	for _, key := range t.newest(ns) {
		root := nsKey{"", t.checkpoints[key].root}
		if slices.Contains(line, root) || t.checkpoints[root] == nil && key.id < id {
			return key, true
		}
	}
	return nsKey{}, false
}

// copied is the thread that copy_thread must make.
func (t *modelThread) copied() *modelThread {
	made := t.clone()
	made.pins, made.ttl = map[nsKey]bool{}, 0
	return made
}
