package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// target is something that the figures have to reach.
type target struct {
	Name   string `json:"name"`
	Wanted string `json:"wanted"`
	Got    string `json:"got"`
	// Met is "met", "missed", or "not measured" with the reason in Got.
	Met string `json:"met"`
}

const (
	met         = "met"
	missed      = "missed"
	notMeasured = "not measured"
)

// bound is a target that is a number: at least or at most so much.
type bound struct {
	name    string
	atLeast bool
	limit   float64
	unit    string
	value   func(r *results) (float64, error)
}

// flatness is how much dearer the dearest thread length may be than the cheapest, where cost should not depend on it: what
// repeated measurements differ by.
const flatness = 1.5

// Where targets look for their cases.
const (
	throughput = "operations per second"
	serverTime = "server CPU"
	clientTime = "p50"
)

var bounds = []bound{
	{"put, 4 x 200 B inline, against the floor", true, 0.5, "of its throughput", quotient(throughput, selectCase(put, small), floorName)},
	{"put, 4 x 200 B in rows, against the floor", true, 0.5, "of its throughput", quotient(throughput, selectCase(put, smallBlobs), floorName)},
	{"put, 20 KB, against the floor", true, 0.7, "of its throughput", quotient(throughput, selectCase(put, twentyKB), floorName)},
	{"put, 1 MB, against the floor", true, 0.85, "of its throughput", quotient(throughput, selectCase(put, oneMB), floorName)},
	{"get latest, 4 x 200 B, dearest thread length, against the floor", false, 5, "times its server CPU", dearest(get)},
	{"get latest, 4 x 200 B, dearest against cheapest thread length", false, flatness, "times the server CPU", spreadOf(get)},
	{"list of 10, slowest thread length", false, 0.5, "ms (p50)", slowestList},
	{"delta history of 20 steps in 1,080, against range scans", false, 4, "times their time", quotient(clientTime, selectHistory(deltaSteps), floorName)},
	{"delta history of 10,000 steps, against range scans", false, 3, "times their time", quotient(clientTime, selectHistory(fullSizes.LongDelta), floorName)},
	{"put, 4 x 200 B, against the official Python", true, 10, "times its throughput", quotient(throughput, selectCase(put, small), "python-sync")},
	{"put, 20 KB, against the official Python", true, 10, "times its throughput", quotient(throughput, selectCase(put, twentyKB), "python-sync")},
	{"get, 4 x 200 B, against the official Python", true, 10, "times its throughput", quotient(throughput, selectCase(get, small), "python-sync")},
	{"get, 20 KB, against the official Python", true, 10, "times its throughput", quotient(throughput, selectCase(get, twentyKB), "python-sync")},
	{"put, 4 x 200 B, against the official JavaScript", true, 3, "times its throughput", quotient(throughput, selectCase(put, small), "js")},
	{"get, 4 x 200 B, against the official JavaScript", true, 3, "times its throughput", quotient(throughput, selectCase(get, small), "js")},
	{"get, 20 KB, against the official JavaScript", true, 10, "times its throughput", quotient(throughput, selectCase(get, twentyKB), "js")},
	{"put_writes of 50, against LangGraph's statements", true, 1.7, "times their throughput", quotient(throughput, selectWrites(50), langGraphName)},
}

func (b bound) check(r *results) target {
	t := target{Name: b.name, Wanted: fmt.Sprintf("at most %g %s", b.limit, b.unit)}
	if b.atLeast {
		t.Wanted = fmt.Sprintf("at least %g %s", b.limit, b.unit)
	}
	value, err := b.value(r)
	if err != nil {
		t.Met, t.Got = notMeasured, err.Error()
		return t
	}
	t.Got, t.Met = fmt.Sprintf("%.2f", value), missed
	if b.atLeast && value >= b.limit || !b.atLeast && value <= b.limit {
		t.Met = met
	}
	return t
}

// selectCase picks the case of one connection with synchronous_commit on and, where there are several lengths, the one of 1,000 checkpoints or
// the longest below.
func selectCase(name, payload string) func(r *results) []*benchmarkCase {
	return func(r *results) []*benchmarkCase {
		found := r.where(func(c *benchmarkCase) bool {
			op := c.Operation
			return c.Group != groupDatabase && c.Durability == "on" && op.Name == name && op.Payload == payload && op.Connections == 1 &&
				op.Checkpoints <= 1000
		})
		slices.SortStableFunc(found, func(a, b *benchmarkCase) int { return b.Operation.Checkpoints - a.Operation.Checkpoints })
		return found
	}
}

func selectHistory(steps int) func(r *results) []*benchmarkCase {
	return func(r *results) []*benchmarkCase {
		return r.where(func(c *benchmarkCase) bool { return c.Operation.Name == deltaHistory && c.Operation.Limit == steps })
	}
}

func selectWrites(writes int) func(r *results) []*benchmarkCase {
	return func(r *results) []*benchmarkCase {
		return r.where(func(c *benchmarkCase) bool {
			return c.Operation.Name == putWrites && c.Durability == "on" && c.Operation.Writes == writes && c.Operation.Connections == 1
		})
	}
}

func (r *results) where(wanted func(c *benchmarkCase) bool) []*benchmarkCase {
	var found []*benchmarkCase
	for _, c := range r.Cases {
		if wanted(c) {
			found = append(found, c)
		}
	}
	return found
}

// of is what a side did in a case.
func (c *benchmarkCase) of(side string) (result, error) {
	for _, res := range c.Results {
		if res.Side != side {
			continue
		}
		if res.Problem != "" {
			return res, fmt.Errorf("%s failed: %s", side, res.Problem)
		}
		return res, nil
	}
	return result{}, fmt.Errorf("%s was not measured", side)
}

func (r result) figure(what string) (float64, error) {
	value := 0.0
	switch what {
	case throughput:
		value = r.PerSecond
	case clientTime:
		value = r.P50
	case serverTime:
		if r.ServerCPU == nil {
			return 0, fmt.Errorf("the server does not tell the processor time of %s", r.Side)
		}
		value = *r.ServerCPU
	}
	if value <= 0 || math.IsInf(value, 0) || math.IsNaN(value) {
		return 0, fmt.Errorf("%s of %s is %g", what, r.Side, value)
	}
	return value, nil
}

func (c *benchmarkCase) figure(what, side string) (float64, error) {
	res, err := c.of(side)
	if err != nil {
		return 0, err
	}
	return res.figure(what)
}

// quotient is pgweft's figure divided by another side's, in the first case that is found.
func quotient(what string, find func(r *results) []*benchmarkCase, against string) func(r *results) (float64, error) {
	return func(r *results) (float64, error) {
		found := find(r)
		if len(found) == 0 {
			return 0, fmt.Errorf("no such case was measured")
		}
		return found[0].ratio(what, against)
	}
}

// ratio is pgweft's figure divided by another side's.
func (c *benchmarkCase) ratio(what, against string) (float64, error) {
	ours, err := c.figure(what, pgweftName)
	if err != nil {
		return 0, err
	}
	theirs, err := c.figure(what, against)
	return ours / theirs, err
}

// lengths are the cases of one operation on small states that differ in the thread's length.
func (r *results) lengths(name string, limit int) []*benchmarkCase {
	found := r.where(func(c *benchmarkCase) bool {
		op := c.Operation
		return (c.Group == groupGet || c.Group == groupList) && op.Name == name && op.Payload == small && op.Connections == 1 && op.Limit == limit
	})
	slices.SortFunc(found, func(a, b *benchmarkCase) int { return a.Operation.Checkpoints - b.Operation.Checkpoints })
	return found
}

var errTooFew = fmt.Errorf("fewer than two thread lengths were measured")

// dearest is the highest ratio of pgweft's server CPU to the floor's among the lengths.
func dearest(name string) func(r *results) (float64, error) {
	return func(r *results) (float64, error) {
		highest := 0.0
		found := r.lengths(name, 0)
		if len(found) < 2 {
			return 0, errTooFew
		}
		for _, c := range found {
			ratio, err := c.ratio(serverTime, floorName)
			if err != nil {
				return 0, err
			}
			highest = max(highest, ratio)
		}
		return highest, nil
	}
}

// spreadOf is pgweft's highest server CPU among the lengths divided by its lowest.
func spreadOf(name string) func(r *results) (float64, error) {
	return func(r *results) (float64, error) {
		var figures []float64
		for _, c := range r.lengths(name, 0) {
			figure, err := c.figure(serverTime, pgweftName)
			if err != nil {
				return 0, err
			}
			figures = append(figures, figure)
		}
		if len(figures) < 2 {
			return 0, errTooFew
		}
		return slices.Max(figures) / slices.Min(figures), nil
	}
}

func slowestList(r *results) (float64, error) {
	slowest := 0.0
	found := r.lengths(list, 10)
	if len(found) < 2 {
		return 0, errTooFew
	}
	for _, c := range found {
		figure, err := c.figure(clientTime, pgweftName)
		if err != nil {
			return 0, err
		}
		slowest = max(slowest, figure)
	}
	return slowest, nil
}

func (r *results) judge() {
	r.Targets = nil
	for _, b := range bounds {
		r.Targets = append(r.Targets, b.check(r))
	}
}

// check is an error where something could not be measured that should have been. A missed target is no error: it depends on
// the machine, and the report says it.
func (r *results) check(withoutPeers bool) error {
	var problems []string
	if !withoutPeers {
		for _, a := range r.Sides {
			if a.Problem != "" {
				problems = append(problems, fmt.Sprintf("%s: %s", a.Side, a.Problem))
			}
		}
	}
	for _, c := range r.Cases {
		for _, res := range c.Results {
			if res.Problem != "" {
				problems = append(problems, fmt.Sprintf("%s: %s: %s", c.Name, res.Side, res.Problem))
			}
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("not everything could be measured (--without-peers leaves the peers out):\n  %s", strings.Join(problems, "\n  "))
}
