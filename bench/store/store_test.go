package main

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/pgweft/pgweft/bench/internal/measuring"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func smallDataset() *dataset { return newDataset(4, 10_000, 16) }

func TestTheDataAreTheSameForTheSameSeed(t *testing.T) {
	t.Parallel()
	one, same, other := smallDataset(), smallDataset(), newDataset(5, 10_000, 16)
	require.Equal(t, one.vectors, same.vectors)
	require.Equal(t, one.shuffled, same.shuffled)
	require.NotEqual(t, one.vectors, other.vectors)
	rng := func() *rand.Rand { return rand.New(rand.NewPCG(1, 1)) }
	require.Equal(t, one.query(rng(), levels[1], rareFilter, 0), same.query(rng(), levels[1], rareFilter, 0))
}

func TestNamespacesAndFiltersHaveTheirShares(t *testing.T) {
	t.Parallel()
	d := smallDataset()
	namespaces := map[string]int{}
	shelves, topicItems, pinned := map[int]int{}, map[int]int{}, 0
	for item := range d.items {
		for _, l := range levels {
			namespaces[namespace(l, d.user(item))]++
		}
		shelves[d.shelf(item)]++
		topicItems[d.topic[item]]++
		if d.pinned(item) {
			pinned++
		}
	}
	require.Equal(t, 10_000, namespaces["memories"])
	require.Equal(t, 1000, namespaces["memories.region-3"])
	require.Equal(t, 100, namespaces["memories.region-3.team-9"])
	require.Equal(t, 10, namespaces["memories.region-3.team-9.user-0"])
	require.Len(t, namespaces, 1+10+100+1000)
	require.Len(t, shelves, 100)
	require.Equal(t, 100, shelves[42])
	require.Len(t, topicItems, topics)
	require.Equal(t, 100, topicItems[42])
	require.Equal(t, 5000, pinned)
}

func TestVectorsHaveLengthOne(t *testing.T) {
	t.Parallel()
	d := smallDataset()
	for _, item := range []int{0, 77, 9999} {
		var squares float64
		for _, x := range d.vector(item) {
			squares += float64(x) * float64(x)
		}
		require.InDelta(t, 1, squares, 1e-5)
		require.InDelta(t, 0, d.distance(d.vector(item), item), 1e-5)
	}
}

func TestAQueryKnowsItsExactAnswer(t *testing.T) {
	t.Parallel()
	d := smallDataset()
	for number, kind := range filterKinds {
		for _, l := range levels {
			q := d.query(rand.New(rand.NewPCG(7, uint64(number))), l, kind, number)
			require.Len(t, q.nearest, min(10, q.matching))
			best := math.Inf(1)
			matching := 0
			for item := range d.items {
				if (q.field == "" || asJSON(d.value(item)[q.field]) == q.fieldJSON) && strings.HasPrefix(d.prefix(item)+".", q.prefix+".") {
					matching++
					best = min(best, d.distance(q.vector, item))
				}
			}
			require.Equal(t, matching, q.matching)
			require.InDelta(t, best, d.distance(q.vector, q.nearest[0]), 0)
			good, err := d.found(q, q.nearest)
			require.NoError(t, err)
			require.Len(t, q.nearest, good)
		}
	}
}

func TestAnAnswerIsJudged(t *testing.T) {
	t.Parallel()
	d := smallDataset()
	q := d.query(rand.New(rand.NewPCG(7, 7)), levels[2], halfFilter, 0)
	excluded := func(outside func(item int) bool) int {
		for item := range d.items {
			if outside(item) {
				return item
			}
		}
		t.Fatal("no such item")
		return 0
	}
	inNamespace := func(item int) bool { return strings.HasPrefix(d.prefix(item), q.prefix+".") }
	kept := func(item int) bool { return asJSON(d.pinned(item)) == q.fieldJSON }
	far := excluded(func(item int) bool {
		return inNamespace(item) && kept(item) && d.distance(q.vector, item) > q.farthest+2*tolerance
	})
	good, err := d.found(q, []int{q.nearest[0], far})
	require.NoError(t, err)
	require.Equal(t, 1, good)

	_, err = d.found(q, []int{q.nearest[0], q.nearest[0]})
	require.ErrorContains(t, err, "twice")
	_, err = d.found(q, []int{excluded(func(item int) bool { return !inNamespace(item) })})
	require.ErrorContains(t, err, "not in "+q.prefix)
	_, err = d.found(q, []int{excluded(func(item int) bool { return inNamespace(item) && !kept(item) })})
	require.ErrorContains(t, err, "does not have pinned")
}

func TestKeysAreReadBack(t *testing.T) {
	t.Parallel()
	item, err := itemOf(smallDataset().key(1234))
	require.NoError(t, err)
	require.Equal(t, 1234, item)
	_, err = itemOf("other")
	require.Error(t, err)
}

func TestAVectorIsSentAsPgvectorReceivesIt(t *testing.T) {
	t.Parallel()
	require.Equal(t, []byte{0, 2, 0, 0, 0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0}, binaryVector([]float32{1, -2}))
}

func TestPercentilesAreOfTheNearestRank(t *testing.T) {
	t.Parallel()
	var times []time.Duration
	for i := 20; i > 0; i-- {
		times = append(times, time.Duration(i)*time.Millisecond)
	}
	require.InDelta(t, 10, measuring.Percentile(times, 50), 0)
	require.InDelta(t, 19, measuring.Percentile(times, 95), 0)
	require.InDelta(t, 20, measuring.Percentile(times, 100), 0)
	require.InDelta(t, 20, measuring.Percentile(times[:1], 50), 0)
}

func TestConditionsBecomeLangGraphsPatterns(t *testing.T) {
	t.Parallel()
	require.Equal(t, `^a\.[^.]+\.b\-1(\.|\Z)`, match{"prefix", "a.*.b-1"}.pattern())
	require.Equal(t, `(^|\.)facts\Z`, match{"suffix", "facts"}.pattern())
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args    []string
		want    options
		problem string
	}{
		"are large by default": {nil, options{Seed: 4, Items: 100_000, Dims: 384, Queries: 200, NamespaceItems: 200_000, NamespaceRuns: 20}, ""},
		"are small when quick, but for those given": {
			[]string{"--quick", "--queries=7"},
			options{Seed: 4, Items: 10_000, Dims: 384, Queries: 7, NamespaceItems: 10_000, NamespaceRuns: 5},
			"",
		},
		"have items in exact shares":      {[]string{"--items=12345"}, options{}, "--items is 12345: it must be a multiple of 10000"},
		"name a part that is there":       {[]string{"--part=all"}, options{}, `--part is "all"`},
		"keep one part in a database":     {[]string{"--database=postgres://"}, options{}, "name it with --part"},
		"take no arguments but flags":     {[]string{"search"}, options{}, `unexpected argument "search"`},
		"time at least one query of each": {[]string{"--queries=0"}, options{}, "must be 1 or more"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts, err := parseOptions(c.args, &bytes.Buffer{})
			if c.problem != "" {
				require.ErrorContains(t, err, c.problem)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, opts)
		})
	}
}

func TestAnInterruptedRunSaysSo(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	require.NoError(t, err)
	defer null.Close()
	require.ErrorIs(t, run(ctx, []string{"--quick"}, &bytes.Buffer{}, measuring.NewProgress(null)), context.Canceled)
}

func TestTheReportSaysWhereTheTargetIsMissed(t *testing.T) {
	t.Parallel()
	good := searchStats{Recall: 0.99, Complete: 1, Rows: 10, P95: 2}
	slow, short, wrong := good, good, good
	slow.P95, short.Complete, short.Rows, wrong.Recall = 3, 0.5, 6, 0.9
	for _, c := range []struct {
		ours, theirs searchStats
		met, problem string
	}{
		{good, good, "met", ""},
		{slow, good, "p95 1.50 times", ""},
		{slow, short, "met", ""},
		{short, good, "rows", "6.00 rows of 10.00"},
		{wrong, good, "recall", "recall 0.9000, below 0.98"},
	} {
		r := results{Search: []cell{{Namespace: "1 %", Filter: noFilter, Wanted: 10, Ours: c.ours, Theirs: c.theirs}}}
		require.Equal(t, c.met, r.Search[0].met())
		require.Contains(t, r.markdown(), "| "+c.met+" |\n")
		if c.problem == "" {
			require.NoError(t, r.check())
		} else {
			require.ErrorContains(t, r.check(), c.problem)
		}
	}
}

func TestResultsAreWrittenAsJSONAndMarkdown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := results{
		Options: options{Items: 10_000}, NamespaceCount: 5,
		Namespaces: []namespaceCase{{Name: "list", Rows: 3, Ours: readStats{P50: 1, P95: 2, Buffers: 4}}},
	}
	var out bytes.Buffer
	require.NoError(t, r.write(&out, dir+"/r.json", dir+"/r.md"))
	require.Contains(t, out.String(), "| list | 3 | 1.00 | 2.00 | 4 | 0.00 | 0.00 | 0 |\n")
	report, err := os.ReadFile(dir + "/r.md")
	require.NoError(t, err)
	require.Equal(t, out.String(), string(report))
	text, err := os.ReadFile(dir + "/r.json")
	require.NoError(t, err)
	var read results
	require.NoError(t, json.Unmarshal(text, &read))
	require.Equal(t, r.Namespaces, read.Namespaces)
}
