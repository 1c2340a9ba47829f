package checkpointtest_test

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

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/checkpoint/checkpointtest"
)

// The suite's failures can only be seen from outside, so tests run this test again, in a process of its own, on another
// saver.
var saverName = flag.String("saver", "memory", `the saver of TestConformance: memory, "bare", or a broken one by its name`)

func TestConformance(t *testing.T) {
	t.Parallel()
	saver := saverNamed(t, *saverName)
	checkpointtest.Run(t, func(*testing.T) checkpoint.Saver { return saver })
}

func saverNamed(t *testing.T, name string) checkpoint.Saver {
	t.Helper()
	switch name {
	case "memory":
		return newMemory()
	case "bare":
		return bare{newMemory()}
	}
	fault, ok := broken[name]
	require.True(t, ok, "there is no saver %q", name)
	return fault.saver(newMemory())
}

// outcome is what a run of the suite printed.
type outcome struct {
	output   string
	succeeds bool
	// failed are the tests that failed, without TestConformance.
	failed []string
}

var failedTest = regexp.MustCompile(`(?m)^\s*--- FAIL: TestConformance/(\S+) `)

func runOn(t *testing.T, saver string) outcome {
	t.Helper()
	executable, err := os.Executable()
	require.NoError(t, err)
	command := exec.CommandContext(t.Context(), executable, "-test.run=^TestConformance$", "-test.v", "-saver="+saver)
	output, err := command.CombinedOutput()
	ran := outcome{output: string(output), succeeds: err == nil}
	for _, match := range failedTest.FindAllStringSubmatch(ran.output, -1) {
		ran.failed = append(ran.failed, match[1])
	}
	return ran
}

func (o outcome) failedCapabilities() []string { return capabilitiesOf(o.failed) }

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

func TestSuiteFindsTheFaultOfEveryBrokenSaver(t *testing.T) {
	t.Parallel()
	for name, fault := range broken {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ran := runOn(t, name)
			require.False(t, ran.succeeds, "the suite passes")
			require.Subset(t, ran.failed, fault.finds)
			require.Equal(t, capabilitiesOf(fault.finds), ran.failedCapabilities(), "failed: %q", ran.failed)
			require.NotContains(t, ran.output, "panic:")
			require.NotContains(t, ran.output, "DATA RACE")
		})
	}
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
	for _, capability := range []string{"fork", "put_step"} {
		require.Contains(t, ran.output, "capability "+capability+": absent")
		require.NotContains(t, ran.output, "TestConformance/"+capability)
	}
	for _, capability := range []string{"put", "put_writes", "get_tuple", "list", "delete_thread"} {
		require.NotContains(t, ran.output, "capability "+capability+": absent")
		require.Regexp(t, `(?m)\b`+capability+`: \d+ passed, 0 failed$`, ran.output)
	}
}

// The names are those of langgraph-checkpoint-conformance, so that results can be compared test by test.
func TestSuiteHasTheTestsOfTheOfficialSuite(t *testing.T) {
	t.Parallel()
	ran := runOn(t, "memory")
	require.True(t, ran.succeeds, ran.output)
	official := map[string]int{"put": 17, "put_writes": 10, "get_tuple": 10, "list": 16, "delete_thread": 5}
	total := 0
	for capability, want := range official {
		names := regexp.MustCompile(`(?m)^\s*--- PASS: TestConformance/`+capability+`/test_`+capability+`_\w+ `).
			FindAllString(ran.output, -1)
		require.Len(t, names, want, "capability %s", capability)
		total += len(names)
	}
	require.Equal(t, 58, total)
}
