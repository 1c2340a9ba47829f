package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/pgweft/pgweft/bench/internal/measuring"
	"github.com/pgweft/pgweft/serde"
	"github.com/pgweft/pgweft/serde/messages"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func somePayloads(t *testing.T) payloads {
	t.Helper()
	all, err := newPayloads(7)
	require.NoError(t, err)
	return all
}

func TestPayloadsAreTheSameForTheSameSeedAndHaveTheirSizes(t *testing.T) {
	t.Parallel()
	one, same := somePayloads(t), somePayloads(t)
	other, err := newPayloads(8)
	require.NoError(t, err)
	for name, size := range map[string]int{small: 800, smallBlobs: 800, twentyKB: 20 << 10, oneMB: 1 << 20} {
		require.Greater(t, len(one[name]), 1, name)
		digests := map[uint64]bool{}
		for i, b := range one[name] {
			require.Equal(t, b.bytes, same[name][i].bytes, name)
			require.NotEqual(t, b.digest, other[name][i].digest, name)
			require.Equal(t, one[name][0].sample, b.sample, "bodies of %s must have the same sizes", name)
			require.InEpsilon(t, size, len(b.bytes), 0.1, name)
			digests[b.digest] = true
		}
		require.Len(t, digests, len(one[name]), "bodies of %s must differ", name)
	}
}

func TestADigestTellsApartWhateverDiffers(t *testing.T) {
	t.Parallel()
	message := func(text, id string) any { return messages.Human(text, messages.WithID(id)) }
	states := []map[string]any{
		{},
		{"a": "x"},
		{"a": "y"},
		{"b": "x"},
		{"a": "x", "b": ""},
		{"a": []any{"x"}},
		{"a": []any{}},
		{"a": []any{message("x", "1")}},
		{"a": []any{message("x", "2")}},
		{"a": []any{message("x", "1"), message("", "2")}},
		{"a": []any{messages.AI("x", messages.WithID("1"))}},
		{"a": nil},
		{"a": int64(1)},
	}
	seen := map[uint64]int{}
	for i, state := range states {
		d := digest(state)
		require.NotContains(t, seen, d, "state %d looks like an earlier one: %v", i, state)
		seen[d] = i
	}
}

func TestWhatWasReadIsComparedWithWhatWasWritten(t *testing.T) {
	t.Parallel()
	p := somePayloads(t)
	for name := range p {
		b := p.of(name, 0)
		read := map[string]any{}
		for channel, value := range b.values {
			typed, err := serde.Default().Dump(value)
			require.NoError(t, err)
			read[channel], err = serde.Default().Load(typed)
			require.NoError(t, err)
		}
		require.NoError(t, b.check(read), name)
		require.ErrorIs(t, p.of(name, 1).check(read), errRead, name)
		require.ErrorIs(t, b.check(map[string]any{}), errRead, name)
	}
	op := operation{Payload: small, Checkpoints: 6, Limit: 3}
	newest := []map[string]any{p.of(small, 5).values, p.of(small, 4).values, p.of(small, 3).values}
	require.NoError(t, p.checkList(op, newest))
	require.ErrorIs(t, p.checkList(op, newest[:2]), errRead)
	newest[0], newest[1] = newest[1], newest[0]
	require.ErrorIs(t, p.checkList(op, newest), errRead)
}

func TestAHistoryIsComparedWithWhatWasWritten(t *testing.T) {
	t.Parallel()
	op := operation{Checkpoints: 31, Limit: 20}
	var writes []any
	for number := 10; number < 30; number++ {
		writes = append(writes, deltaValue(number))
	}
	require.NoError(t, checkHistory(op, writes))
	require.ErrorIs(t, checkHistory(op, writes[1:]), errRead)
	require.ErrorIs(t, checkHistory(op, append(writes[1:], deltaValue(30))), errRead)
}

func TestTheRowsOfADeltaThreadLeadToASeed(t *testing.T) {
	t.Parallel()
	rows, err := deltaThread(30, 20).rows(somePayloads(t))
	require.NoError(t, err)
	require.Len(t, rows.checkpoints, 30)
	require.Len(t, rows.writes, 30)
	require.Len(t, rows.blobs, 1)
	seed := 30 - 1 - 20
	require.Equal(t, versionText(seed), rows.blobs[0][2])
	for number, row := range rows.checkpoints {
		require.Equal(t, number == seed, strings.Contains(row[3].(string), `"messages":true`), "checkpoint %d", number)
		require.Equal(t, checkpointID(number), row[1])
		if number > 0 {
			require.Less(t, rows.checkpoints[number-1][1], row[1], "ids sort by number")
			require.Equal(t, checkpointID(number-1), *row[2].(*string))
		}
	}
}

func TestWhatPeersHaveToSayIsKnown(t *testing.T) {
	t.Parallel()
	p := somePayloads(t)
	require.Equal(t, "channels=4;bytes=800", p.expectedSample(operation{Name: get, Payload: small}))
	require.Equal(t, "3:channels=4;bytes=800", p.expectedSample(operation{Name: list, Payload: small, Checkpoints: 3, Limit: 10}))
	require.Equal(t, "writes=50;bytes=10000", p.expectedSample(operation{Name: putWrites, Payload: small, Writes: 50}))
	last := p.of(twentyKB, 0).described["messages"].([]describedMessage)
	wanted := sampleOf(map[string]any{"messages": asMessages(last)})
	require.Equal(t, wanted, p.expectedSample(operation{Name: put, Payload: twentyKB}))
	require.Regexp(t, `^messages=[1-9]\d+;last=[1-9]\d+$`, p.expectedSample(operation{Name: get, Payload: oneMB}))
}

func TestTheMedianOfRounds(t *testing.T) {
	t.Parallel()
	require.InDelta(t, 2, median([]float64{9, 1, 2}), 0)
	require.InDelta(t, 2.5, median([]float64{4, 1, 3, 2}), 0)
	require.InDelta(t, 7, median([]float64{7}), 0)
	require.Nil(t, medianOf(nil))
	require.InDelta(t, 5, *medianOf([]float64{5}), 0)
}

func TestTheProcessorTimeOfAServerIsThatOfAllItsProcesses(t *testing.T) {
	t.Parallel()
	before := usage{cpu: map[int32]time.Duration{1: 10, 2: 100}}
	spent, known := cpuBetween(before, usage{cpu: map[int32]time.Duration{1: 15, 2: 130, 3: 7}})
	require.True(t, known)
	require.Equal(t, time.Duration(5+30+7), spent)
	_, known = cpuBetween(before, usage{cpu: map[int32]time.Duration{1: 15}})
	require.False(t, known, "a process that ended took its time with it")
	_, known = cpuBetween(usage{}, usage{})
	require.False(t, known, "a server that does not tell is not one that used nothing")
}

func TestThroughputIsThatOfAllConnections(t *testing.T) {
	t.Parallel()
	r := &sideRun{}
	op := operation{Name: get, Connections: 4}
	latencies := make([]time.Duration, 40)
	for i := range latencies {
		latencies[i] = 2 * time.Millisecond
	}
	r.add(op, outcome{latencies: latencies, clientCPU: 80 * time.Millisecond}, usage{wal: 100}, usage{wal: 500})
	require.InDelta(t, 2000, r.perSecond[0], 1e-9)
	require.InDelta(t, 2000, r.clientCPU[0], 1e-9)
	require.InDelta(t, 10, r.wal[0], 1e-9)
	require.Empty(t, r.serverCPU)
}

// measured is a result with these figures.
func measured(side string, perSecond, p50, cpu float64) result {
	return result{Side: side, PerSecond: perSecond, P50: p50, ServerCPU: &cpu}
}

func someResults() *results {
	wrong := benchmarkCase{Group: groupDatabase, Durability: "on", Operation: operation{Name: put, Payload: small, Connections: 1}}
	wrong.Results = []result{measured(pgweftName, 1, 1, 1), measured(floorName, 1, 1, 1), measured("python-sync", 1, 1, 1)}
	async := wrong
	async.Group, async.Durability = groupAsync, "off"
	on := wrong
	on.Group = groupPut
	on.Results = []result{measured(pgweftName, 600, 2, 90), measured(floorName, 1000, 1, 30), measured("python-sync", 50, 20, 100)}
	r := &results{Cases: []*benchmarkCase{&wrong, &async, &on}, Sides: []about{{Side: pgweftName}, {Side: floorName}}}
	for length, cpu := range map[int]float64{10: 60, 1000: 66, 10_000: 120} {
		c := &benchmarkCase{Group: groupGet, Durability: "on", Operation: operation{Name: get, Payload: small, Checkpoints: length, Connections: 1}}
		c.Results = []result{measured(pgweftName, 1000, cpu/100, cpu), measured(floorName, 4000, 0.1, 30), {Side: "js", Problem: "it fell over"}}
		r.Cases = append(r.Cases, c)
	}
	return r
}

func (r *results) targetNamed(t *testing.T, name string) target {
	t.Helper()
	for _, found := range r.Targets {
		if found.Name == name {
			return found
		}
	}
	require.Fail(t, "no such target", name)
	return target{}
}

func TestTargetsAreJudgedByTheRightCases(t *testing.T) {
	t.Parallel()
	r := someResults()
	r.judge()
	for _, c := range []struct{ name, got, met string }{
		{"put, 4 x 200 B inline, against the floor", "0.60", met},
		{"put, 4 x 200 B, against the official Python", "12.00", met},
		{"get latest, 4 x 200 B, dearest thread length, against the floor", "4.00", met},
		{"get latest, 4 x 200 B, dearest against cheapest thread length", "2.00", missed},
		{"put, 20 KB, against the floor", "no such case was measured", notMeasured},
		{"get, 4 x 200 B, against the official JavaScript", "js failed: it fell over", notMeasured},
		{"get, 4 x 200 B, against the official Python", "python-sync was not measured", notMeasured},
		{"put_writes of 50, against LangGraph's statements", "no such case was measured", notMeasured},
	} {
		got := r.targetNamed(t, c.name)
		require.Equal(t, []string{c.got, c.met}, []string{got.Got, got.Met}, c.name)
	}
	require.Len(t, r.Targets, len(bounds))
}

func TestABoundThatIsReachedExactlyIsMet(t *testing.T) {
	t.Parallel()
	value := func(v float64) func(*results) (float64, error) {
		return func(*results) (float64, error) { return v, nil }
	}
	for _, c := range []struct {
		atLeast bool
		value   float64
		met     string
	}{{true, 2, met}, {true, 1.99, missed}, {true, 3, met}, {false, 2, met}, {false, 2.01, missed}, {false, 1, met}} {
		require.Equal(t, c.met, bound{atLeast: c.atLeast, limit: 2, value: value(c.value)}.check(nil).Met, c)
	}
	failed := bound{value: func(*results) (float64, error) { return 0, errors.New("no figures") }}.check(nil)
	require.Equal(t, []string{notMeasured, "no figures"}, []string{failed.Met, failed.Got})
}

func TestAFigureThatIsNoneIsNoTargetMet(t *testing.T) {
	t.Parallel()
	for _, r := range []result{measured("a", 0, 0, 0), measured("a", math.Inf(1), math.Inf(1), math.Inf(1)), {Side: "a"}} {
		for _, what := range []string{throughput, clientTime, serverTime} {
			_, err := r.figure(what)
			require.Error(t, err, "%s of %+v", what, r)
		}
	}
}

func TestWhatCouldNotBeMeasuredFailsTheRun(t *testing.T) {
	t.Parallel()
	r := &results{Sides: []about{{Side: pgweftName}}}
	require.NoError(t, r.check(false))
	r.Sides = append(r.Sides, about{Side: "js", Problem: "node is not there"})
	require.ErrorContains(t, r.check(false), "js: node is not there")
	require.NoError(t, r.check(true))
	r = someResults()
	require.ErrorContains(t, r.check(true), "js: it fell over")
	require.Contains(t, r.markdown(nil), "**not measured**: it fell over")
}

func TestEveryCaseHasANameOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, s := range []sizes{fullSizes, quickSizes} {
		names := map[string]bool{}
		for _, c := range append(s.cases(), s.asyncCases()...) {
			require.NotEmpty(t, groupMeaning[c.Group], c.Group)
			name := c.Group + ": " + c.title()
			require.False(t, names[name], name)
			names[name] = true
		}
	}
}

func TestEveryThreadThatIsReadIsFilled(t *testing.T) {
	t.Parallel()
	for _, s := range []sizes{fullSizes, quickSizes} {
		plain, own := map[string]thread{}, map[string]thread{}
		for _, th := range s.plainThreads() {
			plain[th.name] = th
		}
		for _, th := range s.ownThreads() {
			own[th.name] = th
		}
		require.Len(t, plain, len(s.plainThreads()))
		for _, c := range append(append(s.databaseCases(), s.cases()...), s.asyncCases()...) {
			if c.Operation.Thread == "" || isStore(c.Operation) {
				continue
			}
			th, filled := plain[c.Operation.Thread]
			if c.goOnly && !filled {
				th, filled = own[c.Operation.Thread]
			}
			require.True(t, filled, "%s reads %s", c.title(), c.Operation.Thread)
			require.Equal(t, th.checkpoints, c.Operation.Checkpoints, c.title())
		}
	}
}

func TestChartsAreTheSameForTheSameFigures(t *testing.T) {
	t.Parallel()
	r := someResults()
	charts := r.charts()
	require.Len(t, charts, 1, "lines need two points")
	require.Len(t, charts[0].lines, 2)
	require.Equal(t, pgweftName, charts[0].lines[0].name, "the line that ends highest comes first")
	require.Equal(t, lineColours[0], charts[0].lines[0].colour, "a side's colour does not depend on the chart")
	require.Equal(t, lineColours[1], charts[0].lines[1].colour)
	require.Equal(t, []point{{10, 0.6}, {1000, 0.66}, {10_000, 1.2}}, charts[0].lines[0].points)
	require.Equal(t, []float64{10, 1000, 10_000}, charts[0].measuredAt())
	picture := charts[0].svg()
	require.Equal(t, picture, someResults().charts()[0].svg())
	require.Equal(t, 6, strings.Count(picture, "<circle"))
	require.NotContains(t, picture, "NaN")
	decoder := xml.NewDecoder(strings.NewReader(picture))
	for {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
	}
}

func TestAnAxisPutsItsEndsWithinThePicture(t *testing.T) {
	t.Parallel()
	a := newAxis([]float64{10, 10_000}, 70, 550)
	require.Greater(t, a.at(10), 70.0)
	require.Less(t, a.at(10_000), 550.0)
	require.InDelta(t, a.at(1000)-a.at(100), a.at(100)-a.at(10), 1e-9)
	require.Equal(t, []float64{10, 100, 1000, 10_000}, a.ticks())
	require.False(t, math.IsNaN(newAxis([]float64{5, 5}, 0, 1).at(5)), "equal figures have a place as well")
}

func TestNumbersAreWrittenForReaders(t *testing.T) {
	t.Parallel()
	for n, text := range map[int]string{0: "0", 999: "999", 1000: "1,000", 23_304: "23,304", 1_234_567: "1,234,567"} {
		require.Equal(t, text, thousands(n))
	}
	for ratio, text := range map[float64]string{1: "1.00", 12.345: "12.35", 0.1: "0.10", 0.0021: "0.0021"} {
		require.Equal(t, text, times(ratio))
	}
}

func TestResultsAreWrittenCompletely(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	var out bytes.Buffer
	require.NoError(t, someResults().write(&out, directory))
	report, err := os.ReadFile(filepath.Join(directory, "benchmarks.md"))
	require.NoError(t, err)
	require.Equal(t, out.String(), string(report))
	for _, file := range []string{"benchmarks.json", "benchmarks/get-by-length.svg"} {
		require.FileExists(t, filepath.Join(directory, file))
	}
	require.Contains(t, string(report), "](benchmarks/get-by-length.svg)")
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args    []string
		problem string
	}{
		{[]string{"--quick"}, ""},
		{[]string{"--case", "delta"}, ""},
		{[]string{"--out", "docs"}, ""},
		{[]string{"--case", "nonsense"}, "no case has that"},
		{[]string{"--out", "docs", "--quick"}, "complete runs"},
		{[]string{"--out", "docs", "--case", "put"}, "complete runs"},
		{[]string{"--rounds", "-1"}, "more than 0"},
		{[]string{"put"}, "unexpected argument"},
	} {
		_, err := parseOptions(c.args, io.Discard)
		if c.problem == "" {
			require.NoError(t, err, c.args)
		} else {
			require.ErrorContains(t, err, c.problem, c.args)
		}
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
