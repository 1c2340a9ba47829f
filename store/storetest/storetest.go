// Package storetest checks an implementation of [store.Store], as testing/fstest does a file system:
//
//	func TestConformance(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) storetest.Harness {
//			pool := newPool(t)
//			return storetest.Harness{
//				Open: func(_ *testing.T, s storetest.Settings) store.Store {
//					return pgstore.New(pool, &pgstore.Config{Index: s.Index, TTL: s.TTL})
//				},
//			}
//		})
//	}
//
// The tests are grouped by capability and read as sentences. They check what the documentation of package store promises.
package storetest

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/pgweft/pgweft/store"
)

// Harness is what the suite needs of the implementation it checks. Every store that Open returns keeps its items in the same
// place.
type Harness struct {
	// Open returns a store with these settings.
	Open func(t *testing.T, settings Settings) store.Store

	// Advance makes time pass for the items under a prefix: it brings their expiry nearer by d. Tests run in parallel, so it
	// must not touch others. Nil if items cannot expire; the capability ttl is absent then.
	Advance func(t *testing.T, namespacePrefix []string, d time.Duration)

	// Index says what vectors the place is prepared for: Dims, Distance and VectorType; the tests bring embedders and fields of
	// their own. There have to be 64 dimensions at least. Nil if searches by meaning are not possible; the capability vector is
	// absent then.
	Index *store.IndexConfig

	// Text says that searches in the modes text and, if there is an Index, hybrid are possible, on everything in the value.
	Text bool
}

// Settings are those of one store.
type Settings struct {
	// Index is how the store makes vectors; nil is not at all.
	Index *store.IndexConfig
	// TTL is the store's time to live; nil is the default.
	TTL *store.TTLConfig
}

// Run runs the suite, as subtests named "capability/test". newHarness is called once to learn what can be checked and once
// for every test; it may return the same harness each time, because tests use namespaces of their own, whose first label
// begins with "storetest-", and run in parallel.
//
// Run logs, for each capability, how many tests passed and failed, or that it is absent.
func Run(t *testing.T, newHarness func(t *testing.T) Harness) {
	t.Helper()
	probe := newHarness(t)
	if hasVectors(probe) && probe.Index.Dims < 64 {
		t.Fatalf("the index of the harness has %d dimensions; give it 64 at least, so that the tests' texts can be told apart",
			probe.Index.Dims)
	}
	for _, c := range capabilities {
		if !c.presentIn(probe) {
			t.Logf("capability %s: absent", c.name)
			continue
		}
		passed, failed := c.run(t, newHarness)
		t.Logf("%s: %d passed, %d failed", c.name, passed, failed)
	}
}

// capability is a group of tests of one thing that a store can do.
type capability struct {
	name      string
	presentIn func(Harness) bool
	tests     []test
}

type test struct {
	name string
	run  func(*space)
}

var capabilities = []capability{
	{"put", always, putTests},
	{"get", always, getTests},
	{"delete", always, deleteTests},
	{"batch", always, batchTests},
	{"namespaces", always, namespaceTests},
	{"search", always, searchTests},
	{"filter", always, filterTests},
	{"list_namespaces", always, listNamespacesTests},
	{"ttl", expires, ttlTests},
	{"vector", hasVectors, vectorTests},
	{"vector_ttl", func(h Harness) bool { return expires(h) && hasVectors(h) }, vectorTTLTests},
	{"text", hasText, textTests},
	{"text_ttl", func(h Harness) bool { return expires(h) && hasText(h) }, textTTLTests},
	{"hybrid", func(h Harness) bool { return hasText(h) && hasVectors(h) }, hybridTests},
}

func always(Harness) bool { return true }

func expires(h Harness) bool { return h.Advance != nil }

func hasVectors(h Harness) bool { return h.Index != nil }

func hasText(h Harness) bool { return h.Text }

// run counts only once all tests are done: t.Run returns after the group's parallel tests.
func (c capability) run(t *testing.T, newHarness func(t *testing.T) Harness) (passed, failed int64) {
	t.Helper()
	var passes, failures atomic.Int64
	t.Run(c.name, func(t *testing.T) {
		for _, test := range c.tests {
			t.Run(test.name, func(t *testing.T) {
				t.Parallel()
				// Before newHarness, so that it runs after the cleanups of newHarness, which may fail the test too.
				t.Cleanup(func() {
					if t.Failed() {
						failures.Add(1)
					} else {
						passes.Add(1)
					}
				})
				test.run(newSpace(t, newHarness(t)))
			})
		}
	})
	return passes.Load(), failures.Load()
}
