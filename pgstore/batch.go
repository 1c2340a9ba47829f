package pgstore

import (
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/pgweft/pgweft/store"
)

// batch is the operations of one call, as the functions take them, and their results.
type batch struct {
	results  []store.Result
	gets     []get
	searches []*search
	lists    []list
	puts     []*put
	// latest is where the newest put of a key stands in puts.
	latest map[itemID]int
	// vectors are those of the texts that puts embed.
	vectors map[string][]float32
}

type itemID struct{ prefix, key string }

// get is a GetOp; position is where its result belongs.
type get struct {
	itemID
	position int
	refresh  bool
}

type search struct {
	position         int
	prefix           string
	filter           *string
	limit, offset    int32
	refresh          bool
	mode             *string
	text, vectorText *string
	vector           []float32
}

type list struct {
	position      int
	types, paths  []string
	maxDepth      *int32
	limit, offset int32
}

type put struct {
	itemID
	value      *string
	ttlMinutes *float64
	texts      []fieldText
}

// fieldText is a text of an item that is put, which becomes a vector.
type fieldText struct {
	store.FieldText
	hash []byte
	// unchanged says that the vector of this text is stored already.
	unchanged bool
}

func (s *Store) newBatch(ops []store.Op) (*batch, error) {
	if err := store.Validate(ops...); err != nil {
		return nil, err
	}
	b := &batch{
		results: make([]store.Result, len(ops)),
		latest:  map[itemID]int{},
		vectors: map[string][]float32{},
	}
	for i, op := range ops {
		if err := s.add(b, i, op); err != nil {
			return nil, fmt.Errorf("operation %d of %d: %w", i+1, len(ops), err)
		}
	}
	return b, nil
}

func (s *Store) add(b *batch, position int, op store.Op) error {
	switch op := op.(type) {
	case store.GetOp:
		b.gets = append(b.gets, get{newItemID(op.Namespace, op.Key), position, s.ttl.Refresh(op.RefreshTTL)})
	case store.SearchOp:
		search, err := s.newSearch(position, op)
		if err != nil {
			return fmt.Errorf("search: %w", err)
		}
		b.searches = append(b.searches, search)
	case store.ListNamespacesOp:
		b.lists = append(b.lists, newList(position, op))
	case store.PutOp:
		put, err := s.newPut(op)
		if err != nil {
			return fmt.Errorf("put: key %q in namespace %q: %w", op.Key, op.Namespace, err)
		}
		b.addPut(put)
	}
	return nil
}

func newItemID(namespace []string, key string) itemID {
	return itemID{prefix: store.JoinNamespace(namespace), key: key}
}

// addPut keeps the last put of a key only, so that nothing is embedded in vain.
func (b *batch) addPut(p *put) {
	if i, again := b.latest[p.itemID]; again {
		b.puts[i] = p
		return
	}
	b.latest[p.itemID] = len(b.puts)
	b.puts = append(b.puts, p)
}

func (s *Store) newPut(op store.PutOp) (*put, error) {
	p := &put{itemID: newItemID(op.Namespace, op.Key)}
	if op.Value == nil {
		return p, nil
	}
	encoded, err := store.EncodeValue(op.Value)
	if err != nil {
		return nil, err
	}
	value := string(encoded)
	p.value = &value
	if ttl, expires := s.ttl.Of(op.TTL); expires {
		minutes := ttl.Minutes()
		p.ttlMinutes = &minutes
	}
	texts, err := s.index.Texts(op.Value, op.Index)
	if err != nil {
		return nil, err
	}
	for _, text := range texts {
		p.texts = append(p.texts, fieldText{FieldText: text, hash: s.index.Hash(text.Text)})
	}
	return p, nil
}

func (s *Store) newSearch(position int, op store.SearchOp) (*search, error) {
	filter, err := store.EncodeFilter(op.Filter)
	if err != nil {
		return nil, err
	}
	found := &search{
		position: position,
		prefix:   store.JoinNamespace(op.NamespacePrefix),
		limit:    page(op.Limit, store.DefaultSearchLimit),
		offset:   page(op.Offset, 0),
		refresh:  s.ttl.Refresh(op.RefreshTTL),
	}
	if filter != nil {
		text := string(filter)
		found.filter = &text
	}
	if op.Query == "" {
		return found, nil
	}
	return found, s.rank(found, op)
}

// rank says how a search ranks by its query, and which forms of the query that needs.
func (s *Store) rank(found *search, op store.SearchOp) error {
	mode := op.Mode
	if mode == "" {
		mode = store.ModeText
		if s.index != nil {
			mode = store.ModeVector
		}
	}
	if mode != store.ModeText {
		if s.index == nil {
			return fmt.Errorf("%w: mode %q needs an embedder: set Config.Index, or search by mode %q", store.ErrNotEnabled, mode,
				store.ModeText)
		}
		found.vectorText = &op.Query
	}
	if mode != store.ModeVector {
		found.text = &op.Query
	}
	name := string(mode)
	found.mode = &name
	return nil
}

func newList(position int, op store.ListNamespacesOp) list {
	l := list{
		position: position,
		types:    []string{},
		paths:    []string{},
		limit:    page(op.Limit, store.DefaultNamespacesLimit),
		offset:   page(op.Offset, 0),
	}
	for _, condition := range op.Match {
		if len(condition.Path) == 0 {
			continue
		}
		l.types = append(l.types, string(condition.Type))
		l.paths = append(l.paths, store.JoinNamespace(condition.Path))
	}
	if op.MaxDepth != 0 {
		depth := page(op.MaxDepth, 0)
		l.maxDepth = &depth
	}
	return l
}

// page is a number as SQL's integer. Nobody has so many rows that the largest one would be too small.
func page(n, otherwise int) int32 {
	if n == 0 {
		n = otherwise
	}
	return int32(min(n, math.MaxInt32)) //nolint:gosec // it was just made to fit
}

// readsOnly says whether the batch writes nothing, not even when an item expires.
func (b *batch) readsOnly() bool {
	for _, get := range b.gets {
		if get.refresh {
			return false
		}
	}
	for _, search := range b.searches {
		if search.refresh {
			return false
		}
	}
	return len(b.puts) == 0
}

// countsOnVectors says whether the batch counts on vectors that were found unchanged.
func (b *batch) countsOnVectors() bool {
	for _, put := range b.puts {
		for i := range put.texts {
			if put.texts[i].unchanged {
				return true
			}
		}
	}
	return false
}

// statement is one function call of a batch, and what to do with its rows.
type statement struct {
	operation, sql string
	args           []any
	read           func(pgx.Rows) error
}

// statements are the calls of a batch, reads before writes: what is read is what was there before the batch.
func (s *Store) statements(b *batch) []statement {
	var calls []statement
	if len(b.gets) > 0 {
		calls = append(calls, b.getCall(s.sql.get))
	}
	for _, search := range b.searches {
		calls = append(calls, b.searchCall(s.sql.search, search))
	}
	for _, list := range b.lists {
		calls = append(calls, b.listCall(s.sql.listNamespaces, list))
	}
	if len(b.puts) > 0 {
		calls = append(calls, statement{"put", s.sql.put, b.putArgs(), discard})
	}
	return calls
}

func (b *batch) getCall(sql string) statement {
	prefixes, keys, refresh := make([]string, len(b.gets)), make([]string, len(b.gets)), make([]bool, len(b.gets))
	for i, get := range b.gets {
		prefixes[i], keys[i], refresh[i] = get.prefix, get.key, get.refresh
	}
	read := func(rows pgx.Rows) error {
		found, err := pgx.CollectRows(rows, pgx.RowToStructByName[gotRow])
		if err != nil {
			return err
		}
		for _, row := range found {
			item, err := row.item()
			if err != nil {
				return err
			}
			b.results[b.gets[row.Position-1].position].Item = &item
		}
		return nil
	}
	return statement{"get", sql, []any{prefixes, keys, refresh}, read}
}

func (b *batch) searchCall(sql string, s *search) statement {
	read := func(rows pgx.Rows) error {
		found, err := pgx.CollectRows(rows, pgx.RowToStructByName[foundRow])
		if err != nil {
			return err
		}
		items := make([]store.SearchItem, len(found))
		for i, row := range found {
			item, err := row.item()
			if err != nil {
				return err
			}
			items[i] = store.SearchItem{Item: item, Score: row.Score}
		}
		b.results[s.position].Items = items
		return nil
	}
	args := []any{s.prefix, s.filter, s.limit, s.offset, s.refresh, s.vector, s.text, s.mode}
	return statement{"search", sql, args, read}
}

func (b *batch) listCall(sql string, l list) statement {
	read := func(rows pgx.Rows) error {
		found, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		namespaces := make([][]string, len(found))
		for i, text := range found {
			namespaces[i] = store.SplitNamespace(text)
		}
		b.results[l.position].Namespaces = namespaces
		return nil
	}
	return statement{"list namespaces", sql, []any{l.types, l.paths, l.maxDepth, l.limit, l.offset}, read}
}

// putArgs are the arrays of store_put: one element an item, then one element a vector, then the new vectors' numbers.
func (b *batch) putArgs() []any {
	n := len(b.puts)
	prefixes, keys, values, ttls := make([]string, n), make([]string, n), make([]*string, n), make([]*float64, n)
	items, fields, hashes, isNew, vectors := []int32{}, []string{}, [][]byte{}, []bool{}, []float32{}
	for i, put := range b.puts {
		prefixes[i], keys[i], values[i], ttls[i] = put.prefix, put.key, put.value, put.ttlMinutes
		for _, text := range put.texts {
			items = append(items, int32(i+1))
			fields = append(fields, text.Field)
			hashes = append(hashes, text.hash)
			isNew = append(isNew, !text.unchanged)
			if !text.unchanged {
				vectors = append(vectors, b.vectors[text.Text]...)
			}
		}
	}
	return []any{prefixes, keys, values, ttls, items, fields, hashes, isNew, vectors}
}

func discard(rows pgx.Rows) error {
	rows.Close()
	return rows.Err()
}
