package storetest

import (
	"fmt"

	"github.com/pgweft/pgweft/store"
)

var batchTests = []test{
	{"an empty batch does nothing", batchEmpty},
	{"results are in the order of the operations", batchOrder},
	{"every read sees the store before the writes of the batch", batchReadsFirst},
	{"the last put of a key counts", batchLastPutWins},
	{"a delete counts among the puts of its key", batchDeletes},
	{"one operation that is refused stops all of them", batchAllOrNothing},
	{"a thousand operations are one batch", batchLarge},
	{"an operation that is passed by pointer is refused", batchRefusesPointers},
}

func batchEmpty(s *space) {
	results, err := s.store.Batch(s.Context())
	if err != nil || len(results) != 0 {
		s.Errorf("an empty batch returned %d results and the error %v", len(results), err)
	}
}

func batchOrder(s *space) {
	s.put(s.ns("a"), "one", value{"n": 1})
	s.put(s.ns("b"), "two", value{"n": 2})
	results := s.batch(
		store.ListNamespacesOp{Match: []store.MatchCondition{store.Prefix(s.root)}},
		store.GetOp{Namespace: s.ns("b"), Key: "two"},
		store.PutOp{Namespace: s.ns("c"), Key: "three", Value: value{"n": 3}},
		store.SearchOp{NamespacePrefix: s.ns("a")},
		store.GetOp{Namespace: s.ns("a"), Key: "missing"},
		store.SearchOp{NamespacePrefix: s.ns("b")},
		store.GetOp{Namespace: s.ns("a"), Key: "one"},
		store.ListNamespacesOp{Match: []store.MatchCondition{store.Suffix("b"), store.Prefix(s.root)}},
	)
	s.equal("namespaces of operation 0", results[0].Namespaces, [][]string{s.ns("a"), s.ns("b")})
	s.equal("result of operation 2, a put", results[2], store.Result{})
	s.equal("items of operation 3", s.places(results[3].Items), []string{"a/one"})
	s.equal("items of operation 5", s.places(results[5].Items), []string{"b/two"})
	s.equal("namespaces of operation 7", results[7].Namespaces, [][]string{s.ns("b")})
	if results[4].Item != nil {
		s.Errorf("operation 4 found %q", results[4].Item.Key)
	}
	for operation, key := range map[int]string{1: "two", 6: "one"} {
		if item := results[operation].Item; item == nil || item.Key != key {
			s.Errorf("operation %d found %+v, want %q", operation, item, key)
		}
	}
}

func batchReadsFirst(s *space) {
	s.put(s.ns("a"), "kept", value{"n": 1})
	s.put(s.ns("a"), "deleted", value{"n": 1})
	reads := []store.Op{
		store.GetOp{Namespace: s.ns("a"), Key: "kept"},
		store.GetOp{Namespace: s.ns("a"), Key: "deleted"},
		store.GetOp{Namespace: s.ns("b"), Key: "new"},
		store.SearchOp{NamespacePrefix: s.ns(), Filter: value{"n": 1}},
		store.ListNamespacesOp{Match: []store.MatchCondition{store.Prefix(s.root)}},
	}
	ops := append([]store.Op{
		store.PutOp{Namespace: s.ns("a"), Key: "kept", Value: value{"n": 2}},
		store.PutOp{Namespace: s.ns("a"), Key: "deleted"},
		store.PutOp{Namespace: s.ns("b"), Key: "new", Value: value{"n": 2}},
	}, reads...)
	results := s.batch(ops...)[3:]
	for i, key := range []string{"kept", "deleted"} {
		if item := results[i].Item; item == nil {
			s.Errorf("%q is not there", key)
		} else {
			s.holds(key, item.Value, value{"n": 1})
		}
	}
	if results[2].Item != nil {
		s.Errorf("an item that the batch puts is there already")
	}
	s.equal("items found", s.places(results[3].Items), []string{"a/deleted", "a/kept"})
	s.equal("namespaces", results[4].Namespaces, [][]string{s.ns("a")})
	s.findsAll(store.SearchOp{NamespacePrefix: s.ns(), Filter: value{"n": 2}}, "a/kept", "b/new")
	s.absent(s.ns("a"), "deleted")
}

func batchLastPutWins(s *space) {
	var ops []store.Op
	for i := range 5 {
		ops = append(ops, store.PutOp{Namespace: s.ns(), Key: "k", Value: value{"n": i}},
			store.PutOp{Namespace: s.ns(fmt.Sprint(i)), Key: "k", Value: value{"n": i}})
	}
	s.batch(ops...)
	s.holds("value", s.get(s.ns(), "k").Value, value{"n": 4})
	s.holds("value of another namespace", s.get(s.ns("2"), "k").Value, value{"n": 2})
}

func batchDeletes(s *space) {
	s.put(s.ns(), "there", value{"n": 0})
	put := func(key string, n int) store.Op {
		return store.PutOp{Namespace: s.ns(), Key: key, Value: value{"n": n}}
	}
	remove := func(key string) store.Op { return store.PutOp{Namespace: s.ns(), Key: key} }
	s.batch(put("a", 1), remove("a"), remove("b"), put("b", 1), put("there", 1), remove("there"), remove("there"),
		put("c", 1), remove("c"), put("c", 2))
	s.absent(s.ns(), "a")
	s.absent(s.ns(), "there")
	s.holds("deleted, then put", s.get(s.ns(), "b").Value, value{"n": 1})
	s.holds("put, deleted, put", s.get(s.ns(), "c").Value, value{"n": 2})
}

func batchAllOrNothing(s *space) {
	s.put(s.ns(), "there", value{"n": 1})
	good := []store.Op{
		store.PutOp{Namespace: s.ns(), Key: "new", Value: value{}},
		store.PutOp{Namespace: s.ns(), Key: "there"},
	}
	for name, bad := range map[string]store.Op{
		"a value that cannot be kept": store.PutOp{Namespace: s.ns(), Key: "k", Value: value{"text": "\x00"}},
		"a bad label":                 store.PutOp{Namespace: s.ns("a.b"), Key: "k", Value: value{}},
		"a reserved namespace":        store.PutOp{Namespace: []string{"langgraph"}, Key: "k", Value: value{}},
		"a bad TTL":                   store.PutOp{Namespace: s.ns(), Key: "k", Value: value{}, TTL: -5},
		"a bad limit":                 store.SearchOp{NamespacePrefix: s.ns(), Limit: -1},
		"an unknown operator":         store.SearchOp{NamespacePrefix: s.ns(), Filter: value{"n": value{"$regex": "x"}}},
		"a bad match":                 store.ListNamespacesOp{Match: []store.MatchCondition{{Type: "infix", Path: []string{"a"}}}},
	} {
		s.refuses("a batch that ends with "+name, store.ErrInvalidArgument, append(append([]store.Op{}, good...), bad)...)
		s.refuses("a batch that begins with "+name, store.ErrInvalidArgument, append([]store.Op{bad}, good...)...)
		s.absent(s.ns(), "new")
		s.holds("value after "+name, s.get(s.ns(), "there").Value, value{"n": 1})
	}
}

func batchLarge(s *space) {
	var ops []store.Op
	for i := range 500 {
		ops = append(ops, store.PutOp{Namespace: s.ns(fmt.Sprint(i % 3)), Key: fmt.Sprint(i), Value: value{"n": i}},
			store.GetOp{Namespace: s.ns(fmt.Sprint(i % 3)), Key: fmt.Sprint(i)})
	}
	for i, result := range s.batch(ops...) {
		if result.Item != nil {
			s.Fatalf("operation %d found %q before it was put", i, result.Item.Key)
		}
	}
	for i, result := range s.batch(ops...) {
		if _, isGet := ops[i].(store.GetOp); isGet && (result.Item == nil || result.Item.Value["n"] != int64(i/2)) {
			s.Fatalf("operation %d found %+v, want the item with n = %d", i, result.Item, i/2)
		}
	}
}

func batchRefusesPointers(s *space) {
	s.refuses("a pointer to a put", store.ErrInvalidArgument, &store.PutOp{Namespace: s.ns(), Key: "k", Value: value{}})
	s.refuses("no operation", store.ErrInvalidArgument, nil)
	s.isEmpty()
}
