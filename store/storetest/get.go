package storetest

import (
	"context"
	"fmt"

	"github.com/pgweft/pgweft/store"
)

var getTests = []test{
	{"an item that does not exist is not found", getMissing},
	{"only the item of exactly this namespace is found", getExactly},
	{"many items are read in the order asked for", getMany},
	{"a cancelled context reads nothing", getCancelled},
}

func getMissing(s *space) {
	_, err := store.Get(s.Context(), s.store, s.ns(), "k")
	s.fails("Get", err, store.ErrNotFound)
	s.absent(s.ns(), "k")
	s.put(s.ns(), "k", value{})
	item, err := store.Get(s.Context(), s.store, s.ns(), "k")
	if err != nil || item.Key != "k" {
		s.Errorf("Get after put: %+v, %v", item, err)
	}
	s.absent([]string{"langgraph"}, s.root)
}

func getExactly(s *space) {
	s.put(s.ns("a"), "k", value{})
	for _, namespace := range [][]string{s.ns(), s.ns("a", "k"), s.ns("A"), s.ns("a "), s.ns("%"), s.ns("_"), {"a"}} {
		s.absent(namespace, "k")
	}
	for _, key := range []string{"", "K", "k ", "%", "_"} {
		s.absent(s.ns("a"), key)
	}
}

func getMany(s *space) {
	const n = 300
	var puts, gets []store.Op
	for i := range n {
		puts = append(puts, store.PutOp{Namespace: s.ns(fmt.Sprint(i % 7)), Key: fmt.Sprint(i), Value: value{"n": i}})
	}
	s.batch(puts...)
	for i := range n {
		i = (i * 13) % n
		gets = append(gets, store.GetOp{Namespace: s.ns(fmt.Sprint(i % 7)), Key: fmt.Sprint(i)},
			store.GetOp{Namespace: s.ns(fmt.Sprint(i % 7)), Key: "missing"})
	}
	gets = append(gets, gets[0]) // one twice
	for i, result := range s.batch(gets...) {
		op := gets[i].(store.GetOp)
		switch {
		case op.Key == "missing" && result.Item != nil:
			s.Fatalf("result %d is %q, want none", i, result.Item.Key)
		case op.Key != "missing" && (result.Item == nil || result.Item.Key != op.Key):
			s.Fatalf("result %d of %q is %+v", i, op.Key, result.Item)
		case op.Key != "missing":
			s.equal("namespace", result.Item.Namespace, op.Namespace)
			s.equal("value", fmt.Sprint(result.Item.Value["n"]), op.Key)
		}
	}
}

func getCancelled(s *space) {
	_, err := s.store.Batch(s.cancelled(), store.GetOp{Namespace: s.ns(), Key: "k"})
	s.fails("get", err, context.Canceled)
}
