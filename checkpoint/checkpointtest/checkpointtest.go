// Package checkpointtest checks an implementation of [checkpoint.Saver], as testing/fstest does a file system:
//
//	func TestConformance(t *testing.T) {
//		checkpointtest.Run(t, func(t *testing.T) checkpoint.Saver { return pgsaver.New(newPool(t), nil) })
//	}
//
// The tests are grouped by capability. Those whose names begin with "test_" check the behaviour that the tests of that
// name check in LangGraph's own conformance suite, so that results can be laid side by side (for delta channels that is
// the suite in LangGraph's repository, which is ahead of the released one); those that begin with "more_" check what the
// documentation of package checkpoint promises beyond it.
package checkpointtest

import (
	"sync/atomic"
	"testing"

	"github.com/pgweft/pgweft/checkpoint"
)

// Run runs the suite on a saver, as subtests named "capability/test". newSaver is called once to learn what the saver
// can do and once for every test; it may return the same saver each time, because tests use threads of their own and run
// in parallel.
//
// The capabilities put, put_writes, get_tuple, list and delete_thread are those of every Saver. The others are checked where
// the saver implements their interface: delete_for_runs [checkpoint.RunDeleter], copy_thread [checkpoint.ThreadCopier], prune
// [checkpoint.Pruner], get_delta_channel_history [checkpoint.DeltaHistorian], fork [checkpoint.Forker] and put_step
// [checkpoint.StepPutter]. Run logs, for each capability, how many tests passed and failed, or that it is absent.
func Run(t *testing.T, newSaver func(t *testing.T) checkpoint.Saver) {
	t.Helper()
	probe := newSaver(t)
	for _, c := range capabilities {
		if !c.presentIn(probe) {
			t.Logf("capability %s: absent", c.name)
			continue
		}
		passed, failed := c.run(t, newSaver)
		t.Logf("%s: %d passed, %d failed", c.name, passed, failed)
	}
}

// capability is a group of tests of one thing that a saver can do.
type capability struct {
	name string
	// presentIn says whether the saver implements the interface that the tests need.
	presentIn func(checkpoint.Saver) bool
	tests     []test
}

type test struct {
	name string
	run  func(*thread)
}

var capabilities = []capability{
	{"put", implements[checkpoint.Saver], putTests},
	{"put_writes", implements[checkpoint.Saver], putWritesTests},
	{"get_tuple", implements[checkpoint.Saver], getTupleTests},
	{"list", implements[checkpoint.Saver], listTests},
	{"delete_thread", implements[checkpoint.Saver], deleteThreadTests},
	{"delete_for_runs", implements[checkpoint.RunDeleter], deleteForRunsTests},
	{"copy_thread", implements[checkpoint.ThreadCopier], copyThreadTests},
	{"prune", implements[checkpoint.Pruner], pruneTests},
	{"get_delta_channel_history", implements[checkpoint.DeltaHistorian], deltaHistoryTests},
	{"fork", implements[checkpoint.Forker], forkTests},
	{"put_step", implements[checkpoint.StepPutter], putStepTests},
}

func implements[Interface any](saver checkpoint.Saver) bool {
	_, ok := saver.(Interface)
	return ok
}

// run counts only once all tests are done: t.Run returns after the group's parallel tests.
func (c capability) run(t *testing.T, newSaver func(t *testing.T) checkpoint.Saver) (passed, failed int64) {
	t.Helper()
	var passes, failures atomic.Int64
	t.Run(c.name, func(t *testing.T) {
		for _, test := range c.tests {
			t.Run(test.name, func(t *testing.T) {
				t.Parallel()
				// Before newSaver, so that it runs after the cleanups of newSaver, which may fail the test too.
				t.Cleanup(func() {
					if t.Failed() {
						failures.Add(1)
					} else {
						passes.Add(1)
					}
				})
				test.run(newThread(t, newSaver(t)))
			})
		}
	})
	return passes.Load(), failures.Load()
}
