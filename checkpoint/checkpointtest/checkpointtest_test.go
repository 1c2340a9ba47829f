package checkpointtest_test

import (
	"flag"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/checkpoint/checkpointtest"
)

// The suite's failures can only be seen from outside, so tests run this test again, in a process of its own, on another
// saver.
var saverName = flag.String("saver", "memory", `the saver of TestConformance: memory, "bare", or a broken one by its name`)

func TestConformance(t *testing.T) {
	t.Parallel()
	switch *saverName {
	case "memory":
		saver := newMemory()
		checkpointtest.Run(t, func(*testing.T) checkpoint.Saver { return saver })
	case "bare":
		saver := bare{newMemory()}
		checkpointtest.Run(t, func(*testing.T) checkpoint.Saver { return saver })
	default:
		fault, ok := brokenSavers()[*saverName]
		require.True(t, ok, "there is no saver %q", *saverName)
		// One for each test, so that what one test does cannot hide the fault from another.
		checkpointtest.Run(t, func(*testing.T) checkpoint.Saver { return fault.saver(newMemory()) })
	}
}

var (
	memoryRun     outcome
	memoryRunOnce sync.Once
)

// runOnMemory runs the whole suite on a saver without a fault, for whoever asks first.
func runOnMemory(t *testing.T) outcome {
	t.Helper()
	memoryRunOnce.Do(func() { memoryRun = runOn(t, "memory") })
	require.True(t, memoryRun.succeeds, memoryRun.output)
	return memoryRun
}

func brokenSavers() map[string]fault {
	all := maps.Clone(brokenBase)
	maps.Copy(all, brokenExtended)
	return all
}

// outcome is what a run of the suite printed.
type outcome struct {
	output   string
	succeeds bool
	// passed and failed are tests, without TestConformance.
	passed, failed []string
}

var result = regexp.MustCompile(`(?m)^\s*--- (PASS|FAIL): TestConformance/(\S+) `)

// runOn runs some tests, or all.
func runOn(t *testing.T, saver string, tests ...string) outcome {
	t.Helper()
	executable, err := os.Executable()
	require.NoError(t, err)
	chosen := "^TestConformance$"
	if len(tests) > 0 {
		chosen += "/" + anyOf(partsOf(tests, 0)) + "/" + anyOf(partsOf(tests, 1))
	}
	command := exec.CommandContext(t.Context(), executable, "-test.run="+chosen, "-test.v", "-saver="+saver)
	// The race detector waits a second before a process ends, unless told otherwise.
	command.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	output, err := command.CombinedOutput()
	ran := outcome{output: string(output), succeeds: err == nil}
	for _, match := range result.FindAllStringSubmatch(ran.output, -1) {
		if match[1] == "PASS" {
			ran.passed = append(ran.passed, match[2])
		} else {
			ran.failed = append(ran.failed, match[2])
		}
	}
	return ran
}

// partsOf are the capabilities of tests (0), or their names in them (1).
func partsOf(tests []string, part int) []string {
	var parts []string
	for _, test := range tests {
		if name := strings.Split(test, "/")[part]; !slices.Contains(parts, name) {
			parts = append(parts, name)
		}
	}
	return parts
}

func anyOf(names []string) string {
	var quoted []string
	for _, name := range names {
		quoted = append(quoted, regexp.QuoteMeta(name))
	}
	return "^(" + strings.Join(quoted, "|") + ")$"
}

func TestSuiteFindsTheFaultOfEveryBrokenSaver(t *testing.T) {
	t.Parallel()
	savers := brokenSavers()
	require.Len(t, savers, len(brokenBase)+len(brokenExtended), "two broken savers have the same name")
	var mu sync.Mutex
	ran, failed := 0, []string{}
	t.Run("saver", func(t *testing.T) {
		for name, fault := range savers {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				outcome := runOn(t, name, fault.finds...)
				mu.Lock()
				ran++
				failed = append(failed, outcome.failed...)
				mu.Unlock()
				require.False(t, outcome.succeeds, "the suite passes")
				require.Empty(t, without(outcome.passed, nil), "tests that pass")
				require.Subset(t, outcome.failed, fault.finds)
				require.NotContains(t, outcome.output, "panic:")
				require.NotContains(t, outcome.output, "DATA RACE")
			})
		}
	})
	// A test that no saver fails might check nothing. With -run there are fewer savers.
	if ran == len(savers) {
		require.Empty(t, without(runOnMemory(t).passed, failed), "tests that no broken saver fails")
	}
}

// without are tests, as opposed to their parts and to capabilities, that are not among others.
func without(tests, others []string) []string {
	return slices.DeleteFunc(slices.Clone(tests), func(test string) bool {
		return strings.Count(test, "/") != 1 || slices.Contains(others, test)
	})
}

func TestSuiteCountsWhatPassedAndFailed(t *testing.T) {
	t.Parallel()
	ran := runOn(t, "ignores limit")
	count := func(prefix string) (n int) {
		for line := range strings.Lines(ran.output) {
			name, isTest := strings.CutPrefix(strings.TrimSpace(line), prefix+"TestConformance/list/")
			if isTest && !strings.Contains(name, "/") {
				n++
			}
		}
		return n
	}
	passed, failed := count("--- PASS: "), count("--- FAIL: ")
	require.Positive(t, failed)
	require.Equal(t, 32, passed+failed)
	require.Regexp(t, `(?m)\blist: `+strconv.Itoa(passed)+` passed, `+strconv.Itoa(failed)+` failed$`, ran.output)
	require.Regexp(t, `(?m)\bput_writes: \d+ passed, 0 failed$`, ran.output)
}

func TestSuiteSaysWhichCapabilitiesAreAbsent(t *testing.T) {
	t.Parallel()
	ran := runOn(t, "bare")
	require.True(t, ran.succeeds, ran.output)
	for _, capability := range []string{
		"delete_for_runs", "copy_thread", "prune", "get_delta_channel_history", "fork", "put_step",
	} {
		require.Contains(t, ran.output, "capability "+capability+": absent")
		require.NotContains(t, ran.output, "TestConformance/"+capability)
	}
	for _, capability := range []string{"put", "put_writes", "get_tuple", "list", "delete_thread"} {
		require.NotContains(t, ran.output, "capability "+capability+": absent")
		require.Regexp(t, `(?m)\b`+capability+`: \d+ passed, 0 failed$`, ran.output)
	}
}

// The names are those of LangGraph's suite, so that results can be compared test by test.
func TestSuiteHasTheTestsOfTheOfficialSuite(t *testing.T) {
	t.Parallel()
	ran := runOnMemory(t)
	official := map[string]int{
		"put/test_put_": 17, "put_writes/test_put_writes_": 10, "get_tuple/test_get_tuple_": 10, "list/test_list_": 16,
		"delete_thread/test_delete_thread_": 5, "delete_for_runs/test_delete_for_runs_": 7, "copy_thread/test_copy_thread_": 8,
		"prune/test_prune_": 8, "get_delta_channel_history/test_history_": 10,
	}
	for beginning, want := range official {
		has := 0
		for _, test := range ran.passed {
			if strings.HasPrefix(test, beginning) && strings.Count(test, "/") == 1 {
				has++
			}
		}
		require.Equal(t, want, has, "number of tests %s*", beginning)
	}
	for _, test := range ran.passed {
		capability, name, _ := strings.Cut(test, "/")
		if strings.HasPrefix(name, "test_") {
			require.True(t, slices.ContainsFunc(slices.Collect(maps.Keys(official)), func(beginning string) bool {
				return strings.HasPrefix(test, beginning)
			}), "capability %s has the test %s, which no official suite has", capability, name)
		}
	}
}
