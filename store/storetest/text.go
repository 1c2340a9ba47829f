package storetest

import (
	"fmt"
	"time"

	"github.com/pgweft/pgweft/store"
)

var textTests = []test{
	{"an item is found by its words", textWords},
	{"a store without an index searches by words", textDefaultMode},
	{"the better match comes first", textRanks},
	{"equal matches are sorted by namespace and key", textTies},
	{"as many items as the limit come back", textLimit},
	{"filters and prefixes hold", textFilter},
	{"words are those of the last put", textLastPut},
	{"a query without words finds nothing", textNoWords},
	{"a query may contain any characters", textAnyQuery},
}

var textTTLTests = []test{
	{"an expired item is not found by its words", textExpired},
	{"being found by its words starts the time anew", textRefresh},
}

func (s *space) words(query string) store.SearchOp {
	return store.SearchOp{NamespacePrefix: s.ns(), Query: query, Mode: store.ModeText}
}

func (s *space) memories() {
	s.Helper()
	for key, text := range map[string]string{
		"tea": "green tea from the mountains", "coffee": "black coffee in the morning", "walk": "a walk in the mountains",
	} {
		s.put(s.ns(key), key, value{"text": text, "kind": key[:1]})
	}
}

func textWords(s *space) {
	s.memories()
	s.finds(s.words("coffee"), "coffee/coffee")
	s.finds(s.words("COFFEE"), "coffee/coffee")
	s.findsAll(s.words("mountains"), "tea/tea", "walk/walk")
	s.finds(s.words("ocean"))
	found := s.search(s.words("mountains"))
	s.ranked(found)
}

func textDefaultMode(s *space) {
	s.memories()
	op := s.words("coffee")
	op.Mode = ""
	s.finds(op, "coffee/coffee")
}

func textRanks(s *space) {
	s.put(s.ns(), "once", value{"text": "tea and other things"})
	s.put(s.ns(), "often", value{"text": "tea, tea, tea and more tea"})
	s.finds(s.words("tea"), "/often", "/once")
}

func textTies(s *space) {
	for _, key := range []string{"b", "c", "a"} {
		s.put(s.ns("y"), key, value{"text": "the same words"})
		s.put(s.ns("x"), key, value{"text": "the same words"})
	}
	s.finds(s.words("same words"), "x/a", "x/b", "x/c", "y/a", "y/b", "y/c")
}

func textLimit(s *space) {
	var ops []store.Op
	for i := range 40 {
		ops = append(ops, store.PutOp{Namespace: s.ns(), Key: fmt.Sprintf("%02d", i), Value: value{"text": "tea", "n": i}},
			store.PutOp{Namespace: s.ns(), Key: fmt.Sprintf("other %02d", i), Value: value{"text": "coffee", "n": i}})
	}
	s.batch(ops...)
	s.equal("number of items by default", len(s.search(s.words("tea"))), store.DefaultSearchLimit)
	s.ranked(s.pages(s.words("tea"), 7, 40))
	op := s.words("tea")
	op.Filter = value{"n": value{"$gte": 30}}
	s.ranked(s.pages(op, 4, 10))
	op.Offset = 1000
	s.finds(op)
}

func textFilter(s *space) {
	s.memories()
	op := s.words("mountains")
	op.Filter = value{"kind": "w"}
	s.finds(op, "walk/walk")
	op = s.words("mountains")
	op.NamespacePrefix = s.ns("tea")
	s.finds(op, "tea/tea")
	op.NamespacePrefix = s.ns("te")
	s.finds(op)
}

func textLastPut(s *space) {
	s.memories()
	s.put(s.ns("tea"), "tea", value{"text": "white tea from the valley"})
	s.remove(s.ns("coffee"), "coffee")
	s.finds(s.words("mountains"), "walk/walk")
	s.finds(s.words("valley"), "tea/tea")
	s.finds(s.words("coffee"))
}

func textNoWords(s *space) {
	s.memories()
	for _, query := range []string{" ", "!?", "\n"} {
		s.finds(s.words(query))
	}
}

func textAnyQuery(s *space) {
	s.memories()
	for name, text := range identifiers() {
		s.each(name, func(s *space) {
			s.put(s.ns(), "k", value{"text": text + " coffee"})
			for _, query := range []string{"coffee", `coffee & ! | ( ) : * ' " \ -`} {
				if _, err := s.store.Batch(s.Context(), s.words(query), s.words(text)); err != nil {
					s.Errorf("search for %q: %v", query, err)
				}
			}
			s.finds(s.words("coffee"), "/k")
		})
	}
}

func textExpired(s *space) {
	s.batch(store.PutOp{Namespace: s.ns(), Key: "k", Value: value{"text": "tea"}, TTL: time.Hour})
	s.finds(s.words("tea"), "/k")
	s.advance(61 * time.Minute)
	s.finds(s.words("tea"))
}

func textRefresh(s *space) {
	s.batch(store.PutOp{Namespace: s.ns(), Key: "k", Value: value{"text": "tea"}, TTL: time.Hour})
	s.advance(40 * time.Minute)
	s.finds(s.words("tea"), "/k")
	s.advance(40 * time.Minute)
	op := s.words("tea")
	op.RefreshTTL = new(false)
	s.finds(op, "/k")
	s.advance(40 * time.Minute)
	s.finds(op)
}

var hybridTests = []test{
	{"what is near and has the words comes first", hybridBothFirst},
	{"what only is near or only has the words is found too", hybridEither},
	{"as many items as the limit come back", hybridLimit},
	{"filters and prefixes hold", hybridFilter},
	{"items that rank alike are sorted by namespace and key", hybridTies},
}

// meant is the same space through a store that embeds the field "meaning". The words of that field count as well, so it says
// "teapots" where only the vector is to be near "teapot".
func (s *space) meant() *space {
	s.Helper()
	return s.indexed(store.NewLocalEmbedder(s.harness.Index.Dims), "meaning")
}

func (s *space) teapot() store.SearchOp {
	return store.SearchOp{NamespacePrefix: s.ns(), Query: "teapot", Mode: store.ModeHybrid}
}

func (s *space) putMeaning(key, words, meaning string) {
	s.Helper()
	v := value{"text": words, "kind": key[:1]}
	if meaning != "" {
		v["meaning"] = meaning
	}
	s.put(s.ns(), key, v)
}

func hybridBothFirst(s *space) {
	s = s.meant()
	s.putMeaning("meaning", "nothing", "jasmine teapots")
	s.putMeaning("words", "teapot", "")
	s.putMeaning("both", "teapot", "teapot")
	found := s.search(s.teapot())
	s.ranked(found)
	places := s.places(found)
	s.equal("number of items", len(places), 3)
	s.equal("first", places[:min(1, len(places))], []string{"/both"})
}

func hybridEither(s *space) {
	s = s.meant()
	s.putMeaning("near", "nothing", "teapots")
	s.putMeaning("words", "teapot", "")
	s.batch(store.PutOp{Namespace: s.ns(), Key: "neither", Value: value{"text": "coffee"}})
	s.findsAll(s.teapot(), "/near", "/words")
}

func hybridLimit(s *space) {
	s = s.meant()
	var ops []store.Op
	for i := range 30 {
		ops = append(ops,
			store.PutOp{Namespace: s.ns(), Key: fmt.Sprintf("w%02d", i), Value: value{"text": "teapot"}},
			store.PutOp{Namespace: s.ns(), Key: fmt.Sprintf("m%02d", i), Value: value{"meaning": fmt.Sprint("kettle ", i)}})
	}
	s.batch(ops...)
	for _, limit := range []int{1, 10, 29, 60, 100} {
		op := s.teapot()
		op.Limit = limit
		found := s.search(op)
		s.equal(describe(op), len(found), min(limit, 60))
		s.ranked(found)
	}
	op := s.teapot()
	op.Limit = 100
	s.equal("pages", s.places(s.pages(op, 7, 60)), s.places(s.search(op)))
}

func hybridFilter(s *space) {
	s = s.meant()
	s.putMeaning("a near", "nothing", "teapots")
	s.putMeaning("a words", "teapot", "")
	s.putMeaning("b both", "teapot", "teapot")
	op := s.teapot()
	op.Filter = value{"kind": "a"}
	s.findsAll(op, "/a near", "/a words")
	op = s.teapot()
	op.NamespacePrefix = s.ns("elsewhere")
	s.finds(op)
}

func hybridTies(s *space) {
	s = s.meant()
	s.putMeaning("z words", "teapot", "")
	s.putMeaning("a near", "nothing", "teapots")
	// Each is first in one ranking and absent from the other.
	s.finds(s.teapot(), "/a near", "/z words")
}
