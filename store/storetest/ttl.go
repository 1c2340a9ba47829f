package storetest

import (
	"time"

	"github.com/pgweft/pgweft/store"
)

var ttlTests = []test{
	{"an item without a TTL lasts", ttlNone},
	{"an expired item is in no read", ttlExpires},
	{"fractions of a minute count", ttlFractions},
	{"reading starts the time anew", ttlRefreshByGet},
	{"being found starts the time anew", ttlRefreshBySearch},
	{"only what a search returns starts anew", ttlRefreshOnlyWhatIsFound},
	{"reading with refresh off does not start it anew", ttlRefreshOff},
	{"of two reads in one batch one that refreshes is enough", ttlRefreshByOneOfTwo},
	{"reading with refresh on does not let what lasts expire", ttlRefreshOfWhatLasts},
	{"refreshing changes neither value nor times", ttlRefreshIsInvisible},
	{"an expired item cannot be refreshed", ttlNoResurrection},
	{"putting again starts the time anew", ttlPutAgain},
	{"putting again without a TTL makes the item last", ttlPutAgainWithout},
	{"what is put where an item expired is a new item", ttlPutOverExpired},
	{"limits and offsets do not count what has expired", ttlLimit},
	{"a search without a query keeps its order when items are refreshed", ttlOrder},
	{"the default TTL is that of items put without one", ttlDefault},
	{"NoTTL overrides the default", ttlNoTTL},
	{"refresh can be off by default and on for one read", ttlRefreshDefault},
	{"a negative TTL is refused", ttlRefuses},
}

// putFor puts an item that expires after d.
func (s *space) putFor(d time.Duration, key string) {
	s.Helper()
	s.batch(store.PutOp{Namespace: s.ns("a"), Key: key, Value: value{"key": key}, TTL: d})
}

// left checks which items are there, and touches none.
func (s *space) left(want ...string) {
	s.Helper()
	s.findsAll(store.SearchOp{NamespacePrefix: s.ns(), RefreshTTL: new(false), Limit: 100}, want...)
}

func (s *space) read(key string, refresh *bool) {
	s.Helper()
	if s.batch(store.GetOp{Namespace: s.ns("a"), Key: key, RefreshTTL: refresh})[0].Item == nil {
		s.Errorf("%q is not there to be read", key)
	}
}

func ttlNone(s *space) {
	s.put(s.ns("a"), "k", value{})
	s.advance(100 * 365 * 24 * time.Hour)
	s.left("a/k")
}

func ttlExpires(s *space) {
	s.putFor(time.Hour, "expires")
	s.put(s.ns("b"), "lasts", value{})
	s.advance(59 * time.Minute)
	s.left("a/expires", "b/lasts")
	s.advance(2 * time.Minute)
	s.left("b/lasts")
	s.absent(s.ns("a"), "expires")
	s.finds(store.SearchOp{NamespacePrefix: s.ns("a"), Filter: value{"key": "expires"}})
	s.lists(store.ListNamespacesOp{Match: s.within()}, "b")
	s.lists(store.ListNamespacesOp{Match: s.within(), MaxDepth: 2}, "b")
}

func ttlFractions(s *space) {
	s.putFor(30*time.Second, "30 seconds")
	s.putFor(90*time.Second, "90 seconds")
	s.putFor(10*time.Hour+500*time.Millisecond, "10 hours and a bit")
	s.left("a/30 seconds", "a/90 seconds", "a/10 hours and a bit")
	s.advance(31 * time.Second)
	s.left("a/90 seconds", "a/10 hours and a bit")
	s.advance(60 * time.Second)
	s.left("a/10 hours and a bit")
}

func ttlRefreshByGet(s *space) {
	s.putFor(time.Hour, "read")
	s.putFor(time.Hour, "not read")
	s.advance(40 * time.Minute)
	s.read("read", nil)
	s.advance(40 * time.Minute)
	s.left("a/read")
	s.read("read", new(true))
	s.advance(59 * time.Minute)
	s.left("a/read")
	s.advance(2 * time.Minute)
	s.left()
}

func ttlRefreshBySearch(s *space) {
	s.putFor(time.Hour, "k")
	s.advance(40 * time.Minute)
	s.finds(store.SearchOp{NamespacePrefix: s.ns()}, "a/k")
	s.advance(40 * time.Minute)
	s.finds(store.SearchOp{NamespacePrefix: s.ns(), RefreshTTL: new(true)}, "a/k")
	s.advance(40 * time.Minute)
	s.left("a/k")
}

func ttlRefreshOnlyWhatIsFound(s *space) {
	for _, key := range []string{"skipped", "found", "beyond the limit"} {
		s.putFor(time.Hour, key)
	}
	s.batch(store.PutOp{Namespace: s.ns("b"), Key: "elsewhere", Value: value{}, TTL: time.Hour})
	s.advance(40 * time.Minute)
	s.finds(store.SearchOp{NamespacePrefix: s.ns("a"), Offset: 1, Limit: 1}, "a/found")
	s.advance(40 * time.Minute)
	s.left("a/found")
}

func ttlRefreshOff(s *space) {
	s.putFor(time.Hour, "k")
	s.advance(40 * time.Minute)
	s.read("k", new(false))
	s.finds(store.SearchOp{NamespacePrefix: s.ns(), RefreshTTL: new(false)}, "a/k")
	s.lists(store.ListNamespacesOp{Match: s.within()}, "a")
	s.advance(21 * time.Minute)
	s.left()
}

func ttlRefreshByOneOfTwo(s *space) {
	s.putFor(time.Hour, "k")
	s.advance(40 * time.Minute)
	get := store.GetOp{Namespace: s.ns("a"), Key: "k"}
	with, without := get, get
	with.RefreshTTL, without.RefreshTTL = new(true), new(false)
	s.batch(without, with, without)
	s.advance(40 * time.Minute)
	s.left("a/k")
}

func ttlRefreshOfWhatLasts(s *space) {
	s.put(s.ns("a"), "k", value{})
	s.read("k", new(true))
	s.finds(store.SearchOp{NamespacePrefix: s.ns(), RefreshTTL: new(true)}, "a/k")
	s.advance(100 * 365 * 24 * time.Hour)
	s.left("a/k")
}

func ttlRefreshIsInvisible(s *space) {
	s.putFor(time.Hour, "k")
	before := s.get(s.ns("a"), "k")
	s.advance(40 * time.Minute)
	s.equal("item that the refreshing read returns", s.get(s.ns("a"), "k"), before)
	s.equal("item after it", s.get(s.ns("a"), "k"), before)
}

func ttlNoResurrection(s *space) {
	s.putFor(time.Hour, "k")
	s.advance(61 * time.Minute)
	s.batch(store.GetOp{Namespace: s.ns("a"), Key: "k", RefreshTTL: new(true)},
		store.SearchOp{NamespacePrefix: s.ns(), RefreshTTL: new(true)})
	s.absent(s.ns("a"), "k")
	s.left()
}

func ttlPutAgain(s *space) {
	s.putFor(time.Hour, "k")
	s.advance(40 * time.Minute)
	s.putFor(2*time.Hour, "k")
	s.advance(119 * time.Minute)
	s.left("a/k")
	s.advance(2 * time.Minute)
	s.left()
}

func ttlPutAgainWithout(s *space) {
	s.putFor(time.Hour, "k")
	s.put(s.ns("a"), "k", value{})
	s.advance(24 * time.Hour)
	s.left("a/k")
}

func ttlPutOverExpired(s *space) {
	s.putFor(time.Hour, "k")
	first := s.get(s.ns("a"), "k")
	s.advance(61 * time.Minute)
	s.put(s.ns("a"), "k", value{"n": 2})
	second := s.get(s.ns("a"), "k")
	s.holds("value", second.Value, value{"n": 2})
	if !second.CreatedAt.After(first.CreatedAt) {
		s.Errorf("created_at is %v, that of the expired item was %v", second.CreatedAt, first.CreatedAt)
	}
}

func ttlLimit(s *space) {
	for _, key := range []string{"1", "2", "3", "4"} {
		s.put(s.ns("a"), key, value{})
		s.putFor(time.Minute, key+" expires")
	}
	s.advance(2 * time.Minute)
	s.finds(store.SearchOp{NamespacePrefix: s.ns(), Limit: 3}, "a/4", "a/3", "a/2")
	s.finds(store.SearchOp{NamespacePrefix: s.ns(), Limit: 3, Offset: 3}, "a/1")
	s.lists(store.ListNamespacesOp{Match: s.within(), Limit: 1}, "a")
}

func ttlOrder(s *space) {
	for _, key := range []string{"1", "2", "3"} {
		s.putFor(time.Hour, key)
	}
	s.advance(time.Minute)
	s.read("1", new(true))
	s.finds(store.SearchOp{NamespacePrefix: s.ns(), RefreshTTL: new(true)}, "a/3", "a/2", "a/1")
	s.finds(store.SearchOp{NamespacePrefix: s.ns(), RefreshTTL: new(true)}, "a/3", "a/2", "a/1")
}

func ttlDefault(s *space) {
	s = s.on(Settings{TTL: &store.TTLConfig{DefaultTTL: 90 * time.Minute}})
	s.put(s.ns("a"), "default", value{})
	s.putFor(time.Hour, "an hour")
	s.putFor(2*time.Hour, "two hours")
	s.advance(61 * time.Minute)
	s.left("a/default", "a/two hours")
	s.advance(30 * time.Minute)
	s.left("a/two hours")
}

func ttlNoTTL(s *space) {
	s = s.on(Settings{TTL: &store.TTLConfig{DefaultTTL: time.Hour}})
	s.putFor(store.NoTTL, "lasts")
	s.putFor(0, "expires")
	s.putFor(time.Minute, "made to last")
	s.putFor(store.NoTTL, "made to last")
	s.advance(2 * time.Hour)
	s.left("a/lasts", "a/made to last")
}

func ttlRefreshDefault(s *space) {
	s = s.on(Settings{TTL: &store.TTLConfig{RefreshOnRead: new(false)}})
	for _, key := range []string{"read", "read with refresh"} {
		s.putFor(time.Hour, key)
	}
	s.advance(40 * time.Minute)
	s.read("read", nil)
	s.findsAll(store.SearchOp{NamespacePrefix: s.ns()}, "a/read", "a/read with refresh")
	s.read("read with refresh", new(true))
	s.advance(40 * time.Minute)
	s.left("a/read with refresh")
	s.findsAll(store.SearchOp{NamespacePrefix: s.ns(), RefreshTTL: new(true)}, "a/read with refresh")
	s.advance(40 * time.Minute)
	s.left("a/read with refresh")
}

func ttlRefuses(s *space) {
	for _, ttl := range []time.Duration{-2, -time.Minute} {
		s.refuses(ttl.String(), store.ErrInvalidArgument, store.PutOp{Namespace: s.ns("a"), Key: "k", Value: value{}, TTL: ttl})
	}
	s.left()
}
