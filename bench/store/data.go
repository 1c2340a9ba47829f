package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// The namespaces are a tree of 10 regions of 10 teams of 10 users each, with the same number of items in every user. Items
// are numbered by user, so that a namespace is a range of them.
const (
	users     = 1000
	topics    = 100
	subtopics = 20 // of each topic
)

// level is a depth of the tree of namespaces.
type level struct {
	Name  string
	users int // in one namespace of the level
}

var levels = []level{{"0.1 %", 1}, {"1 %", 10}, {"10 %", 100}, {"100 %", users}}

// filterKind is a condition on the items' values.
type filterKind string

const (
	noFilter    filterKind = "none"
	halfFilter  filterKind = "50 %"
	rareFilter  filterKind = "1 %"
	topicFilter filterKind = "1 %, one topic"
)

var filterKinds = []filterKind{noFilter, halfFilter, rareFilter, topicFilter}

// dataset is the items and their vectors. Vectors form topics and subtopics; the variance falls from axis to axis as 1/n,
// as the spectra of text embeddings do. Which user and which values an item has says nothing about its vector, but for
// its topic.
type dataset struct {
	dims      int
	items     int
	vectors   []float32 // of length 1 each
	topic     []int
	subtopic  []int // of all
	centers   [][]float64
	shuffled  []int // the order in which items are stored: users do not write one after the other
	axisScale []float64
}

func newDataset(seed uint64, items, dims int) *dataset {
	d := &dataset{dims: dims, items: items, vectors: make([]float32, items*dims), topic: make([]int, items), subtopic: make([]int, items)}
	rng := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // the same data for the same seed are the point
	for axis := range dims {
		d.axisScale = append(d.axisScale, 1/math.Sqrt(float64(axis+1)))
	}
	for range topics {
		topic := d.near(rng, make([]float64, dims), 1)
		for range subtopics {
			d.centers = append(d.centers, d.near(rng, topic, 0.7))
		}
	}
	for position, item := range rng.Perm(items) {
		d.topic[item] = position % topics
		d.subtopic[item] = d.topic[item]*subtopics + rng.IntN(subtopics)
	}
	for item := range items {
		copy(d.vector(item), d.draw(rng, d.subtopic[item]))
	}
	d.shuffled = rng.Perm(items)
	return d
}

// near is a point about as far from another as spread says.
func (d *dataset) near(rng *rand.Rand, center []float64, spread float64) []float64 {
	point := make([]float64, d.dims)
	for axis := range point {
		point[axis] = center[axis] + spread*d.axisScale[axis]*rng.NormFloat64()
	}
	return point
}

// draw is a new vector of a subtopic: an item's or a query's.
func (d *dataset) draw(rng *rand.Rand, subtopic int) []float32 {
	point := d.near(rng, d.centers[subtopic], 0.5)
	var squares float64
	for _, x := range point {
		squares += x * x
	}
	vector := make([]float32, d.dims)
	for axis, x := range point {
		vector[axis] = float32(x / math.Sqrt(squares))
	}
	return vector
}

func (d *dataset) vector(item int) []float32 { return d.vectors[item*d.dims : (item+1)*d.dims] }

func (d *dataset) user(item int) int { return item / (d.items / users) }

func (d *dataset) prefix(item int) string { return namespace(levels[0], d.user(item)) }

func (d *dataset) key(item int) string { return fmt.Sprintf("memory-%06d", item) }

// itemOf is the number that key wrote.
func itemOf(key string) (int, error) {
	var item int
	_, err := fmt.Sscanf(key, "memory-%06d", &item)
	return item, err
}

// namespace is the prefix of a level's namespace that a user is in.
func namespace(l level, user int) string {
	labels := []string{
		"memories", fmt.Sprintf("region-%d", user/100), fmt.Sprintf("team-%d", user/10%10), fmt.Sprintf("user-%d", user%10),
	}
	depth := map[int]int{users: 1, 100: 2, 10: 3, 1: 4}[l.users]
	return strings.Join(labels[:depth], ".")
}

// The values that filters look at: shelf has each of 100 numbers once in 100 items of a user (of a team where users are
// smaller), pinned is true for every other item.
func (d *dataset) shelf(item int) int   { return item % 100 }
func (d *dataset) pinned(item int) bool { return item/100%2 == item%2 }

func (d *dataset) value(item int) map[string]any {
	return map[string]any{
		"text": fmt.Sprintf("Memory %d of user %d about subtopic %d. %s", item, d.user(item), d.subtopic[item],
			strings.Repeat("The user said what they like and why. ", 1+item%6)),
		"shelf":  d.shelf(item),
		"pinned": d.pinned(item),
		"topic":  d.topic[item],
	}
}

// query is one search: a vector within a namespace, by a filter of one field.
type query struct {
	vector    []float32
	prefix    string
	field     string // empty without a filter
	fieldJSON string // what the field equals
	nearest   []int  // the exact answer
	farthest  float64
	matching  int
}

// tolerance is how much farther than the last of the exact answer an item may be and still count: the server computes with
// 32 bits.
const tolerance = 1e-5

// query draws a search of a cell, with the exact answer. Every other query is about a subtopic that the namespace has an item of, as questions to a
// memory are; the rest are about anything.
func (d *dataset) query(rng *rand.Rand, l level, kind filterKind, number int) query {
	user := rng.IntN(users) / l.users * l.users
	from, to := user*(d.items/users), (user+l.users)*(d.items/users)
	about := rng.IntN(d.items)
	if number%2 == 0 {
		about = from + rng.IntN(to-from)
	}
	q := query{vector: d.draw(rng, d.subtopic[about]), prefix: namespace(l, user)}
	keep := func(int) bool { return true }
	switch chosen := from + rng.IntN(to-from); kind {
	case noFilter:
	case halfFilter:
		q.field, q.fieldJSON = "pinned", asJSON(d.pinned(chosen))
		keep = func(item int) bool { return d.pinned(item) == d.pinned(chosen) }
	case rareFilter:
		q.field, q.fieldJSON = "shelf", asJSON(d.shelf(chosen))
		keep = func(item int) bool { return d.shelf(item) == d.shelf(chosen) }
	case topicFilter:
		q.field, q.fieldJSON = "topic", asJSON(d.topic[chosen])
		keep = func(item int) bool { return d.topic[item] == d.topic[chosen] }
	}
	d.solve(&q, from, to, keep)
	return q
}

// solve finds the exact answer by measuring every item.
func (d *dataset) solve(q *query, from, to int, keep func(int) bool) {
	type candidate struct {
		item     int
		distance float64
	}
	var candidates []candidate
	for item := from; item < to; item++ {
		if keep(item) {
			candidates = append(candidates, candidate{item, d.distance(q.vector, item)})
		}
	}
	q.matching = len(candidates)
	slices.SortFunc(candidates, func(a, b candidate) int {
		switch {
		case a.distance < b.distance:
			return -1
		case a.distance > b.distance:
			return 1
		}
		return a.item - b.item
	})
	for _, c := range candidates[:min(limit, len(candidates))] {
		q.nearest = append(q.nearest, c.item)
		q.farthest = c.distance
	}
}

// distance is the cosine distance, as vectors have length 1.
func (d *dataset) distance(vector []float32, item int) float64 {
	var dot float64
	for axis, x := range d.vector(item) {
		dot += float64(x) * float64(vector[axis])
	}
	return 1 - dot
}

// found counts the items of an answer that belong in it. An item that the filter or the namespace excludes is an error of
// the query that was measured; so is one that comes twice.
func (d *dataset) found(q query, items []int) (int, error) {
	seen := map[int]bool{}
	good := 0
	for _, item := range items {
		switch {
		case item < 0 || item >= d.items || seen[item]:
			return 0, fmt.Errorf("item %d is returned twice or was never stored", item)
		case !strings.HasPrefix(d.prefix(item)+".", q.prefix+"."):
			return 0, fmt.Errorf("item %d is in %s, not in %s", item, d.prefix(item), q.prefix)
		case q.field != "" && asJSON(d.value(item)[q.field]) != q.fieldJSON:
			return 0, fmt.Errorf("item %d does not have %s = %s", item, q.field, q.fieldJSON)
		}
		seen[item] = true
		if d.distance(q.vector, item) <= q.farthest+tolerance {
			good++
		}
	}
	return good, nil
}

func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // numbers, strings and booleans only
	}
	return string(text)
}
