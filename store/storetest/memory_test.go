package storetest_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/pgweft/pgweft/store"
	"github.com/pgweft/pgweft/store/storetest"
)

// place keeps what a database keeps, so that the suite can be checked. Stores of several settings may share it.
type place struct {
	mu       sync.Mutex
	items    map[address]*row
	distance store.Distance
	// hasText says whether searches by words are possible.
	hasText bool
	// last is the latest time given out: two batches never have the same.
	last   time.Time
	faults faults
}

// faults are what a broken store does wrong; see broken_test.go.
type faults struct {
	validatesNothing, ignoresContext, writesFirst, firstPutWins          bool
	mergesValues, inheritsCreatedAt, forgetsCreatedAt, readsFloats       bool
	showsExpired, listsExpired, wholeMinutes, ignoresDefaultTTL          bool
	prefixIsText, prefixIsPattern, matchesCut, wildcardIsGreedy          bool
	oldestFirst, reversesTies, filtersLast, refreshesWhatMatches         bool
	everyVector, firstVector, embedsAgain, ignoresHashes, keepsVectors   bool
	embedsWhatIsReplaced, indexesEverything, comparesText, mistypedFails bool
	absentMatchesNothing, hybridIsVector                                 bool
}

type address struct{ prefix, key string }

type row struct {
	value            []byte
	created, updated time.Time
	ttl              time.Duration
	expires          time.Time
	vectors          []vector
}

type vector struct {
	field, hash string
	at          []float32
}

func newPlace() *place {
	return &place{items: map[address]*row{}, distance: store.DistanceCosine, hasText: true}
}

// harness is everything that the suite can check.
func (p *place) harness() storetest.Harness {
	return storetest.Harness{
		Open: func(_ *testing.T, settings storetest.Settings) store.Store {
			return &memory{place: p, settings: settings}
		},
		Advance: p.advance,
		Index:   &store.IndexConfig{Dims: 64, Distance: p.distance},
		Text:    p.hasText,
	}
}

func (p *place) advance(_ *testing.T, prefix []string, d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for at, r := range p.items {
		if within(at.prefix, prefix) && r.ttl > 0 {
			r.expires = r.expires.Add(-d)
		}
	}
}

func within(prefix string, labels []string) bool {
	joined := store.JoinNamespace(labels)
	return joined == "" || prefix == joined || strings.HasPrefix(prefix, joined+".")
}

// memory is a Store that does everything the suite checks.
type memory struct {
	*place
	settings storetest.Settings
}

func (m *memory) Batch(ctx context.Context, ops ...store.Op) ([]store.Result, error) {
	if err := ctx.Err(); err != nil && !m.faults.ignoresContext {
		return nil, err
	}
	if err := store.Validate(ops...); err != nil && !m.faults.validatesNothing {
		return nil, err
	}
	prepared, err := m.prepare(ctx, ops)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	write := func() {
		for _, write := range prepared.writes {
			write(now)
		}
	}
	if m.faults.writesFirst {
		write()
	}
	results := make([]store.Result, len(ops))
	for i, op := range ops {
		if results[i], err = m.read(op, prepared.queries[i], now); err != nil {
			return nil, err
		}
	}
	if !m.faults.writesFirst {
		write()
	}
	return results, nil
}

// now is a time after any other, to the microsecond, as a database's.
func (m *memory) now() time.Time {
	now := time.Now().UTC().Truncate(time.Microsecond)
	if !now.After(m.last) {
		now = m.last.Add(time.Microsecond)
	}
	m.last = now
	return now
}

// preparation is what a batch needs before it begins.
type preparation struct {
	writes  []func(now time.Time)
	queries map[int][]float32
}

func (m *memory) prepare(ctx context.Context, ops []store.Op) (preparation, error) {
	prepared := preparation{queries: map[int][]float32{}}
	puts := map[address]int{}
	for i, op := range ops {
		if put, ok := op.(store.PutOp); ok {
			at := address{store.JoinNamespace(put.Namespace), put.Key}
			if _, again := puts[at]; !again || !m.faults.firstPutWins {
				puts[at] = i
			}
		}
	}
	embed := &embedding{memory: m}
	for i, op := range ops {
		switch op := op.(type) {
		case store.PutOp:
			at := address{store.JoinNamespace(op.Namespace), op.Key}
			write, err := m.put(at, op, embed, puts[at] != i)
			if err != nil {
				return prepared, err
			}
			prepared.writes = append(prepared.writes, write)
		case store.SearchOp:
			if err := m.checkSearch(op); err != nil {
				return prepared, err
			}
			if mode := m.mode(op); mode == store.ModeVector || mode == store.ModeHybrid {
				query, err := m.settings.Index.EmbedQuery(ctx, op.Query)
				if err != nil {
					return prepared, err
				}
				prepared.queries[i] = query
			}
		}
	}
	return prepared, embed.run(ctx)
}

func (m *memory) mode(op store.SearchOp) store.Mode {
	switch {
	case op.Mode != "" || op.Query == "":
		return op.Mode
	case m.settings.Index != nil:
		return store.ModeVector
	default:
		return store.ModeText
	}
}

func (m *memory) checkSearch(op store.SearchOp) error {
	mode := m.mode(op)
	if (mode == store.ModeText && !m.hasText) || (mode != "" && mode != store.ModeText && m.settings.Index == nil) {
		return fmt.Errorf("%w: the store has no index for mode %q", store.ErrNotEnabled, mode)
	}
	_, err := newFilter(op.Filter)
	return err
}

// embedding collects the texts of a batch.
type embedding struct {
	memory *memory
	texts  []string
	slots  []*vector
}

func (e *embedding) run(ctx context.Context) error {
	if len(e.texts) == 0 {
		return nil
	}
	vectors, err := e.memory.settings.Index.EmbedDocuments(ctx, e.texts)
	if err != nil {
		return err
	}
	for i, slot := range e.slots {
		slot.at = vectors[i]
	}
	return nil
}

// vectors are those an item will have; the stored ones where the text is the same.
func (e *embedding) vectors(at address, op store.PutOp) ([]*vector, error) {
	index := e.memory.settings.Index
	if index == nil {
		return nil, nil
	}
	if e.memory.faults.indexesEverything && op.Index != nil && len(op.Index) == 0 {
		op.Index = nil
	}
	texts, err := index.Texts(op.Value, op.Index)
	if err != nil {
		return nil, err
	}
	var vectors []*vector
	for _, text := range texts {
		v := &vector{field: text.Field, hash: string(index.Hash(text.Text))}
		if kept := e.memory.kept(at, *v); kept != nil {
			v.at = kept
		} else {
			e.texts = append(e.texts, text.Text)
			e.slots = append(e.slots, v)
		}
		vectors = append(vectors, v)
	}
	return vectors, nil
}

func (m *memory) kept(at address, wanted vector) []float32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.items[at]
	if r == nil || wanted.hash == "" || m.faults.embedsAgain {
		return nil
	}
	for _, v := range r.vectors {
		if v.field == wanted.field && (v.hash == wanted.hash || m.faults.ignoresHashes) {
			return v.at
		}
	}
	return nil
}

func (m *memory) put(at address, op store.PutOp, embed *embedding, replaced bool) (func(time.Time), error) {
	if op.Value == nil {
		return func(time.Time) {
			if !replaced {
				delete(m.items, at)
			}
		}, nil
	}
	value, err := store.EncodeValue(op.Value)
	if err != nil {
		return nil, err
	}
	if replaced && !m.faults.embedsWhatIsReplaced {
		return func(time.Time) {}, nil
	}
	vectors, err := embed.vectors(at, op)
	if err != nil {
		return nil, err
	}
	ttl := m.ttl(op)
	return func(now time.Time) {
		if replaced {
			return
		}
		r := &row{value: value, created: now, updated: now, ttl: ttl, expires: now.Add(ttl)}
		old := m.items[at]
		if old != nil && (m.alive(old, now) || m.faults.inheritsCreatedAt) && !m.faults.forgetsCreatedAt {
			r.created = old.created
		}
		if old != nil && m.faults.mergesValues {
			r.value = merged(old.value, r.value)
		}
		for _, v := range vectors {
			r.vectors = append(r.vectors, *v)
		}
		if old != nil && m.faults.keepsVectors {
			r.vectors = append(r.vectors, old.vectors...)
		}
		m.items[at] = r
	}, nil
}

// ttl is 0 for what lasts.
func (m *memory) ttl(op store.PutOp) time.Duration {
	config := m.settings.TTL
	if m.faults.ignoresDefaultTTL {
		config = nil
	}
	ttl, _ := config.Of(op.TTL)
	if ttl = max(ttl, 0); m.faults.wholeMinutes && ttl > 0 {
		ttl = max(ttl.Truncate(time.Minute), time.Nanosecond)
	}
	return ttl
}

func merged(a, b []byte) []byte {
	value, _ := store.DecodeValue(a)
	other, _ := store.DecodeValue(b)
	maps.Copy(value, other)
	both, _ := store.EncodeValue(value)
	return both
}

func (m *memory) alive(r *row, now time.Time) bool {
	return r.ttl == 0 || r.expires.After(now) || m.faults.showsExpired
}

func (m *memory) read(op store.Op, query []float32, now time.Time) (store.Result, error) {
	switch op := op.(type) {
	case store.GetOp:
		return store.Result{Item: m.get(op, now)}, nil
	case store.SearchOp:
		items, err := m.search(op, query, now)
		return store.Result{Items: items}, err
	case store.ListNamespacesOp:
		return store.Result{Namespaces: m.list(op, now)}, nil
	}
	return store.Result{}, nil
}

func (m *memory) get(op store.GetOp, now time.Time) *store.Item {
	at := address{store.JoinNamespace(op.Namespace), op.Key}
	r := m.items[at]
	if r == nil || !m.alive(r, now) {
		return nil
	}
	m.refresh(r, op.RefreshTTL, now)
	item := m.item(at, r)
	return &item
}

func (m *memory) refresh(r *row, asked *bool, now time.Time) {
	if m.settings.TTL.Refresh(asked) && r.ttl > 0 {
		r.expires = now.Add(r.ttl)
	}
}

func (m *memory) item(at address, r *row) store.Item {
	value, err := store.DecodeValue(r.value)
	if m.faults.readsFloats {
		value = nil
		err = json.Unmarshal(r.value, &value)
	}
	if err != nil {
		panic(err)
	}
	return store.Item{
		Namespace: store.SplitNamespace(at.prefix), Key: at.key, Value: value,
		CreatedAt: r.created, UpdatedAt: r.updated,
	}
}

type found struct {
	at    address
	row   *row
	score *float64
}

func (m *memory) search(op store.SearchOp, query []float32, now time.Time) ([]store.SearchItem, error) {
	filter, err := newFilter(op.Filter)
	if err != nil {
		return nil, err
	}
	var candidates []found
	for at, r := range m.items {
		if !m.inPrefix(at.prefix, op.NamespacePrefix) || !m.alive(r, now) {
			continue
		}
		if len(filter) > 0 {
			holds, err := filter.matches(m.faults, m.item(at, r).Value)
			if err != nil {
				return nil, err
			}
			if !holds && !m.faults.filtersLast {
				continue
			}
		}
		candidates = append(candidates, found{at: at, row: r})
	}
	candidates = m.rank(op, query, candidates)
	if m.faults.refreshesWhatMatches {
		for _, c := range candidates {
			m.refresh(c.row, op.RefreshTTL, now)
		}
	}
	candidates = candidates[max(0, min(op.Offset, len(candidates))):]
	candidates = candidates[:max(0, min(cmp.Or(op.Limit, store.DefaultSearchLimit), len(candidates)))]
	items := []store.SearchItem{}
	for _, c := range candidates {
		item := m.item(c.at, c.row)
		if holds, _ := filter.matches(m.faults, item.Value); holds {
			m.refresh(c.row, op.RefreshTTL, now)
			items = append(items, store.SearchItem{Item: item, Score: c.score})
		}
	}
	return items, nil
}

func (m *memory) inPrefix(prefix string, labels []string) bool {
	joined := store.JoinNamespace(labels)
	switch {
	case m.faults.prefixIsText:
		return strings.HasPrefix(prefix, joined)
	case m.faults.prefixIsPattern:
		pattern := strings.NewReplacer("_", ".", "%", ".*").Replace(regexp.QuoteMeta(joined))
		return joined == "" || regexp.MustCompile(`(?s)^`+pattern+`(\.|$)`).MatchString(prefix)
	default:
		return within(prefix, labels)
	}
}

func (m *memory) tie(a, b found) int {
	order := cmp.Or(strings.Compare(a.at.prefix, b.at.prefix), strings.Compare(a.at.key, b.at.key))
	if m.faults.reversesTies {
		return -order
	}
	return order
}

func (m *memory) recency(a, b found) int {
	if m.faults.oldestFirst {
		return a.row.updated.Compare(b.row.updated)
	}
	return b.row.updated.Compare(a.row.updated)
}

// rank keeps what the query finds, and sorts.
func (m *memory) rank(op store.SearchOp, query []float32, candidates []found) []found {
	switch m.mode(op) {
	case store.ModeVector:
		candidates = m.near(query, candidates)
	case store.ModeText:
		candidates = m.withWords(op.Query, candidates)
	case store.ModeHybrid:
		if m.faults.hybridIsVector {
			candidates = m.near(query, candidates)
			break
		}
		candidates = fuse(m.near(query, candidates), m.withWords(op.Query, candidates))
	default:
		slices.SortFunc(candidates, func(a, b found) int {
			return cmp.Or(m.recency(a, b), m.tie(a, b))
		})
		return candidates
	}
	m.sortByScore(candidates)
	return candidates
}

func (m *memory) sortByScore(candidates []found) {
	slices.SortFunc(candidates, func(a, b found) int {
		return cmp.Or(cmp.Compare(*b.score, *a.score), m.tie(a, b))
	})
}

func (m *memory) near(query []float32, candidates []found) []found {
	var near []found
	for _, c := range candidates {
		for i, v := range c.row.vectors {
			score := similarity(m.distance, query, v.at)
			if i == 0 || m.faults.everyVector {
				near = append(near, found{c.at, c.row, &score})
			} else if last := &near[len(near)-1]; score > *last.score && !m.faults.firstVector {
				last.score = &score
			}
		}
	}
	m.sortByScore(near)
	return near
}

func similarity(distance store.Distance, a, b []float32) float64 {
	var dot, squares, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		dot, squares, aa, bb = dot+x*y, squares+(x-y)*(x-y), aa+x*x, bb+y*y
	}
	switch distance {
	case store.DistanceL2:
		return -math.Sqrt(squares)
	case store.DistanceInnerProduct:
		return dot
	default:
		return dot / math.Sqrt(aa*bb)
	}
}

func (m *memory) withWords(query string, candidates []found) []found {
	wanted := wordsOf(query)
	var with []found
	for _, c := range candidates {
		has := wordsOf(string(c.row.value))
		score := 1.0
		for _, word := range wanted {
			times := 0
			for _, other := range has {
				if other == word {
					times++
				}
			}
			score *= float64(times)
		}
		if score > 0 && len(wanted) > 0 {
			with = append(with, found{c.at, c.row, &score})
		}
	}
	m.sortByScore(with)
	return with
}

func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// fuse is reciprocal rank fusion.
func fuse(rankings ...[]found) []found {
	scores := map[address]float64{}
	var fused []found
	for _, ranking := range rankings {
		for rank, c := range ranking {
			if _, seen := scores[c.at]; !seen {
				fused = append(fused, c)
			}
			scores[c.at] += 1 / float64(60+rank+1)
		}
	}
	for i := range fused {
		score := scores[fused[i].at]
		fused[i].score = &score
	}
	return fused
}

func (m *memory) list(op store.ListNamespacesOp, now time.Time) [][]string {
	prefixes := map[string]bool{}
	for at, r := range m.items {
		if !m.alive(r, now) && !m.faults.listsExpired {
			continue
		}
		labels := store.SplitNamespace(at.prefix)
		cut := labels
		if op.MaxDepth > 0 && len(labels) > op.MaxDepth {
			cut = labels[:op.MaxDepth]
		}
		if m.faults.matchesCut {
			labels = cut
		}
		if !slices.ContainsFunc(op.Match, func(c store.MatchCondition) bool { return !m.matches(labels, c) }) {
			prefixes[store.JoinNamespace(cut)] = true
		}
	}
	sorted := []string{}
	for prefix := range prefixes {
		sorted = append(sorted, prefix)
	}
	slices.Sort(sorted)
	sorted = sorted[max(0, min(op.Offset, len(sorted))):]
	sorted = sorted[:max(0, min(cmp.Or(op.Limit, store.DefaultNamespacesLimit), len(sorted)))]
	listed := [][]string{}
	for _, prefix := range sorted {
		listed = append(listed, store.SplitNamespace(prefix))
	}
	return listed
}

func (m *memory) matches(labels []string, c store.MatchCondition) bool {
	if m.faults.wildcardIsGreedy && slices.Contains(c.Path, store.Wildcard) {
		pattern := strings.ReplaceAll(regexp.QuoteMeta(store.JoinNamespace(c.Path)), `\*`, `.*`)
		if c.Type == store.MatchPrefix {
			return regexp.MustCompile(`^` + pattern + `(\.|$)`).MatchString(store.JoinNamespace(labels))
		}
		return regexp.MustCompile(`(\.|^)` + pattern + `$`).MatchString(store.JoinNamespace(labels))
	}
	if len(labels) < len(c.Path) {
		return false
	}
	if c.Type == store.MatchSuffix {
		labels = labels[len(labels)-len(c.Path):]
	}
	for i, label := range c.Path {
		if label != store.Wildcard && label != labels[i] {
			return false
		}
	}
	return true
}

// filter is a SearchOp's, checked.
type filter []condition

type condition struct {
	name, operator string
	operand        any
}

func newFilter(fields map[string]any) (filter, error) {
	encoded, err := store.EncodeFilter(fields)
	if err != nil || encoded == nil {
		return nil, err
	}
	plain, err := store.DecodeValue(encoded)
	if err != nil {
		return nil, err
	}
	var conditions filter
	for name, wanted := range plain {
		if isOperator(name) {
			return nil, refuse("%s is no field", name)
		}
		operators, isObject := wanted.(map[string]any)
		if !isObject || !slices.ContainsFunc(slices.Collect(maps.Keys(operators)), isOperator) {
			if hasOperator(wanted) {
				return nil, refuse("%s has an operator inside a value", name)
			}
			conditions = append(conditions, condition{name, "$eq", wanted})
			continue
		}
		for operator, operand := range operators {
			c := condition{name, operator, operand}
			if err := c.check(); err != nil {
				return nil, err
			}
			conditions = append(conditions, c)
		}
	}
	return conditions, nil
}

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %s", store.ErrInvalidArgument, fmt.Sprintf(format, args...))
}

func hasOperator(value any) bool {
	switch v := value.(type) {
	case []any:
		return slices.ContainsFunc(v, hasOperator)
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Keys(v)), isOperator) ||
			slices.ContainsFunc(slices.Collect(maps.Values(v)), hasOperator)
	}
	return false
}

func isOperator(name string) bool { return strings.HasPrefix(name, "$") }

func (c condition) check() error {
	switch c.operator {
	case "$eq", "$ne", "$gt", "$gte", "$lt", "$lte":
		return nil
	case "$in", "$nin":
		if _, isList := c.operand.([]any); !isList {
			return refuse("%s of %s needs a list", c.operator, c.name)
		}
		return nil
	case "$exists":
		if _, isBool := c.operand.(bool); !isBool {
			return refuse("$exists of %s needs true or false", c.name)
		}
		return nil
	default:
		return refuse("%s of %s is no operator", c.operator, c.name)
	}
}

func (f filter) matches(faults faults, value map[string]any) (bool, error) {
	for _, c := range f {
		if holds, err := c.holds(faults, value); err != nil || !holds {
			return false, err
		}
	}
	return true, nil
}

func (c condition) holds(faults faults, object map[string]any) (bool, error) {
	value, exists := lookUp(object, c.name)
	switch {
	case c.operator == "$exists":
		return exists == c.operand.(bool), nil
	case !exists && faults.absentMatchesNothing:
		return false, nil
	}
	order, comparable := compare(value, c.operand)
	if faults.comparesText {
		order, comparable = strings.Compare(fmt.Sprint(value), fmt.Sprint(c.operand)), true
	}
	if faults.mistypedFails && !comparable && strings.HasPrefix(c.operator, "$g") {
		return false, fmt.Errorf("cannot compare %v with %v", value, c.operand)
	}
	return c.compares(value, order, comparable), nil
}

// compares decides by the order of the value and the operand, if they have one.
func (c condition) compares(value any, order int, comparable bool) bool {
	switch c.operator {
	case "$eq":
		return same(value, c.operand)
	case "$ne":
		return !same(value, c.operand)
	case "$in", "$nin":
		in := slices.ContainsFunc(c.operand.([]any), func(operand any) bool { return same(value, operand) })
		return in == (c.operator == "$in")
	}
	switch c.operator {
	case "$gt":
		return comparable && order > 0
	case "$gte":
		return comparable && order >= 0
	case "$lt":
		return comparable && order < 0
	default:
		return comparable && order <= 0
	}
}

func lookUp(object map[string]any, name string) (any, bool) {
	if value, ok := object[name]; ok {
		return value, true
	}
	var value any = object
	for part := range strings.SplitSeq(name, ".") {
		fields, isObject := value.(map[string]any)
		if !isObject {
			return nil, false
		}
		if value, isObject = fields[part]; !isObject {
			return nil, false
		}
	}
	return value, true
}

func same(a, b any) bool {
	if x, y := number(a), number(b); x != nil && y != nil {
		return x.Cmp(y) == 0
	}
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, same)
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, element := range a {
			if other, has := b[name]; !has || !same(element, other) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(a, b)
}

func number(value any) *big.Rat {
	switch v := value.(type) {
	case int64:
		return new(big.Rat).SetInt64(v)
	case uint64:
		return new(big.Rat).SetUint64(v)
	case *big.Int:
		return new(big.Rat).SetInt(v)
	case float64:
		return new(big.Rat).SetFloat64(v)
	case json.Number:
		rat, _ := new(big.Rat).SetString(v.String())
		return rat
	}
	return nil
}

// truth is 0 for what is no bool.
func truth(value any) int {
	switch value {
	case false:
		return 1
	case true:
		return 2
	default:
		return 0
	}
}

func compare(a, b any) (order int, comparable bool) {
	if x, y := number(a), number(b); x != nil && y != nil {
		return x.Cmp(y), true
	}
	if x, y := truth(a), truth(b); x > 0 && y > 0 {
		return x - y, true
	}
	x, isText := a.(string)
	y, areTexts := b.(string)
	if !isText || !areTexts {
		return 0, false
	}
	earlier, err1 := time.Parse(time.RFC3339, x)
	later, err2 := time.Parse(time.RFC3339, y)
	if err1 == nil && err2 == nil {
		return earlier.Compare(later), true
	}
	return strings.Compare(x, y), true
}
