package storetest

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/pgweft/pgweft/store"
)

var vectorTests = []test{
	{"the nearest item comes first", vectorNearestFirst},
	{"scores are those of the distance", vectorScores},
	{"a question finds the memory it is about", vectorQuestions},
	{"as many items as the limit come back whatever else is near", vectorLimit},
	{"an item of many vectors counts once, by its best", vectorBestOfMany},
	{"the limit counts items and not vectors", vectorLimitOfItems},
	{"equal scores are sorted by namespace and key", vectorTies},
	{"pages have everything once", vectorPages},
	{"an offset beyond the end finds nothing", vectorBeyondTheEnd},
	{"filters hold for what is near", vectorFilter},
	{"a prefix is made of whole labels", vectorPrefix},
	{"an item that is not indexed is not found by meaning", vectorNoIndex},
	{"the whole value is indexed unless said otherwise", vectorWholeValue},
	{"the fields of the store are indexed", vectorFields},
	{"an item can have paths of its own", vectorOwnPaths},
	{"the texts of a list are vectors of their own", vectorLists},
	{"the vectors of an item are those of its last put", vectorLastPut},
	{"the last put of a batch has the vectors", vectorLastOfBatch},
	{"a deleted item has no vectors left", vectorDeleted},
	{"a query sees the store before the writes of its batch", vectorReadsFirst},
	{"several queries in one batch have their own results", vectorSeveralQueries},
	{"a batch embeds its texts in one call", vectorOneCall},
	{"unchanged texts are not embedded again", vectorUnchanged},
	{"an embedder of another identity embeds again", vectorOtherIdentity},
	{"an embedder without an identity embeds again", vectorNoIdentity},
	{"nothing is embedded for an item that is not indexed or put for nothing", vectorEmbedsNothing},
	{"what an embedder cannot do stops the batch", vectorEmbedderFails},
	{"vectors that cannot be used stop the batch", vectorUnusable},
	{"of concurrent puts of one key one is left with its own vectors", vectorConcurrently},
	{"a query in a store without an index does not touch vectors", vectorOfPlainStore},
}

// indexed is the same space through a store that embeds with this embedder.
func (s *space) indexed(embedder store.Embedder, fields ...string) *space {
	s.Helper()
	index := *s.harness.Index
	index.Embed, index.Fields = embedder, fields
	return s.on(Settings{Index: &index})
}

// placed is the same space through a store whose items are where their field "at" says.
func (s *space) placed() *space {
	s.Helper()
	return s.indexed(coordinates{s.harness.Index.Dims}, "at")
}

// spots puts items, in one batch, with their keys and where they are; several places of one item are separated by commas.
func (s *space) spots(items map[string]string) {
	s.Helper()
	var ops []store.Op
	for key, at := range items {
		var places []string
		for place := range strings.SplitSeq(at, ",") {
			places = append(places, strings.TrimSpace(place))
		}
		ops = append(ops, store.PutOp{Namespace: s.ns(), Key: key, Value: value{"at": places}, Index: []string{"at[*]"}})
	}
	s.batch(ops...)
}

func (s *space) near(query string) store.SearchOp {
	return store.SearchOp{NamespacePrefix: s.ns(), Query: query, Mode: store.ModeVector}
}

// score is what an item at one place has for a query at another.
func (s *space) score(query, at string) float64 {
	s.Helper()
	e := coordinates{s.harness.Index.Dims}
	q, _ := e.EmbedQuery(s.Context(), query)
	a, _ := e.EmbedQuery(s.Context(), at)
	var dot, squares, qq, aa float64
	for i := range q {
		x, y := float64(q[i]), float64(a[i])
		dot, squares, qq, aa = dot+x*y, squares+(x-y)*(x-y), qq+x*x, aa+y*y
	}
	switch s.harness.Index.Distance {
	case store.DistanceL2:
		return -math.Sqrt(squares)
	case store.DistanceInnerProduct:
		return dot
	default:
		return dot / math.Sqrt(qq*aa)
	}
}

// tolerance is how far a score may be from the exact one.
func (s *space) tolerance() float64 {
	if s.harness.Index.VectorType == store.VectorTypeHalfvec {
		return 5e-3
	}
	return 1e-5
}

func (s *space) scores(items []store.SearchItem, want map[string]float64) {
	s.Helper()
	s.ranked(items)
	s.equal("number of items", len(items), len(want))
	for _, item := range items {
		if exact := want[item.Key]; math.Abs(*item.Score-exact) > s.tolerance() {
			s.Errorf("%s has score %v, want %v", s.place(item.Item), *item.Score, exact)
		}
	}
}

// circle are places whose order by distance to "1 0" is that of their names, by cosine, L2 and inner product alike.
var circle = map[string]string{"a": "1 0", "b": "0.875 0.5", "c": "0.5 0.875", "d": "0 1", "e": "-0.5 0.875", "f": "-1 0"}

func vectorNearestFirst(s *space) {
	s = s.placed()
	s.spots(circle)
	s.finds(s.near("1 0"), "/a", "/b", "/c", "/d", "/e", "/f")
	s.finds(s.near("-1 0"), "/f", "/e", "/d", "/c", "/b", "/a")
	op := s.near("1 0")
	op.Mode = ""
	s.finds(op, "/a", "/b", "/c", "/d", "/e", "/f")
}

func vectorScores(s *space) {
	s = s.placed()
	spots := map[string]string{"far": "3 4", "near": "1 0.25", "opposite": "-2 0", "across": "0 0 2"}
	s.spots(spots)
	want := map[string]float64{}
	for key, at := range spots {
		want[key] = s.score("2 0", at)
	}
	s.scores(s.search(s.near("2 0")), want)
}

func vectorQuestions(s *space) {
	s = s.indexed(store.NewLocalEmbedder(s.harness.Index.Dims), "text")
	s.put(s.ns("ann", "interests"), "foods", value{"text": "I love eating spicy Sichuan food."})
	s.put(s.ns("ann", "interests"), "sports", value{"text": "My favorite sport is swimming."})
	s.put(s.ns("bob", "interests"), "foods", value{"text": "My food preferences? Plain food, what else."})
	for question, want := range map[string]string{
		"What are my food preferences?": "ann.interests/foods",
		"What is my favorite sport?":    "ann.interests/sports",
	} {
		s.finds(store.SearchOp{NamespacePrefix: s.ns("ann"), Query: question, Limit: 1}, want)
	}
	s.finds(store.SearchOp{NamespacePrefix: s.ns("bob"), Query: "What is my favorite sport?", Limit: 1}, "bob.interests/foods")
}

// crowd puts n items in one batch, all nearer to "1 0" than "0 1" is, each at its own place.
func (s *space) crowd(n int, labels ...string) {
	s.Helper()
	var ops []store.Op
	for i := range n {
		ops = append(ops, store.PutOp{
			Namespace: s.ns(labels...), Key: fmt.Sprintf("%04d", i),
			Value: value{"at": fmt.Sprintf("1 %.4f", 0.5*float64(i)/float64(n)), "n": i, "mod": i % 50},
		})
	}
	s.batch(ops...)
}

func vectorLimit(s *space) {
	s = s.placed()
	s.crowd(500, "crowd")
	var ops []store.Op
	for i := range 12 {
		ops = append(ops, store.PutOp{
			Namespace: s.ns("few"), Key: fmt.Sprintf("%02d", i), Value: value{"at": fmt.Sprintf("%.3f 1", -0.05*float64(i))},
		})
	}
	s.batch(ops...)
	few := store.SearchOp{NamespacePrefix: s.ns("few"), Query: "1 0"}
	s.finds(few, "few/00", "few/01", "few/02", "few/03", "few/04", "few/05", "few/06", "few/07", "few/08", "few/09")
	for _, limit := range []int{1, 11, 12, 13, 100} {
		few.Limit = limit
		s.equal(describe(few), len(s.search(few)), min(limit, 12))
	}
	crowd := store.SearchOp{NamespacePrefix: s.ns(), Query: "0 1", Filter: value{"mod": 7}}
	s.finds(crowd, "crowd/0457", "crowd/0407", "crowd/0357", "crowd/0307", "crowd/0257", "crowd/0207", "crowd/0157",
		"crowd/0107", "crowd/0057", "crowd/0007")
	crowd = store.SearchOp{NamespacePrefix: s.ns(), Query: "1 0", Limit: 512}
	found := s.search(crowd)
	s.equal(describe(crowd), len(found), 512)
	s.ranked(found)
}

func vectorBestOfMany(s *space) {
	s = s.placed()
	s.spots(map[string]string{"many": "-1 0, 0.75 0.25, 0 -1, 0 1", "one": "0.5 0.5", "two": "-0.5 0.5, -1 -1"})
	s.scores(s.search(s.near("1 0")), map[string]float64{
		"many": max(s.score("1 0", "0.75 0.25"), s.score("1 0", "0 1")), "one": s.score("1 0", "0.5 0.5"),
		"two": max(s.score("1 0", "-0.5 0.5"), s.score("1 0", "-1 -1")),
	})
	s.finds(s.near("1 0"), "/many", "/one", "/two")
}

func vectorLimitOfItems(s *space) {
	s = s.placed()
	spots := map[string]string{}
	for i := range 15 {
		var places []string
		for j := range 40 {
			places = append(places, fmt.Sprintf("%d %.2f", 15-i, 0.01*float64(j)))
		}
		spots[fmt.Sprintf("%02d", i)] = strings.Join(places, ",")
	}
	s.spots(spots)
	for _, limit := range []int{1, 10, 15, 20} {
		op := s.near("1 0")
		op.Limit = limit
		found := s.search(op)
		s.equal(describe(op), len(found), min(limit, 15))
		s.ranked(found)
	}
}

func vectorTies(s *space) {
	s = s.placed()
	var ops []store.Op
	for _, key := range []string{"c", "a", "d", "b"} {
		for _, label := range []string{"y", "x", "x-y", "X"} {
			ops = append(ops, store.PutOp{Namespace: s.ns(label), Key: key, Value: value{"at": "0.5 0.5"}})
		}
	}
	s.batch(ops...)
	op := s.near("1 0")
	op.Limit = 100
	s.finds(op, "X/a", "X/b", "X/c", "X/d", "x/a", "x/b", "x/c", "x/d", "x-y/a", "x-y/b", "x-y/c", "x-y/d",
		"y/a", "y/b", "y/c", "y/d")
	op.Limit = 6
	s.finds(op, "X/a", "X/b", "X/c", "X/d", "x/a", "x/b")
	op.Offset = 6
	s.finds(op, "x/c", "x/d", "x-y/a", "x-y/b", "x-y/c", "x-y/d")
}

func vectorPages(s *space) {
	s = s.placed()
	s.crowd(53)
	op := s.near("0.5 1")
	op.Limit = 100
	all := s.search(op)
	s.equal("number of items", len(all), 53)
	for _, size := range []int{1, 7, 53, 60} {
		s.equal(fmt.Sprintf("pages of %d", size), s.places(s.pages(op, size, 53)), s.places(all))
	}
	op.Filter = value{"n": value{"$lt": 20}}
	s.ranked(s.pages(op, 7, 20))
}

func vectorBeyondTheEnd(s *space) {
	s = s.placed()
	s.spots(circle)
	for _, offset := range []int{6, 7, 1000} {
		op := s.near("1 0")
		op.Offset = offset
		s.finds(op)
	}
}

func vectorFilter(s *space) {
	s = s.placed()
	var ops []store.Op
	for key, at := range circle {
		ops = append(ops, store.PutOp{
			Namespace: s.ns(), Key: key,
			Value: value{"at": at, "rank": int(key[0] - 'a'), "even": key[0]%2 == 0, "meta": value{"key": key}},
		})
	}
	s.batch(ops...)
	for _, c := range []struct {
		filter value
		want   []string
	}{
		{value{"even": true}, []string{"/b", "/d", "/f"}},
		{value{"rank": value{"$gte": 3}}, []string{"/d", "/e", "/f"}},
		{value{"rank": value{"$gt": "3"}}, nil},
		{value{"meta.key": value{"$in": []string{"e", "a"}}}, []string{"/a", "/e"}},
		{value{"even": false, "rank": value{"$ne": 0}}, []string{"/c", "/e"}},
		{value{"missing": value{"$exists": true}}, nil},
	} {
		op := s.near("1 0")
		op.Filter = c.filter
		s.finds(op, c.want...)
	}
	op := s.near("1 0")
	op.Filter = value{"x": value{"$near": 1}}
	s.refuses("an unknown operator", store.ErrInvalidArgument, op)
}

func vectorPrefix(s *space) {
	s = s.placed()
	for _, label := range []string{"a", "ab", "a-b", "A"} {
		s.put(s.ns(label), "k", value{"at": "1 0"})
		s.put(s.ns(label, "below"), "k", value{"at": "0 1"})
	}
	s.finds(store.SearchOp{NamespacePrefix: s.ns("a"), Query: "1 0"}, "a/k", "a.below/k")
	s.finds(store.SearchOp{NamespacePrefix: s.ns("a", "below"), Query: "1 0"}, "a.below/k")
	s.finds(store.SearchOp{NamespacePrefix: s.ns("b"), Query: "1 0"})
}

func vectorNoIndex(s *space) {
	s = s.placed()
	s.batch(
		store.PutOp{Namespace: s.ns(), Key: "not indexed", Value: value{"at": "1 0"}, Index: store.NoIndex},
		store.PutOp{Namespace: s.ns(), Key: "without text", Value: value{"elsewhere": "1 0"}},
		store.PutOp{Namespace: s.ns(), Key: "null", Value: value{"at": nil}},
		store.PutOp{Namespace: s.ns(), Key: "blank", Value: value{"at": " \n"}},
		store.PutOp{Namespace: s.ns(), Key: "indexed", Value: value{"at": "0 1"}},
	)
	s.finds(s.near("1 0"), "/indexed")
	s.findsAll(store.SearchOp{NamespacePrefix: s.ns()}, "/not indexed", "/without text", "/null", "/blank", "/indexed")
	s.get(s.ns(), "not indexed")
}

func vectorWholeValue(s *space) {
	seen := &recorder{Embedder: store.NewLocalEmbedder(s.harness.Index.Dims)}
	s = s.indexed(seen)
	s.put(s.ns(), "k", value{"b": value{"z": nil, "a": true}, "a": []any{1, 1.5, "é"}})
	text := `{"a": [1, 1.5, "é"], "b": {"a": true, "z": null}}`
	s.equal("texts embedded", seen.taken(), [][]string{{text}})
	found := s.search(s.near(text))
	want := 1.0
	if s.harness.Index.Distance == store.DistanceL2 {
		want = 0
	}
	s.scores(found, map[string]float64{"k": want})
}

func vectorFields(s *space) {
	seen := &recorder{Embedder: coordinates{s.harness.Index.Dims}}
	s = s.indexed(seen, "at", "meta.at", "places[0]")
	s.batch(
		store.PutOp{Namespace: s.ns(), Key: "a", Value: value{"at": "1 2", "other": "not a vector"}},
		store.PutOp{Namespace: s.ns(), Key: "b", Value: value{"meta": value{"at": "0 1"}, "n": 1}},
		store.PutOp{Namespace: s.ns(), Key: "c", Value: value{"places": []string{"-1 0", "1 0"}}},
		store.PutOp{Namespace: s.ns(), Key: "d", Value: value{"at": 5}},
	)
	s.equal("texts embedded", seen.taken(), [][]string{{"-1 0", "0 1", "1 2", "5"}})
	s.finds(s.near("-1 0.1"), "/c", "/b", "/a", "/d")
}

func vectorOwnPaths(s *space) {
	s = s.placed()
	v := value{"at": "1 0", "title": "0 1", "deep": value{"at": "-1 0"}}
	s.batch(
		store.PutOp{Namespace: s.ns(), Key: "default", Value: v},
		store.PutOp{Namespace: s.ns(), Key: "title", Value: v, Index: []string{"title"}},
		store.PutOp{Namespace: s.ns(), Key: "deep", Value: v, Index: []string{"deep.at"}},
		store.PutOp{Namespace: s.ns(), Key: "nowhere", Value: v, Index: []string{"nowhere"}},
	)
	s.finds(s.near("1 0"), "/default", "/title", "/deep")
	s.finds(s.near("-1 0.1"), "/deep", "/title", "/default")
}

func vectorLists(s *space) {
	s = s.placed()
	v := value{"list": []value{{"at": "1 0"}, {"at": "0 1"}, {"at": "-1 0"}}}
	for key, path := range map[string]string{
		"all": "list[*].at", "first": "list[0].at", "last": "list[-1].at", "beyond": "list[3].at",
	} {
		s.batch(store.PutOp{Namespace: s.ns(), Key: key, Value: v, Index: []string{path}})
	}
	s.finds(s.near("1 0"), "/all", "/first", "/last")
	s.finds(s.near("0 1"), "/all", "/first", "/last")
	s.finds(s.near("-1 0"), "/all", "/last", "/first")
}

func vectorLastPut(s *space) {
	s = s.placed()
	whole := func(want ...string) {
		s.Helper()
		s.finds(s.near("1 0"), want...)
	}
	s.spots(map[string]string{"moves": "1 0, 0 1, -1 0", "stays": "0.5 0.5"})
	whole("/moves", "/stays")
	s.spots(map[string]string{"moves": "-1 0, -1 0.5"})
	whole("/stays", "/moves")
	s.put(s.ns(), "moves", value{"at": "1 0"})
	whole("/moves", "/stays")
	s.batch(store.PutOp{Namespace: s.ns(), Key: "moves", Value: value{"at": "1 0"}, Index: store.NoIndex})
	whole("/stays")
	s.put(s.ns(), "moves", value{"at": "1 0"})
	whole("/moves", "/stays")
	s.put(s.ns(), "moves", value{"title": "no vector"})
	whole("/stays")
}

func vectorLastOfBatch(s *space) {
	s = s.placed()
	put := func(key, at string) store.Op {
		return store.PutOp{Namespace: s.ns(), Key: key, Value: value{"at": at}}
	}
	s.batch(put("a", "1 0"), put("b", "-1 0"), put("a", "-1 0"), put("b", "1 0"), put("c", "1 0"),
		store.PutOp{Namespace: s.ns(), Key: "c"})
	s.scores(s.search(s.near("1 0")), map[string]float64{"a": s.score("1 0", "-1 0"), "b": s.score("1 0", "1 0")})
}

func vectorDeleted(s *space) {
	s = s.placed()
	s.spots(map[string]string{"gone": "1 0", "kept": "0 1"})
	s.remove(s.ns(), "gone")
	s.finds(s.near("1 0"), "/kept")
	s.batch(store.PutOp{Namespace: s.ns(), Key: "gone", Value: value{}, Index: store.NoIndex})
	s.finds(s.near("1 0"), "/kept")
}

func vectorReadsFirst(s *space) {
	s = s.placed()
	s.spots(map[string]string{"moves": "1 0", "stays": "0 1"})
	results := s.batch(
		store.PutOp{Namespace: s.ns(), Key: "moves", Value: value{"at": "-1 0"}},
		store.PutOp{Namespace: s.ns(), Key: "new", Value: value{"at": "1 0"}},
		s.near("1 0"),
	)
	s.equal("items found", s.places(results[2].Items), []string{"/moves", "/stays"})
	s.finds(s.near("1 0"), "/new", "/stays", "/moves")
}

func vectorSeveralQueries(s *space) {
	s = s.placed()
	s.spots(circle)
	queries := map[string][]string{"1 0": {"/a", "/b"}, "0 1": {"/d"}, "-1 0": {"/f", "/e"}}
	var ops []store.Op
	var want [][]string
	for query, found := range queries {
		op := s.near(query)
		op.Limit = len(found)
		ops = append(ops, op, store.GetOp{Namespace: s.ns(), Key: "a"})
		want = append(want, found)
	}
	for i, result := range s.batch(ops...) {
		if i%2 == 0 {
			s.equal(fmt.Sprintf("items of query %d", i/2), s.places(result.Items), want[i/2])
		} else if result.Item == nil {
			s.Errorf("the get after query %d found nothing", i/2)
		}
	}
}

func vectorOneCall(s *space) {
	seen := &recorder{Embedder: coordinates{s.harness.Index.Dims}}
	s = s.indexed(seen, "at", "list[*]")
	s.batch(
		store.PutOp{Namespace: s.ns(), Key: "a", Value: value{"at": "1 0"}},
		store.PutOp{Namespace: s.ns("b"), Key: "b", Value: value{"at": "0 1", "list": []string{"1 1", "2 2"}}},
		store.PutOp{Namespace: s.ns("c"), Key: "c", Value: value{"at": "3 3"}},
		store.GetOp{Namespace: s.ns(), Key: "a"},
	)
	calls := seen.taken()
	s.equal("texts embedded", calls, [][]string{{"0 1", "1 0", "1 1", "2 2", "3 3"}})
}

func vectorUnchanged(s *space) {
	seen := &recorder{Embedder: coordinates{s.harness.Index.Dims}}
	s = s.indexed(store.Identify(seen, "v1"), "at", "list[*]")
	put := func(v value) {
		s.Helper()
		s.put(s.ns(), "k", v)
	}
	put(value{"at": "1 0", "list": []string{"0 1", "-1 0"}})
	s.equal("texts of the first put", seen.taken(), [][]string{{"-1 0", "0 1", "1 0"}})
	put(value{"at": "1 0", "list": []string{"0 1", "-1 0"}, "new": 1})
	s.equal("texts of the same put again", seen.taken(), [][]string(nil))
	s.scores(s.search(s.near("1 0")), map[string]float64{"k": s.score("1 0", "1 0")})
	s.scores(s.search(s.near("0 1")), map[string]float64{"k": s.score("0 1", "0 1")})
	put(value{"at": "1 0", "list": []string{"0 1", "0 -1"}})
	s.equal("texts of a put that changes one", seen.taken(), [][]string{{"0 -1"}})
	s.scores(s.search(s.near("0 1")), map[string]float64{"k": s.score("0 1", "0 1")})
	s.scores(s.search(s.near("0 -1")), map[string]float64{"k": s.score("0 -1", "0 -1")})
	want := max(s.score("-1 0", "0 1"), s.score("-1 0", "0 -1"), s.score("-1 0", "1 0"))
	s.scores(s.search(s.near("-1 0")), map[string]float64{"k": want})
}

func vectorOtherIdentity(s *space) {
	seen := &recorder{Embedder: coordinates{s.harness.Index.Dims}}
	s.indexed(store.Identify(coordinates{s.harness.Index.Dims}, "v1"), "at").put(s.ns(), "k", value{"at": "1 0"})
	other := s.indexed(store.Identify(seen, "v2"), "at")
	other.put(s.ns(), "k", value{"at": "1 0"})
	s.equal("texts embedded by the other", seen.taken(), [][]string{{"1 0"}})
	other.put(s.ns(), "k", value{"at": "1 0"})
	s.equal("texts embedded by the other again", seen.taken(), [][]string(nil))
}

func vectorNoIdentity(s *space) {
	seen := &recorder{Embedder: coordinates{s.harness.Index.Dims}}
	s = s.indexed(seen, "at")
	for range 2 {
		s.put(s.ns(), "k", value{"at": "1 0"})
		s.equal("texts embedded", seen.taken(), [][]string{{"1 0"}})
	}
}

func vectorEmbedsNothing(s *space) {
	seen := &recorder{Embedder: coordinates{s.harness.Index.Dims}}
	s = s.indexed(seen, "at")
	s.batch(
		store.PutOp{Namespace: s.ns(), Key: "not indexed", Value: value{"at": "1 0"}, Index: store.NoIndex},
		store.PutOp{Namespace: s.ns(), Key: "replaced", Value: value{"at": "1 1"}},
		store.PutOp{Namespace: s.ns(), Key: "replaced", Value: value{"at": "2 2"}, Index: store.NoIndex},
		store.PutOp{Namespace: s.ns(), Key: "deleted", Value: value{"at": "3 3"}},
		store.PutOp{Namespace: s.ns(), Key: "deleted"},
		store.PutOp{Namespace: s.ns(), Key: "without text", Value: value{}},
	)
	s.get(s.ns(), "not indexed")
	s.search(store.SearchOp{NamespacePrefix: s.ns()})
	s.equal("texts embedded", seen.taken(), [][]string(nil))
}

func vectorEmbedderFails(s *space) {
	s.placed().spots(map[string]string{"there": "1 0"})
	failing := s.indexed(broken{
		documents: func([]string) ([][]float32, error) { return nil, errService },
		query:     func() ([]float32, error) { return nil, errService },
	}, "at")
	for what, op := range map[string]store.Op{
		"a put":   store.PutOp{Namespace: s.ns(), Key: "k", Value: value{"at": "1 0"}},
		"a query": s.near("1 0"),
	} {
		_, err := failing.store.Batch(s.Context(), store.PutOp{Namespace: s.ns(), Key: "plain", Value: value{}}, op)
		s.fails(what, err, store.ErrEmbedding)
		if !errors.Is(err, errService) {
			s.Errorf("%s: the error does not wrap the embedder's: %v", what, err)
		}
	}
	s.finds(store.SearchOp{NamespacePrefix: s.ns()}, "/there")
}

func vectorUnusable(s *space) {
	dims := s.harness.Index.Dims
	filled := func(n int, x float64) []float32 {
		vector := make([]float32, n)
		for i := range vector {
			vector[i] = float32(x)
		}
		return vector
	}
	for what, vectors := range map[string][][]float32{
		"no vector": {}, "too many vectors": {filled(dims, 1), filled(dims, 1)}, "too few dimensions": {filled(dims-1, 1)},
		"too many dimensions": {filled(dims+1, 1)}, "an empty vector": {nil}, "not a number": {filled(dims, math.NaN())},
		"infinity": {filled(dims, math.Inf(-1))}, "zeros": {filled(dims, 0)},
	} {
		var query []float32
		if len(vectors) == 1 {
			query = vectors[0]
		}
		bad := s.indexed(broken{
			documents: func([]string) ([][]float32, error) { return vectors, nil },
			query:     func() ([]float32, error) { return query, nil },
		}, "at")
		bad.refuses("a put with "+what, store.ErrEmbedding,
			store.PutOp{Namespace: s.ns(), Key: "k", Value: value{"at": "1 0"}})
		bad.refuses("a query with "+what, store.ErrEmbedding, s.near("1 0"))
	}
	s.isEmpty()
}

func vectorConcurrently(s *space) {
	s = s.indexed(store.Identify(coordinates{s.harness.Index.Dims}, "v1"), "at", "also")
	errs := make([]error, 12)
	at := func(i int) string { return fmt.Sprintf("%d 1 %d", i%4, 7-i%4) }
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() {
			_, errs[i] = s.store.Batch(s.Context(), store.PutOp{
				Namespace: s.ns(), Key: "k", Value: value{"at": at(i), "also": "0 0 " + fmt.Sprint(1+i%2)},
			})
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		s.Fatalf("concurrent puts: %v", err)
	}
	v := s.get(s.ns(), "k").Value
	query := "0 1"
	s.scores(s.search(s.near(query)), map[string]float64{
		"k": max(s.score(query, fmt.Sprint(v["at"])), s.score(query, fmt.Sprint(v["also"]))),
	})
}

func vectorOfPlainStore(s *space) {
	s.placed().spots(map[string]string{"k": "1 0", "stays": "0 1"})
	s.finds(store.SearchOp{NamespacePrefix: s.ns("none")})
	s.remove(s.ns(), "k")
	s.placed().finds(s.near("1 0"), "/stays")
	// A put through a store without an index leaves no vectors of the old value behind.
	s.put(s.ns(), "stays", value{"at": "1 0"})
	s.placed().finds(s.near("0 1"))
}

var vectorTTLTests = []test{
	{"an expired item is not found by meaning", vectorExpired},
	{"being found by meaning starts the time anew", vectorRefresh},
	{"an expired item does not keep its vectors for the next", vectorPutOverExpired},
}

func vectorExpired(s *space) {
	s = s.placed()
	for i := range 20 {
		s.batch(store.PutOp{
			Namespace: s.ns(), Key: fmt.Sprint("expires", i), Value: value{"at": "1 0"}, TTL: time.Minute,
		})
	}
	s.spots(map[string]string{"a": "0 1", "b": "-1 0"})
	op := s.near("1 0")
	op.Limit, op.RefreshTTL = 2, new(false)
	s.finds(op, "/expires0", "/expires1")
	s.advance(2 * time.Minute)
	s.finds(op, "/a", "/b")
}

func vectorRefresh(s *space) {
	s = s.placed()
	for key, at := range circle {
		s.batch(store.PutOp{Namespace: s.ns(), Key: key, Value: value{"at": at}, TTL: time.Hour})
	}
	s.advance(40 * time.Minute)
	op := s.near("1 0")
	op.Limit = 2
	s.finds(op, "/a", "/b")
	op.RefreshTTL, op.Limit = new(false), 100
	s.equal("items still there", len(s.search(op)), len(circle))
	s.advance(40 * time.Minute)
	s.finds(op, "/a", "/b")
	s.advance(40 * time.Minute)
	s.finds(op)
}

func vectorPutOverExpired(s *space) {
	s = s.indexed(store.Identify(coordinates{s.harness.Index.Dims}, "v1"), "at", "also")
	put := func(v value) {
		s.Helper()
		s.batch(store.PutOp{Namespace: s.ns(), Key: "k", Value: v, TTL: time.Hour})
	}
	put(value{"at": "1 0", "also": "0 1"})
	s.advance(2 * time.Hour)
	put(value{"at": "1 0"})
	s.scores(s.search(s.near("0 1")), map[string]float64{"k": s.score("0 1", "1 0")})
}
