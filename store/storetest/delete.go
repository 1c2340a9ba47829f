package storetest

import "github.com/pgweft/pgweft/store"

var deleteTests = []test{
	{"a deleted item is gone from every read", deleteIsComplete},
	{"deleting what does not exist is no error", deleteMissing},
	{"only the item of exactly this key is deleted", deleteExactly},
	{"what is put after a delete is a new item", deleteForgets},
}

func deleteIsComplete(s *space) {
	s.put(s.ns("a"), "k", value{"n": 1})
	if err := store.Delete(s.Context(), s.store, s.ns("a"), "k"); err != nil {
		s.Fatalf("Delete: %v", err)
	}
	s.absent(s.ns("a"), "k")
	s.isEmpty()
	s.lists(store.ListNamespacesOp{Match: []store.MatchCondition{store.Prefix(s.root)}})
}

func deleteMissing(s *space) {
	s.put(s.ns(), "k", value{"n": 1})
	s.remove(s.ns(), "other")
	s.remove(s.ns("a"), "k")
	s.remove([]string{"langgraph"}, s.root)
	s.finds(store.SearchOp{NamespacePrefix: s.ns()}, "/k")
}

func deleteExactly(s *space) {
	for _, key := range []string{"k", "K", "k1", "%"} {
		s.put(s.ns(), key, value{})
	}
	s.put(s.ns("a"), "k", value{})
	s.remove(s.ns(), "%")
	s.remove(s.ns(), "k")
	s.findsAll(store.SearchOp{NamespacePrefix: s.ns()}, "/K", "/k1", "a/k")
}

func deleteForgets(s *space) {
	s.put(s.ns(), "k", value{"a": 1})
	first := s.get(s.ns(), "k")
	s.remove(s.ns(), "k")
	s.put(s.ns(), "k", value{"b": 1})
	second := s.get(s.ns(), "k")
	s.holds("value", second.Value, value{"b": 1})
	if !second.CreatedAt.After(first.CreatedAt) {
		s.Errorf("created_at is %v, that of the deleted item was %v", second.CreatedAt, first.CreatedAt)
	}
}
