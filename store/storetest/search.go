package storetest

import (
	"context"
	"fmt"
	"slices"

	"github.com/pgweft/pgweft/store"
)

var searchTests = []test{
	{"a prefix finds its namespace and all below", searchPrefix},
	{"a prefix is made of whole labels", searchWholeLabels},
	{"an empty prefix finds everything", searchEverything},
	{"what was put last comes first", searchNewestFirst},
	{"items put in one batch are sorted by namespace and key", searchTies},
	{"the limit is ten unless said otherwise", searchDefaultLimit},
	{"as many items as the limit come back", searchLimit},
	{"pages have everything once", searchPages},
	{"an offset beyond the end finds nothing", searchBeyondTheEnd},
	{"a list without a query has no scores", searchNoScores},
	{"bad limits and offsets are refused", searchRefusesPages},
	{"bad modes and queries are refused", searchRefusesModes},
	{"a search by meaning in a store without an index is refused", searchNotEnabled},
	{"a cancelled context finds nothing", searchCancelled},
}

func searchPrefix(s *space) {
	for _, namespace := range [][]string{s.ns(), s.ns("a"), s.ns("a", "b"), s.ns("a", "b", "c"), s.ns("b"), s.ns("b", "a")} {
		s.put(namespace, "k", value{})
	}
	s.findsAll(store.SearchOp{NamespacePrefix: s.ns()}, "/k", "a/k", "a.b/k", "a.b.c/k", "b/k", "b.a/k")
	s.findsAll(store.SearchOp{NamespacePrefix: s.ns("a")}, "a/k", "a.b/k", "a.b.c/k")
	s.findsAll(store.SearchOp{NamespacePrefix: s.ns("a", "b")}, "a.b/k", "a.b.c/k")
	s.finds(store.SearchOp{NamespacePrefix: s.ns("a", "b", "c")}, "a.b.c/k")
	s.finds(store.SearchOp{NamespacePrefix: s.ns("c")})
	s.finds(store.SearchOp{NamespacePrefix: s.ns("a", "k")})
}

// The labels beside "foo" sort on both sides of the dot that follows it in the namespace as text.
func searchWholeLabels(s *space) {
	for _, label := range []string{"foo", "foobar", "foo-bar", "foo bar", "foo/bar", "foo!", "fo", "Foo", "foo\u00e9"} {
		s.put(s.ns(label), "k", value{})
		s.put(s.ns(label, "below"), "k", value{})
	}
	s.findsAll(store.SearchOp{NamespacePrefix: s.ns("foo"), Limit: 100}, "foo/k", "foo.below/k")
	s.finds(store.SearchOp{NamespacePrefix: []string{s.root[:len(s.root)-1]}})
}

func searchEverything(s *space) {
	s.put(s.ns(), "k", value{"test": s.root})
	s.put(s.ns("a"), "k", value{"test": s.root})
	for _, prefix := range [][]string{nil, {}} {
		s.findsAll(store.SearchOp{NamespacePrefix: prefix, Filter: value{"test": s.root}}, "/k", "a/k")
	}
	s.equal("number of items found without a filter", len(s.search(store.SearchOp{Limit: 2})), 2)
}

func searchNewestFirst(s *space) {
	for _, key := range []string{"b", "c", "a"} {
		s.put(s.ns(key), key, value{})
	}
	s.finds(store.SearchOp{NamespacePrefix: s.ns()}, "a/a", "c/c", "b/b")
	s.put(s.ns("b"), "b", value{})
	s.get(s.ns("c"), "c")
	s.finds(store.SearchOp{NamespacePrefix: s.ns()}, "b/b", "a/a", "c/c")
}

func searchTies(s *space) {
	var ops []store.Op
	for _, i := range []int{3, 1, 4, 0, 2} {
		for _, label := range []string{"b", "a", "a-b", "B"} {
			ops = append(ops, store.PutOp{Namespace: s.ns(label), Key: fmt.Sprint(i), Value: value{}})
		}
		ops = append(ops, store.PutOp{Namespace: s.ns("a", "z"), Key: fmt.Sprint(i), Value: value{}})
	}
	s.batch(ops...)
	found := s.search(store.SearchOp{NamespacePrefix: s.ns(), Limit: 100})
	s.equal("number of items", len(found), 25)
	s.recent(found)
	s.equal("items again", s.search(store.SearchOp{NamespacePrefix: s.ns(), Limit: 100}), found)
}

// putMany puts items 0 to n-1 in one batch, each with its number and its number modulo 10.
func (s *space) putMany(n int, labels ...string) {
	s.Helper()
	var ops []store.Op
	for i := range n {
		ops = append(ops, store.PutOp{Namespace: s.ns(labels...), Key: fmt.Sprintf("%04d", i), Value: value{"n": i, "mod": i % 10}})
	}
	s.batch(ops...)
}

func searchDefaultLimit(s *space) {
	s.putMany(25)
	s.equal("number of items", len(s.search(store.SearchOp{NamespacePrefix: s.ns()})), store.DefaultSearchLimit)
	s.equal("number of items that match", len(s.search(store.SearchOp{NamespacePrefix: s.ns(), Filter: value{"n": value{"$lt": 15}}})),
		store.DefaultSearchLimit)
}

func searchLimit(s *space) {
	s.putMany(300, "a")
	s.putMany(10, "b")
	for _, limit := range []int{1, 2, 9, 10, 11, 299, 300, 301, 1000} {
		op := store.SearchOp{NamespacePrefix: s.ns("a"), Limit: limit}
		s.equal(describe(op), len(s.search(op)), min(limit, 300))
		op.Filter = value{"mod": 7}
		s.equal(describe(op), len(s.search(op)), min(limit, 30))
	}
}

func searchPages(s *space) {
	s.putMany(53, "a")
	s.putMany(10, "b")
	for _, size := range []int{1, 7, 10, 53, 60} {
		op := store.SearchOp{NamespacePrefix: s.ns("a")}
		all := s.pages(op, size, 53)
		s.recent(all)
		op.Filter = value{"mod": value{"$in": []int{1, 2, 3}}}
		matching := s.pages(op, size, 17)
		s.recent(matching)
		s.equal("items that match", s.places(matching), s.places(slices.DeleteFunc(all, func(item store.SearchItem) bool {
			return !slices.Contains([]any{int64(1), int64(2), int64(3)}, item.Value["mod"])
		})))
	}
}

func searchBeyondTheEnd(s *space) {
	s.putMany(5)
	for _, offset := range []int{5, 6, 1000, 1 << 30} {
		s.finds(store.SearchOp{NamespacePrefix: s.ns(), Offset: offset})
	}
	s.equal("items from the last on", len(s.search(store.SearchOp{NamespacePrefix: s.ns(), Offset: 4})), 1)
}

func searchNoScores(s *space) {
	s.putMany(3)
	for _, item := range s.search(store.SearchOp{NamespacePrefix: s.ns(), Filter: value{"n": value{"$gte": 1}}}) {
		if item.Score != nil {
			s.Errorf("%s has score %v", s.place(item.Item), *item.Score)
		}
	}
}

func searchRefusesPages(s *space) {
	s.refuses("limit -1", store.ErrInvalidArgument, store.SearchOp{NamespacePrefix: s.ns(), Limit: -1})
	s.refuses("offset -1", store.ErrInvalidArgument, store.SearchOp{NamespacePrefix: s.ns(), Offset: -1})
}

func searchRefusesModes(s *space) {
	for what, op := range map[string]store.SearchOp{
		"an unknown mode":        {Mode: "magic", Query: "q"},
		"a mode without a query": {Mode: store.ModeVector},
		"a query with NUL":       {Query: "a\x00b"},
		"a query in no encoding": {Query: "a\xff"},
	} {
		op.NamespacePrefix = s.ns()
		s.refuses(what, store.ErrInvalidArgument, op)
	}
}

func searchNotEnabled(s *space) {
	s.put(s.ns(), "k", value{"text": "q"})
	modes := []store.Mode{store.ModeVector, store.ModeHybrid}
	if !s.harness.Text {
		modes = append(modes, store.ModeText, "")
	}
	for _, mode := range modes {
		s.refuses(fmt.Sprintf("mode %q", mode), store.ErrNotEnabled,
			store.SearchOp{NamespacePrefix: s.ns(), Query: "q", Mode: mode})
	}
}

func searchCancelled(s *space) {
	_, err := s.store.Batch(s.cancelled(), store.SearchOp{NamespacePrefix: s.ns()},
		store.ListNamespacesOp{Match: []store.MatchCondition{store.Prefix(s.root)}})
	s.fails("search", err, context.Canceled)
}
