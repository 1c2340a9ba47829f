package storetest

import (
	"fmt"
	"slices"

	"github.com/pgweft/pgweft/store"
)

var listNamespacesTests = []test{
	{"every namespace with items is listed once, sorted", listSorted},
	{"conditions match whole labels from either end", listConditions},
	{"an asterisk is exactly one label", listWildcards},
	{"max_depth cuts namespaces off and lists each once", listMaxDepth},
	{"the limit is a hundred unless said otherwise", listDefaultLimit},
	{"pages have everything once", listPages},
	{"limit and offset count what max_depth leaves", listPagesOfCut},
	{"without conditions all namespaces are listed", listEverything},
	{"a namespace without items is not listed", listWithoutItems},
	{"bad arguments are refused", listRefuses},
}

// within is a condition that every list has, so that other tests do not show.
func (s *space) within(conditions ...store.MatchCondition) []store.MatchCondition {
	return append(conditions, store.Prefix(s.root))
}

func (s *space) putIn(namespaces ...[]string) {
	s.Helper()
	var ops []store.Op
	for _, namespace := range namespaces {
		ops = append(ops, store.PutOp{Namespace: s.ns(namespace...), Key: "k", Value: value{}})
	}
	s.batch(ops...)
}

func listSorted(s *space) {
	s.putIn([]string{"b"}, nil, []string{"a", "b"}, []string{"a"}, []string{"a-b"}, []string{"B"}, []string{"é"}, []string{"a", "b", "c"})
	s.put(s.ns("a"), "another", value{})
	s.lists(store.ListNamespacesOp{Match: s.within()}, "", "B", "a", "a-b", "a.b", "a.b.c", "b", "é")
}

// tree are namespaces that most conditions tell apart.
func (s *space) tree() {
	s.putIn([]string{"a", "b", "c"}, []string{"a", "b", "d", "e"}, []string{"a", "b", "d", "i"}, []string{"a", "b", "f"},
		[]string{"a", "c", "f"}, []string{"b", "a", "f"}, []string{"users", "1", "docs"}, []string{"users", "2", "docs"},
		[]string{"users", "2", "docs", "draft"}, []string{"users", "2", "notes"}, []string{"usersX", "2", "docs"}, []string{"f"})
}

func listConditions(s *space) {
	s.tree()
	prefix := func(labels ...string) store.MatchCondition {
		return store.Prefix(append([]string{s.root}, labels...)...)
	}
	for _, c := range []struct {
		match []store.MatchCondition
		want  []string
	}{
		{[]store.MatchCondition{prefix("a", "b")}, []string{"a.b.c", "a.b.d.e", "a.b.d.i", "a.b.f"}},
		{[]store.MatchCondition{prefix("users")}, []string{"users.1.docs", "users.2.docs", "users.2.docs.draft", "users.2.notes"}},
		{[]store.MatchCondition{prefix("user")}, nil},
		{[]store.MatchCondition{prefix("f")}, []string{"f"}},
		{[]store.MatchCondition{prefix(), store.Suffix("f")}, []string{"a.b.f", "a.c.f", "b.a.f", "f"}},
		{[]store.MatchCondition{prefix(), store.Suffix("a", "f")}, []string{"b.a.f"}},
		{[]store.MatchCondition{prefix("a"), store.Suffix("f")}, []string{"a.b.f", "a.c.f"}},
		{[]store.MatchCondition{prefix("a", "b"), prefix("a")}, []string{"a.b.c", "a.b.d.e", "a.b.d.i", "a.b.f"}},
		{[]store.MatchCondition{prefix("a"), prefix("b")}, nil},
		{[]store.MatchCondition{prefix(), store.Suffix("docs"), store.Suffix("1", "docs")}, []string{"users.1.docs"}},
		{[]store.MatchCondition{store.Suffix(s.root, "f")}, []string{"f"}},
		{[]store.MatchCondition{prefix("f"), store.Suffix(s.root, "f")}, []string{"f"}},
		{[]store.MatchCondition{prefix("f", "g")}, nil},
		{[]store.MatchCondition{prefix("users", "1", "docs"), store.Prefix(), store.Suffix()}, []string{"users.1.docs"}},
	} {
		s.lists(store.ListNamespacesOp{Match: c.match}, c.want...)
	}
}

func listWildcards(s *space) {
	s.tree()
	prefix := func(labels ...string) store.MatchCondition {
		return store.Prefix(append([]string{s.root}, labels...)...)
	}
	for _, c := range []struct {
		match []store.MatchCondition
		want  []string
	}{
		{[]store.MatchCondition{prefix("users", "*", "docs")}, []string{"users.1.docs", "users.2.docs", "users.2.docs.draft"}},
		{[]store.MatchCondition{prefix("*", "b")}, []string{"a.b.c", "a.b.d.e", "a.b.d.i", "a.b.f"}},
		{[]store.MatchCondition{prefix("f", "*")}, nil},
		{[]store.MatchCondition{prefix("*", "*", "*", "*")}, []string{"a.b.d.e", "a.b.d.i", "users.2.docs.draft"}},
		{[]store.MatchCondition{prefix(), store.Suffix("users", "*", "docs")}, []string{"users.1.docs", "users.2.docs"}},
		{[]store.MatchCondition{prefix(), store.Suffix("d", "*")}, []string{"a.b.d.e", "a.b.d.i"}},
		{[]store.MatchCondition{store.Suffix(s.root, "*")}, []string{"f"}},
		{[]store.MatchCondition{store.Suffix(s.root, "*", "c", "*")}, []string{"a.c.f"}},
		{[]store.MatchCondition{store.Prefix("*", "*", "b", "d"), prefix()}, []string{"a.b.d.e", "a.b.d.i"}},
		{[]store.MatchCondition{prefix("use*")}, nil},
		{[]store.MatchCondition{prefix("users", "%", "docs")}, nil},
	} {
		s.lists(store.ListNamespacesOp{Match: c.match}, c.want...)
	}
	s.putIn([]string{"*", "x"}, []string{"y", "x"})
	s.lists(store.ListNamespacesOp{Match: []store.MatchCondition{prefix("*", "x")}}, "*.x", "y.x")
}

func listMaxDepth(s *space) {
	s.tree()
	prefix := store.Prefix(s.root, "a")
	for depth, want := range map[int][]string{
		1:    {""},
		2:    {"a"},
		3:    {"a.b", "a.c"},
		4:    {"a.b.c", "a.b.d", "a.b.f", "a.c.f"},
		5:    {"a.b.c", "a.b.d.e", "a.b.d.i", "a.b.f", "a.c.f"},
		1000: {"a.b.c", "a.b.d.e", "a.b.d.i", "a.b.f", "a.c.f"},
	} {
		s.lists(store.ListNamespacesOp{Match: []store.MatchCondition{prefix}, MaxDepth: depth}, want...)
	}
	// Conditions are about the whole namespace, not about what is left of it.
	s.lists(store.ListNamespacesOp{Match: []store.MatchCondition{prefix, store.Suffix("e")}, MaxDepth: 3}, "a.b")
	s.lists(store.ListNamespacesOp{Match: []store.MatchCondition{prefix, store.Suffix("b")}, MaxDepth: 3})
}

func (s *space) numbered(n int) []string {
	s.Helper()
	var namespaces [][]string
	var want []string
	for i := range n {
		label := fmt.Sprintf("%04d", i)
		namespaces = append(namespaces, []string{label, "x"}, []string{label, "y"})
		want = append(want, label+".x", label+".y")
	}
	s.putIn(namespaces...)
	return want
}

func listDefaultLimit(s *space) {
	all := s.numbered(60)
	s.lists(store.ListNamespacesOp{Match: s.within()}, all[:store.DefaultNamespacesLimit]...)
}

func listPages(s *space) {
	all := s.numbered(30)
	for _, size := range []int{1, 7, 60, 100} {
		var pages []string
		for offset := 0; offset < 60; offset += size {
			pages = append(pages, s.namespaces(store.ListNamespacesOp{Match: s.within(), Limit: size, Offset: offset})...)
		}
		s.equal(fmt.Sprintf("pages of %d", size), pages, all)
	}
	s.lists(store.ListNamespacesOp{Match: s.within(), Offset: 60})
	s.lists(store.ListNamespacesOp{Match: s.within(), Offset: 1 << 30})
}

func listPagesOfCut(s *space) {
	s.numbered(30)
	s.lists(store.ListNamespacesOp{Match: s.within(), MaxDepth: 2, Limit: 3, Offset: 10}, "0010", "0011", "0012")
	s.lists(store.ListNamespacesOp{Match: s.within(), MaxDepth: 2, Limit: 10, Offset: 28}, "0028", "0029")
	s.lists(store.ListNamespacesOp{Match: s.within(store.Suffix("y")), Limit: 2, Offset: 1}, "0001.y", "0002.y")
}

func listEverything(s *space) {
	s.putIn([]string{"a"}, []string{"b"})
	all := s.batch(store.ListNamespacesOp{Limit: 1 << 30})[0].Namespaces
	for _, namespace := range [][]string{s.ns("a"), s.ns("b")} {
		if !slices.ContainsFunc(all, func(listed []string) bool { return slices.Equal(listed, namespace) }) {
			s.Errorf("%q is not among the %d namespaces", namespace, len(all))
		}
	}
}

func listWithoutItems(s *space) {
	s.putIn([]string{"a", "b"}, []string{"c"})
	s.remove(s.ns("c"), "k")
	s.lists(store.ListNamespacesOp{Match: s.within()}, "a.b")
}

func listRefuses(s *space) {
	for what, op := range map[string]store.ListNamespacesOp{
		"a negative limit":      {Limit: -1},
		"a negative offset":     {Offset: -1},
		"a negative depth":      {MaxDepth: -1},
		"an unknown match type": {Match: []store.MatchCondition{{Type: "infix", Path: []string{"a"}}}},
		"no match type":         {Match: []store.MatchCondition{{Path: []string{"a"}}}},
	} {
		s.refuses(what, store.ErrInvalidArgument, op)
	}
}
