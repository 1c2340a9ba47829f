package storetest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/pgweft/pgweft/store"
)

// broken are stores with one fault each, and tests that have to find it. No other capability may fail than those of the
// tests named.
var broken = map[string]struct {
	faults faults
	// wrap puts a store around the working one; nil is none.
	wrap  func(store.Store) store.Store
	finds []string
	// races are tests that it fails now and then.
	races []string
}{
	"validates nothing": {
		faults: faults{validatesNothing: true},
		finds: []string{
			"namespaces/bad labels are refused by every operation", "namespaces/langgraph is reserved as the first label only",
			"search/bad limits and offsets are refused", "list_namespaces/bad arguments are refused", "ttl/a negative TTL is refused",
			"batch/an operation that is passed by pointer is refused", "put/keys that no database can keep are refused",
		},
	},
	"ignores the context": {
		faults: faults{ignoresContext: true},
		finds: []string{
			"put/a cancelled context writes nothing", "get/a cancelled context reads nothing", "search/a cancelled context finds nothing",
		},
	},
	"hands out the same value twice": {
		wrap:  func(s store.Store) store.Store { return &aliasing{Store: s, given: map[string]*store.Item{}} },
		finds: []string{"put/a value is copied on its way in and out"},
	},
	"reads every number as a float": {
		faults: faults{readsFloats: true},
		finds: []string{
			"put/a value comes back as it was put", "filter/equality is that of JSON", "batch/a thousand operations are one batch",
			"delete/what is put after a delete is a new item", "search/pages have everything once",
			"namespaces/langgraph is reserved as the first label only", "ttl/what is put where an item expired is a new item",
		},
	},
	"merges values": {
		faults: faults{mergesValues: true},
		finds: []string{
			"put/putting again replaces the whole value", "ttl/what is put where an item expired is a new item",
		},
	},
	"forgets when an item was created": {
		faults: faults{forgetsCreatedAt: true},
		finds:  []string{"put/putting again keeps created_at and moves updated_at"},
	},
	"takes an expired item for the one that follows": {
		faults: faults{inheritsCreatedAt: true},
		finds:  []string{"ttl/what is put where an item expired is a new item"},
	},
	"deletes nothing": {
		wrap: changing(func(op store.PutOp) (store.PutOp, bool) { return op, op.Value != nil }),
		finds: []string{
			"delete/a deleted item is gone from every read", "delete/what is put after a delete is a new item",
			"batch/a delete counts among the puts of its key", "list_namespaces/a namespace without items is not listed",
			"put/keys may be any text", "namespaces/labels may be any text without dots", "text/words are those of the last put",
			"vector/a deleted item has no vectors left",
		},
	},
	"does a batch one by one": {
		wrap: func(s store.Store) store.Store { return oneByOne{s} },
		finds: []string{
			"batch/one operation that is refused stops all of them", "batch/every read sees the store before the writes of the batch",
			"vector/a batch embeds its texts in one call", "vector/a query sees the store before the writes of its batch",
		},
		races: []string{"put/concurrent batches of the same keys in any order succeed"},
	},
	"returns results in the order of their kinds": {
		wrap: func(s store.Store) store.Store { return byKind{s} },
		finds: []string{
			"batch/results are in the order of the operations", "vector/several queries in one batch have their own results",
		},
	},
	"writes before it reads": {
		faults: faults{writesFirst: true},
		finds: []string{
			"batch/every read sees the store before the writes of the batch",
			"vector/a query sees the store before the writes of its batch",
		},
	},
	"lets the first put of a key win": {
		faults: faults{firstPutWins: true},
		finds: []string{
			"batch/the last put of a key counts", "batch/a delete counts among the puts of its key",
			"vector/the last put of a batch has the vectors",
		},
	},
	"matches prefixes as text": {
		faults: faults{prefixIsText: true},
		finds: []string{
			"search/a prefix is made of whole labels", "vector/a prefix is made of whole labels", "text/filters and prefixes hold",
			"namespaces/labels that look like patterns match only themselves",
		},
	},
	"matches prefixes as patterns": {
		faults: faults{prefixIsPattern: true},
		finds:  []string{"namespaces/labels that look like patterns match only themselves"},
	},
	"ignores the offset": {
		wrap: searching(func(op *store.SearchOp) { op.Offset = 0 }),
		finds: []string{
			"search/pages have everything once", "search/an offset beyond the end finds nothing", "vector/pages have everything once",
			"ttl/only what a search returns starts anew", "text/as many items as the limit come back",
			"hybrid/as many items as the limit come back",
		},
	},
	"has no default limit": {
		wrap: searching(func(op *store.SearchOp) {
			if op.Limit == 0 {
				op.Limit = 1000
			}
		}),
		finds: []string{
			"search/the limit is ten unless said otherwise", "text/as many items as the limit come back",
			"vector/as many items as the limit come back whatever else is near",
		},
	},
	"filters what the limit leaves": {
		faults: faults{filtersLast: true},
		finds: []string{
			"search/as many items as the limit come back", "text/as many items as the limit come back",
			"vector/as many items as the limit come back whatever else is near",
		},
	},
	"lists the oldest first": {
		faults: faults{oldestFirst: true},
		finds: []string{
			"search/what was put last comes first", "ttl/limits and offsets do not count what has expired",
			"batch/every read sees the store before the writes of the batch",
		},
	},
	"breaks ties the other way": {
		faults: faults{reversesTies: true},
		finds: []string{
			"search/items put in one batch are sorted by namespace and key", "vector/equal scores are sorted by namespace and key",
			"text/equal matches are sorted by namespace and key", "hybrid/items that rank alike are sorted by namespace and key",
			"vector_ttl/an expired item is not found by meaning",
		},
	},
	"lists what a query is for when it has no index": {
		wrap: func(s store.Store) store.Store { return lenient{s} },
		finds: []string{
			"search/a search by meaning in a store without an index is refused",
		},
	},
	"compares as text": {
		faults: faults{comparesText: true},
		finds: []string{
			"filter/numbers are in order as numbers", "filter/timestamps are in order as instants",
			"filter/what is of another type does not match and is no error", "search/the limit is ten unless said otherwise",
			"vector/filters hold for what is near", "text/as many items as the limit come back",
		},
	},
	"fails on what is of another type": {
		faults: faults{mistypedFails: true},
		finds: []string{
			"filter/what is of another type does not match and is no error", "vector/filters hold for what is near",
		},
	},
	"matches nothing where a field is missing": {
		faults: faults{absentMatchesNothing: true},
		finds:  []string{"filter/$ne and $nin match whatever $eq and $in do not", "filter/equality is that of JSON"},
	},
	"cuts namespaces off before it matches them": {
		faults: faults{matchesCut: true},
		finds:  []string{"list_namespaces/max_depth cuts namespaces off and lists each once"},
	},
	"takes an asterisk for any number of labels": {
		faults: faults{wildcardIsGreedy: true},
		finds:  []string{"list_namespaces/an asterisk is exactly one label"},
	},
	"shows what has expired": {
		faults: faults{showsExpired: true},
		finds: []string{
			"ttl/an expired item is in no read", "ttl/an expired item cannot be refreshed", "vector_ttl/an expired item is not found by meaning",
			"text_ttl/an expired item is not found by its words",
		},
	},
	"lists namespaces of what has expired": {
		faults: faults{listsExpired: true},
		finds:  []string{"ttl/an expired item is in no read"},
	},
	"counts whole minutes": {
		faults: faults{wholeMinutes: true},
		finds:  []string{"ttl/fractions of a minute count"},
	},
	"has no default TTL": {
		faults: faults{ignoresDefaultTTL: true},
		finds:  []string{"ttl/the default TTL is that of items put without one"},
	},
	"makes nothing last": {
		wrap: changing(func(op store.PutOp) (store.PutOp, bool) {
			if op.TTL == store.NoTTL {
				op.TTL = 0
			}
			return op, true
		}),
		finds: []string{"ttl/NoTTL overrides the default"},
	},
	"never refreshes": {
		wrap: refreshing(false),
		finds: []string{
			"ttl/reading starts the time anew", "ttl/being found starts the time anew",
			"vector_ttl/being found by meaning starts the time anew",
			"text_ttl/being found by its words starts the time anew",
		},
	},
	"always refreshes": {
		wrap: refreshing(true),
		finds: []string{
			"ttl/reading with refresh off does not start it anew",
			"ttl/refresh can be off by default and on for one read",
			"vector_ttl/being found by meaning starts the time anew",
			"text_ttl/being found by its words starts the time anew",
		},
	},
	"refreshes what matches beyond the limit": {
		faults: faults{refreshesWhatMatches: true},
		finds: []string{
			"ttl/only what a search returns starts anew", "vector_ttl/being found by meaning starts the time anew",
		},
	},
	"returns an item for each of its vectors": {
		faults: faults{everyVector: true},
		finds: []string{
			"vector/an item of many vectors counts once, by its best", "vector/the limit counts items and not vectors",
		},
	},
	"ranks by the first vector of an item": {
		faults: faults{firstVector: true},
		finds:  []string{"vector/an item of many vectors counts once, by its best"},
	},
	"keeps old vectors": {
		faults: faults{keepsVectors: true},
		finds: []string{
			"vector/the vectors of an item are those of its last put", "vector_ttl/an expired item does not keep its vectors for the next",
			"vector/a query in a store without an index does not touch vectors",
		},
	},
	"indexes what is not to be": {
		faults: faults{indexesEverything: true},
		finds: []string{
			"vector/an item that is not indexed is not found by meaning",
			"vector/nothing is embedded for an item that is not indexed or put for nothing",
		},
	},
	"embeds what it has": {
		faults: faults{embedsAgain: true},
		finds:  []string{"vector/unchanged texts are not embedded again"},
	},
	"takes any vector of a field for that of its text": {
		faults: faults{ignoresHashes: true},
		finds: []string{
			"vector/unchanged texts are not embedded again", "vector/an embedder of another identity embeds again",
		},
	},
	"embeds what a later put replaces": {
		faults: faults{embedsWhatIsReplaced: true},
		finds:  []string{"vector/nothing is embedded for an item that is not indexed or put for nothing"},
	},
	"takes hybrid for vector": {
		faults: faults{hybridIsVector: true},
		finds:  []string{"hybrid/what only is near or only has the words is found too"},
	},
}

type batcher func(ctx context.Context, ops []store.Op) ([]store.Result, error)

func (b batcher) Batch(ctx context.Context, ops ...store.Op) ([]store.Result, error) {
	return b(ctx, ops)
}

// changing changes puts before the store sees them, or leaves them out.
func changing(change func(store.PutOp) (op store.PutOp, keep bool)) func(store.Store) store.Store {
	return func(s store.Store) store.Store {
		return batcher(func(ctx context.Context, ops []store.Op) ([]store.Result, error) {
			var kept []store.Op
			var positions []int
			for i, op := range ops {
				if put, isPut := op.(store.PutOp); isPut && store.Validate(op) == nil {
					changed, keep := change(put)
					if !keep {
						continue
					}
					op = changed
				}
				kept, positions = append(kept, op), append(positions, i)
			}
			found, err := s.Batch(ctx, kept...)
			if err != nil {
				return nil, err
			}
			results := make([]store.Result, len(ops))
			for i, position := range positions {
				results[position] = found[i]
			}
			return results, nil
		})
	}
}

// searching changes searches before the store sees them.
func searching(change func(*store.SearchOp)) func(store.Store) store.Store {
	return func(s store.Store) store.Store {
		return batcher(func(ctx context.Context, ops []store.Op) ([]store.Result, error) {
			ops = slices.Clone(ops)
			for i, op := range ops {
				if search, isSearch := op.(store.SearchOp); isSearch && store.Validate(op) == nil {
					change(&search)
					ops[i] = search
				}
			}
			return s.Batch(ctx, ops...)
		})
	}
}

// refreshing makes every read refresh, or none.
func refreshing(always bool) func(store.Store) store.Store {
	return func(s store.Store) store.Store {
		return batcher(func(ctx context.Context, ops []store.Op) ([]store.Result, error) {
			ops = slices.Clone(ops)
			for i, op := range ops {
				switch op := op.(type) {
				case store.GetOp:
					op.RefreshTTL = &always
					ops[i] = op
				case store.SearchOp:
					op.RefreshTTL = &always
					ops[i] = op
				}
			}
			return s.Batch(ctx, ops...)
		})
	}
}

type oneByOne struct{ store.Store }

func (s oneByOne) Batch(ctx context.Context, ops ...store.Op) ([]store.Result, error) {
	var results []store.Result
	for _, op := range ops {
		result, err := s.Store.Batch(ctx, op)
		if err != nil {
			return nil, err
		}
		results = append(results, result...)
	}
	return results, nil
}

type byKind struct{ store.Store }

func (s byKind) Batch(ctx context.Context, ops ...store.Op) ([]store.Result, error) {
	results, err := s.Store.Batch(ctx, ops...)
	kind := func(r store.Result) int {
		switch {
		case r.Items != nil:
			return 0
		case r.Namespaces != nil:
			return 1
		default:
			return 2
		}
	}
	slices.SortStableFunc(results, func(a, b store.Result) int { return kind(a) - kind(b) })
	return results, err
}

// lenient does as LangGraph's own store: without an index a query is as good as none.
type lenient struct{ store.Store }

func (s lenient) Batch(ctx context.Context, ops ...store.Op) ([]store.Result, error) {
	results, err := s.Store.Batch(ctx, ops...)
	if !errors.Is(err, store.ErrNotEnabled) {
		return results, err
	}
	return searching(func(op *store.SearchOp) { op.Query, op.Mode = "", "" })(s.Store).Batch(ctx, ops...)
}

// aliasing hands out an item that it has handed out before, unless there is a newer one.
type aliasing struct {
	store.Store
	mu    sync.Mutex
	given map[string]*store.Item
}

func (s *aliasing) Batch(ctx context.Context, ops ...store.Op) ([]store.Result, error) {
	results, err := s.Store.Batch(ctx, ops...)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, result := range results {
		if result.Item == nil {
			continue
		}
		at := strings.Join(result.Item.Namespace, ".") + "/" + result.Item.Key
		if given := s.given[at]; given != nil && given.UpdatedAt.Equal(result.Item.UpdatedAt) {
			results[i].Item = given
		}
		s.given[at] = results[i].Item
	}
	return results, err
}
