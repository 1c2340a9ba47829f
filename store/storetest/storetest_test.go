package storetest_test

import (
	"flag"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/store"
	"github.com/pgweft/pgweft/store/storetest"
)

// The suite's failures can only be seen from outside, so tests run this test again, in a process of its own, on another
// store.
var storeName = flag.String("store", "memory", `the store of TestConformance: memory, l2, "inner product", bare, or a broken one by its name`)

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, harnessNamed(t, *storeName))
}

func harnessNamed(t *testing.T, name string) func(*testing.T) storetest.Harness {
	t.Helper()
	shared := newPlace()
	switch name {
	case "memory":
		return func(*testing.T) storetest.Harness { return shared.harness() }
	case "l2":
		shared.distance = store.DistanceL2
		return func(*testing.T) storetest.Harness { return shared.harness() }
	case "inner product":
		shared.distance = store.DistanceInnerProduct
		return func(*testing.T) storetest.Harness { return shared.harness() }
	case "bare":
		shared.hasText = false
		return func(*testing.T) storetest.Harness { return storetest.Harness{Open: shared.harness().Open} }
	case "small":
		small := shared.harness()
		small.Index.Dims = 8
		return func(*testing.T) storetest.Harness { return small }
	}
	fault, ok := broken[name]
	require.True(t, ok, "there is no store %q", name)
	// A place for each test, because its fault may be that it finds what is another test's.
	return func(*testing.T) storetest.Harness {
		own := newPlace()
		own.faults = fault.faults
		harness := own.harness()
		open := harness.Open
		if fault.wrap != nil {
			harness.Open = func(t *testing.T, settings storetest.Settings) store.Store {
				t.Helper()
				return fault.wrap(open(t, settings))
			}
		}
		return harness
	}
}

// outcome is what a run of the suite printed.
type outcome struct {
	output   string
	succeeds bool
	// failed are the tests that failed, without TestConformance.
	failed []string
}

var failedTest = regexp.MustCompile(`(?m)^\s*--- FAIL: TestConformance/(\S+) `)

func runOn(t *testing.T, name string) outcome {
	t.Helper()
	executable, err := os.Executable()
	require.NoError(t, err)
	command := exec.CommandContext(t.Context(), executable, "-test.run=^TestConformance$", "-test.v", "-store="+name)
	output, err := command.CombinedOutput()
	ran := outcome{output: string(output), succeeds: err == nil}
	for _, match := range failedTest.FindAllStringSubmatch(ran.output, -1) {
		ran.failed = append(ran.failed, match[1])
	}
	return ran
}

func capabilitiesOf(tests []string) []string {
	names := []string{}
	for _, test := range tests {
		name, _, isTest := strings.Cut(test, "/")
		if isTest && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// printed is how go test prints the names of subtests.
func printed(names []string) []string {
	var rewritten []string
	for _, name := range names {
		rewritten = append(rewritten, strings.ReplaceAll(name, " ", "_"))
	}
	return rewritten
}

func TestSuiteFindsTheFaultOfEveryBrokenStore(t *testing.T) {
	t.Parallel()
	for name, fault := range broken {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ran := runOn(t, name)
			require.False(t, ran.succeeds, "the suite passes")
			require.Subset(t, ran.failed, printed(fault.finds))
			certain := slices.DeleteFunc(slices.Clone(ran.failed), func(name string) bool { return slices.Contains(printed(fault.races), name) })
			require.Equal(t, capabilitiesOf(fault.finds), capabilitiesOf(certain), "failed: %q", ran.failed)
			require.NotContains(t, ran.output, "panic:")
			require.NotContains(t, ran.output, "DATA RACE")
		})
	}
}

func TestSuitePassesWithEveryDistance(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"l2", "inner product"} {
		ran := runOn(t, name)
		require.True(t, ran.succeeds, "%s: failed: %q", name, ran.failed)
		require.Regexp(t, `(?m)\bvector: \d+ passed, 0 failed$`, ran.output)
	}
}

func TestSuiteCountsWhatPassedAndFailed(t *testing.T) {
	t.Parallel()
	ran := runOn(t, "lists the oldest first")
	count := func(prefix string) (n int) {
		for line := range strings.Lines(ran.output) {
			name, isTest := strings.CutPrefix(strings.TrimSpace(line), prefix+"TestConformance/search/")
			if isTest && !strings.Contains(name, "/") {
				n++
			}
		}
		return n
	}
	passed, failed := count("--- PASS: "), count("--- FAIL: ")
	require.Positive(t, failed)
	require.Equal(t, 14, passed+failed)
	require.Regexp(t, `(?m)\bsearch: `+strconv.Itoa(passed)+` passed, `+strconv.Itoa(failed)+` failed$`, ran.output)
	require.Regexp(t, `(?m)\bput: \d+ passed, 0 failed$`, ran.output)
}

func TestSuiteSaysWhichCapabilitiesAreAbsent(t *testing.T) {
	t.Parallel()
	ran := runOn(t, "bare")
	require.True(t, ran.succeeds, ran.output)
	for _, capability := range []string{"ttl", "vector", "vector_ttl", "text", "text_ttl", "hybrid"} {
		require.Contains(t, ran.output, "capability "+capability+": absent")
		require.NotContains(t, ran.output, "TestConformance/"+capability+"/")
	}
	for _, capability := range []string{"put", "get", "delete", "batch", "namespaces", "search", "filter", "list_namespaces"} {
		require.NotContains(t, ran.output, "capability "+capability+": absent")
		require.Regexp(t, `(?m)\b`+capability+`: \d+ passed, 0 failed$`, ran.output)
	}
}

func TestSuiteRefusesAnIndexTooSmallForItsTexts(t *testing.T) {
	t.Parallel()
	ran := runOn(t, "small")
	require.False(t, ran.succeeds)
	require.Contains(t, ran.output, "has 8 dimensions; give it 64 at least")
}
