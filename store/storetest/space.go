package storetest

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/pgweft/pgweft/store"
)

// space is the store under test, and a namespace that no other test uses. Its methods fail the test where the store does not
// do what every test relies on.
type space struct {
	*testing.T
	harness Harness
	// store has no index and the default TTL.
	store store.Store
	// root is the first label of every namespace of the test.
	root string
}

func newSpace(t *testing.T, harness Harness) *space {
	t.Helper()
	root := "storetest-" + strings.ToLower(rand.Text())
	return &space{T: t, harness: harness, store: harness.Open(t, Settings{}), root: root}
}

// each runs a subtest in a space of its own, with the same store.
func (s *space) each(name string, run func(*space)) {
	s.Helper()
	s.Run(name, func(t *testing.T) {
		t.Helper()
		fresh := newSpace(t, s.harness)
		fresh.store = s.store
		run(fresh)
	})
}

// on is the same space, through a store with other settings.
func (s *space) on(settings Settings) *space {
	s.Helper()
	other := *s
	other.store = s.harness.Open(s.T, settings)
	return &other
}

// ns is a namespace of the test.
func (s *space) ns(labels ...string) []string { return append([]string{s.root}, labels...) }

type value = map[string]any

func (s *space) batch(ops ...store.Op) []store.Result {
	s.Helper()
	results, err := s.store.Batch(s.Context(), ops...)
	if err != nil {
		s.Fatalf("Batch of %d operations: %v", len(ops), err)
	}
	if len(results) != len(ops) {
		s.Fatalf("Batch of %d operations returned %d results", len(ops), len(results))
	}
	return results
}

func (s *space) put(namespace []string, key string, v value) {
	s.Helper()
	s.batch(store.PutOp{Namespace: namespace, Key: key, Value: v})
}

func (s *space) remove(namespace []string, key string) {
	s.Helper()
	s.batch(store.PutOp{Namespace: namespace, Key: key})
}

func (s *space) get(namespace []string, key string) *store.Item {
	s.Helper()
	item := s.batch(store.GetOp{Namespace: namespace, Key: key})[0].Item
	if item == nil {
		s.Fatalf("Get %q in %q found nothing", key, namespace)
	}
	return item
}

func (s *space) absent(namespace []string, key string) {
	s.Helper()
	if item := s.batch(store.GetOp{Namespace: namespace, Key: key})[0].Item; item != nil {
		s.Errorf("Get %q in %q: there should be no item, got %v", key, namespace, item.Value)
	}
}

func (s *space) search(op store.SearchOp) []store.SearchItem {
	s.Helper()
	return s.batch(op)[0].Items
}

// only is the one item that a search finds.
func (s *space) only(op store.SearchOp) store.SearchItem {
	s.Helper()
	found := s.search(op)
	if len(found) != 1 {
		s.Fatalf("%s found %d items, want 1", describe(op), len(found))
	}
	return found[0]
}

// place is where an item is, for messages and comparisons: the labels after the root, a slash, and the key.
func (s *space) place(item store.Item) string {
	if len(item.Namespace) == 0 || item.Namespace[0] != s.root {
		return fmt.Sprintf("%q in the foreign namespace %q", item.Key, item.Namespace)
	}
	return strings.Join(item.Namespace[1:], ".") + "/" + item.Key
}

func (s *space) places(items []store.SearchItem) []string {
	found := []string{}
	for _, item := range items {
		found = append(found, s.place(item.Item))
	}
	return found
}

// finds checks which items a search returns, in order.
func (s *space) finds(op store.SearchOp, want ...string) {
	s.Helper()
	s.equal(describe(op), s.places(s.search(op)), append([]string{}, want...))
}

// findsAll checks which items a search returns, in any order.
func (s *space) findsAll(op store.SearchOp, want ...string) {
	s.Helper()
	got := s.places(s.search(op))
	slices.Sort(got)
	sorted := append([]string{}, want...)
	slices.Sort(sorted)
	s.equal(describe(op), got, sorted)
}

func describe(op store.SearchOp) string {
	refresh := "by default"
	if op.RefreshTTL != nil {
		refresh = fmt.Sprint(*op.RefreshTTL)
	}
	return fmt.Sprintf("search %q, filter %v, query %q, mode %q, limit %d, offset %d, refresh %s", op.NamespacePrefix, op.Filter,
		op.Query, op.Mode, op.Limit, op.Offset, refresh)
}

// lists checks which namespaces are listed, in order; they are written without the root, and joined by dots.
func (s *space) lists(op store.ListNamespacesOp, want ...string) {
	s.Helper()
	s.equal(fmt.Sprintf("list namespaces %+v", op), s.namespaces(op), append([]string{}, want...))
}

func (s *space) namespaces(op store.ListNamespacesOp) []string {
	s.Helper()
	listed := []string{}
	for _, namespace := range s.batch(op)[0].Namespaces {
		if len(namespace) == 0 || namespace[0] != s.root {
			s.Errorf("list namespaces %+v has the foreign namespace %q", op, namespace)
			continue
		}
		listed = append(listed, strings.Join(namespace[1:], "."))
	}
	return listed
}

// advance makes time pass for everything in the space.
func (s *space) advance(d time.Duration) {
	s.Helper()
	s.harness.Advance(s.T, s.ns(), d)
}

// refuses checks that a batch fails as documented.
func (s *space) refuses(what string, want error, ops ...store.Op) {
	s.Helper()
	_, err := s.store.Batch(s.Context(), ops...)
	s.fails(what, err, want)
}

func (s *space) fails(what string, err, want error) {
	s.Helper()
	switch {
	case err == nil:
		s.Errorf("%s: want an error that is %q, got none", what, want)
	case !errors.Is(err, want):
		s.Errorf("%s: want an error that is %q, got: %v", what, want, err)
	}
}

// isEmpty checks that the space has no items.
func (s *space) isEmpty() {
	s.Helper()
	s.finds(store.SearchOp{NamespacePrefix: s.ns(), RefreshTTL: new(false)})
}

// equal compares; empty and nil lists are the same, and so are integers of the same value too large for int64.
func (s *space) equal(what string, got, want any) {
	s.Helper()
	if diff := gocmp.Diff(want, got, comparers); diff != "" {
		s.Errorf("%s (-want +got):\n%s", what, shortened(diff))
	}
}

var comparers = gocmp.Options{
	gocmp.Comparer(func(a, b *big.Int) bool { return a.Cmp(b) == 0 }),
}

// holds checks a value: it is want as any store returns it.
func (s *space) holds(what string, got, want value) {
	s.Helper()
	s.equal(what, got, s.stored(want))
}

// stored is a value of the types that it comes back with.
func (s *space) stored(v value) value {
	s.Helper()
	encoded, err := store.EncodeValue(v)
	if err != nil {
		s.Fatalf("the test's value cannot be encoded: %v", err)
	}
	decoded, err := store.DecodeValue(encoded)
	if err != nil {
		s.Fatalf("the test's value cannot be decoded: %v", err)
	}
	return decoded
}

// ranked checks that items with scores are sorted by score, namespace and key, and that nothing is there twice.
func (s *space) ranked(items []store.SearchItem) {
	s.Helper()
	for _, item := range items {
		if item.Score == nil {
			s.Fatalf("%s was found by a query and has no score", s.place(item.Item))
		}
	}
	s.sorted(items, func(a, b store.SearchItem) int { return cmp.Compare(*b.Score, *a.Score) })
}

// recent checks that items without scores are sorted by the time they were put, newest first, then by namespace and key.
func (s *space) recent(items []store.SearchItem) {
	s.Helper()
	s.sorted(items, func(a, b store.SearchItem) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
}

func (s *space) sorted(items []store.SearchItem, compare func(a, b store.SearchItem) int) {
	s.Helper()
	for i := 1; i < len(items); i++ {
		a, b := items[i-1], items[i]
		order := cmp.Or(compare(a, b),
			strings.Compare(store.JoinNamespace(a.Namespace), store.JoinNamespace(b.Namespace)), strings.Compare(a.Key, b.Key))
		if order >= 0 {
			s.Errorf("result %d (%s) does not sort before result %d (%s)", i-1, s.place(a.Item), i, s.place(b.Item))
		}
	}
}

// pages reads a search page by page, and checks that each page is full until nothing is left.
func (s *space) pages(op store.SearchOp, size, total int) []store.SearchItem {
	s.Helper()
	var all []store.SearchItem
	for op.Limit, op.Offset = size, 0; op.Offset < total+size; op.Offset += size {
		page := s.search(op)
		s.equal(fmt.Sprintf("length of the page of %d at offset %d of %d", size, op.Offset, total), len(page),
			max(0, min(size, total-op.Offset)))
		all = append(all, page...)
	}
	return all
}

// cancelled is a context that is done already.
func (s *space) cancelled() context.Context {
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	return ctx
}

// shortened keeps the difference of two large values from flooding the log.
func shortened(text string) string {
	const most = 4000
	if len(text) <= most {
		return text
	}
	return text[:most] + "\n... (cut)"
}
