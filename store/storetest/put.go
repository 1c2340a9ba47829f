package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/pgweft/pgweft/store"
)

var putTests = []test{
	{"a value comes back as it was put", putRoundTrips},
	{"an item says where it is and when it was put", putDescribes},
	{"putting again replaces the whole value", putReplaces},
	{"putting again keeps created_at and moves updated_at", putKeepsCreatedAt},
	{"an empty object is a value", putEmptyObject},
	{"one key in several namespaces is several items", putSameKeyElsewhere},
	{"dots in keys are not dots between labels", putDotsInKeys},
	{"keys may be any text", putAnyKey},
	{"keys that no database can keep are refused", putRefusesKeys},
	{"values that JSON cannot express are refused", putRefusesValues},
	{"a nil value is refused by Put", putRefusesNil},
	{"a value is copied on its way in and out", putCopies},
	{"a cancelled context writes nothing", putCancelled},
	{"of concurrent puts of one key one is left, whole", putConcurrently},
	{"concurrent batches of the same keys in any order succeed", putConcurrentBatches},
}

func putRoundTrips(s *space) {
	values := survivors()
	s.put(s.ns(), "all", values)
	s.holds("value", s.get(s.ns(), "all").Value, values)
	s.holds("value found by search", s.only(store.SearchOp{NamespacePrefix: s.ns()}).Value, values)
}

func putDescribes(s *space) {
	s.put(s.ns("a", "b"), "k", value{"n": 1})
	item := s.get(s.ns("a", "b"), "k")
	s.equal("namespace", item.Namespace, s.ns("a", "b"))
	s.equal("key", item.Key, "k")
	if item.CreatedAt.IsZero() || !item.CreatedAt.Equal(item.UpdatedAt) {
		s.Errorf("created at %v, updated at %v: want the same time", item.CreatedAt, item.UpdatedAt)
	}
	s.equal("item found by search", s.only(store.SearchOp{NamespacePrefix: s.ns()}).Item, *item)
}

func putReplaces(s *space) {
	s.put(s.ns(), "k", value{"a": 1, "b": value{"c": 1}})
	s.put(s.ns(), "k", value{"b": value{"d": 2}})
	s.holds("value", s.get(s.ns(), "k").Value, value{"b": value{"d": 2}})
}

func putKeepsCreatedAt(s *space) {
	s.put(s.ns(), "k", value{"n": 1})
	first := s.get(s.ns(), "k")
	s.put(s.ns(), "k", value{"n": 1})
	second := s.get(s.ns(), "k")
	if !second.CreatedAt.Equal(first.CreatedAt) {
		s.Errorf("created_at moved from %v to %v", first.CreatedAt, second.CreatedAt)
	}
	if !second.UpdatedAt.After(first.UpdatedAt) {
		s.Errorf("updated_at did not move: it was %v, now it is %v", first.UpdatedAt, second.UpdatedAt)
	}
}

func putEmptyObject(s *space) {
	s.put(s.ns(), "k", value{})
	s.equal("value", s.get(s.ns(), "k").Value, value{})
}

func putSameKeyElsewhere(s *space) {
	namespaces := [][]string{s.ns(), s.ns("a"), s.ns("a", "b"), s.ns("b"), s.ns("A")}
	for i, namespace := range namespaces {
		s.put(namespace, "k", value{"n": i})
	}
	for i, namespace := range namespaces {
		s.holds(fmt.Sprintf("value in %q", namespace), s.get(namespace, "k").Value, value{"n": i})
	}
}

func putDotsInKeys(s *space) {
	s.put(s.ns("a"), "b.c", value{"n": 1})
	s.put(s.ns("a", "b"), "c", value{"n": 2})
	s.holds("value of b.c in a", s.get(s.ns("a"), "b.c").Value, value{"n": 1})
	s.holds("value of c in a.b", s.get(s.ns("a", "b"), "c").Value, value{"n": 2})
	s.absent(s.ns(), "a.b.c")
}

func putAnyKey(s *space) {
	keys := identifiers()
	keys["empty"] = ""
	keys["dots"] = "a..b."
	for name, key := range keys {
		s.put(s.ns(), key, value{"name": name})
	}
	for name, key := range keys {
		item := s.get(s.ns(), key)
		s.equal("key", item.Key, key)
		s.holds("value under "+name, item.Value, value{"name": name})
	}
	s.remove(s.ns(), keys["underscore"])
	s.absent(s.ns(), keys["underscore"])
	s.equal("items left", len(s.search(store.SearchOp{NamespacePrefix: s.ns(), Limit: 100})), len(keys)-1)
}

func putRefusesKeys(s *space) {
	for name, key := range badTexts() {
		s.refuses("put under a key with "+name, store.ErrInvalidArgument,
			store.PutOp{Namespace: s.ns(), Key: key, Value: value{}})
		s.refuses("get of a key with "+name, store.ErrInvalidArgument, store.GetOp{Namespace: s.ns(), Key: key})
	}
	s.isEmpty()
}

func putRefusesValues(s *space) {
	for name, bad := range map[string]any{
		"a channel": make(chan int), "not a number": math.NaN(), "infinity": math.Inf(1), "NUL": "\x00", "broken UTF-8": "\xff",
		"NUL in a name": value{"\x00": 1}, "a deep one": []any{value{"f": func() {}}},
	} {
		s.refuses("put of "+name, store.ErrInvalidArgument,
			store.PutOp{Namespace: s.ns(), Key: "k", Value: value{"bad": bad}})
	}
	s.isEmpty()
}

func putRefusesNil(s *space) {
	s.put(s.ns(), "k", value{"n": 1})
	s.fails("Put of nil", store.Put(s.Context(), s.store, s.ns(), "k", nil), store.ErrInvalidArgument)
	s.holds("value", s.get(s.ns(), "k").Value, value{"n": 1})
}

func putCopies(s *space) {
	mine := value{"list": []any{1}, "object": value{"n": 1}}
	s.put(s.ns(), "k", mine)
	mine["object"].(value)["n"], mine["list"].([]any)[0] = 2, 2
	want := value{"list": []any{1}, "object": value{"n": 1}}
	got := s.get(s.ns(), "k").Value
	s.holds("value after the one that was put changed", got, want)
	got["object"].(value)["n"], got["new"] = 3, 3
	s.holds("value after the one that was got changed", s.get(s.ns(), "k").Value, want)
}

func putCancelled(s *space) {
	_, err := s.store.Batch(s.cancelled(), store.PutOp{Namespace: s.ns(), Key: "k", Value: value{}})
	s.fails("put", err, context.Canceled)
	s.isEmpty()
}

func putConcurrently(s *space) {
	errs := make([]error, 16)
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() {
			_, errs[i] = s.store.Batch(s.Context(), store.PutOp{Namespace: s.ns(), Key: "k", Value: value{"a": i, "b": i}})
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		s.Fatalf("concurrent puts: %v", err)
	}
	got := s.get(s.ns(), "k").Value
	s.equal("halves of the value", got["a"], got["b"])
	s.finds(store.SearchOp{NamespacePrefix: s.ns()}, "/k")
}

func putConcurrentBatches(s *space) {
	const keys = 20
	errs := make([]error, 8)
	var group sync.WaitGroup
	for i := range errs {
		var ops []store.Op
		for k := range keys {
			if i%2 == 1 {
				k = keys - 1 - k
			}
			ops = append(ops, store.PutOp{Namespace: s.ns(), Key: fmt.Sprint(k), Value: value{"by": i}})
		}
		group.Go(func() { _, errs[i] = s.store.Batch(s.Context(), ops...) })
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		s.Fatalf("concurrent batches: %v", err)
	}
	winner := s.get(s.ns(), "0").Value["by"]
	for k := range keys {
		s.equal(fmt.Sprintf("writer of key %d, like that of key 0", k), s.get(s.ns(), fmt.Sprint(k)).Value["by"], winner)
	}
}
