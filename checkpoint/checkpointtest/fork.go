package checkpointtest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/pgweft/pgweft/checkpoint"
)

var forkTests = []test{
	{"more_fork_has_the_targets_state", forkHasTargetsState},
	{"more_fork_says_where_it_came_from", forkSaysWhereItCameFrom},
	{"more_fork_keeps_more_metadata", forkKeepsMoreMetadata},
	{"more_fork_is_the_newest_and_removes_nothing", forkIsNewest},
	{"more_fork_is_the_newest_even_if_a_clock_was_ahead", forkIsNewestAfterClockAhead},
	{"more_fork_takes_a_given_id", forkTakesGivenID},
	{"more_fork_stays_in_its_namespace", forkStaysInNamespace},
	{"more_fork_of_a_fork", forkOfFork},
	{"more_fork_shares_versions_by_default", forkSharesVersions},
	{"more_fork_with_copied_blobs_shares_nothing", forkWithCopiedBlobs},
	{"more_fork_with_copied_blobs_moves_versions_seen", forkMovesVersionsSeen},
	{"more_fork_of_integer_versions_keeps_the_old_branch", forkOfIntegersKeepsOldBranch},
	{"more_fork_of_integer_versions_lets_both_branches_go_on", forkOfIntegersLetsBothGoOn},
	{"more_fork_by_concurrent_callers_makes_all", forkByConcurrentCallers},
	{"more_fork_by_concurrent_callers_keeps_integer_versions_apart", forkIntegersByConcurrentCallers},
	{"more_fork_keeps_delta_history", forkKeepsDeltaHistory},
	{"more_fork_of_what_is_missing_is_not_found", forkOfMissing},
	{"more_fork_refuses_what_cannot_be_forked", forkRefuses},
	{"more_fork_refuses_cancelled_context", forkRefusesCancelledContext},
}

func (th *thread) tryFork(config checkpoint.Config, options checkpoint.ForkOptions) (checkpoint.Config, error) {
	return th.saver.(checkpoint.Forker).Fork(th.Context(), config, options)
}

func (th *thread) fork(config checkpoint.Config, options checkpoint.ForkOptions) checkpoint.Config {
	th.Helper()
	forked, err := th.tryFork(config, options)
	if err != nil {
		th.Fatalf("Fork %+v, %+v: %v", config, options, err)
	}
	return forked
}

// grow puts a child whose only channel, a list, has one more item under the version that follows, as a runtime does.
func (th *thread) grow(parent checkpoint.Config, item any) checkpoint.Config {
	th.Helper()
	tuple := th.get(parent)
	before, ok := plain(tuple.Checkpoint.ChannelValues["list"]).([]any)
	if !ok {
		th.Fatalf("the list of %+v is %v", parent, tuple.Checkpoint.ChannelValues["list"])
	}
	version := checkpoint.NextVersion(tuple.Checkpoint.ChannelVersions["list"])
	cp := newCheckpoint(map[string]any{"list": append(before, item)}, versions{"list": version})
	cp.VersionsSeen = map[string]versions{"node": tuple.Checkpoint.ChannelVersions}
	step, _ := tuple.Metadata.Step()
	return th.put(parent, cp, loopMetadata(step+1), cp.ChannelVersions)
}

// startList puts a first checkpoint for grow to continue from.
func (th *thread) startList(version checkpoint.Version) checkpoint.Config {
	th.Helper()
	return th.put(th.root(), newCheckpoint(map[string]any{"list": []any{"root"}}, versions{"list": version}), loopMetadata(0), nil)
}

func (th *thread) holds(what string, config checkpoint.Config, items ...any) {
	th.Helper()
	th.equal(what, th.values(config), map[string]any{"list": items})
}

func textVersion() checkpoint.Version { return checkpoint.NextVersion(checkpoint.Version{}) }

// mixed is a checkpoint with values of every kind that a saver may keep differently, under text versions.
func mixed() *checkpoint.Checkpoint {
	cp := newCheckpoint(map[string]any{
		"list": []any{1, 1.0}, "text": "x", "nothing": nil, "bytes": []byte{0}, "map": map[string]any{"k": "\x00"}, "empty": []any{},
	}, versions{"unset": textVersion()})
	for channel := range cp.ChannelValues {
		cp.ChannelVersions[channel] = textVersion()
	}
	cp.VersionsSeen = map[string]versions{"node": {"list": cp.ChannelVersions["list"]}}
	cp.UpdatedChannels = []string{"list"}
	return cp
}

func forkHasTargetsState(th *thread) {
	for _, copyBlobs := range []bool{false, true} {
		th.each(fmt.Sprint("CopyBlobs ", copyBlobs), func(th *thread) {
			cp := mixed()
			target := th.put(th.root(), cp, loopMetadata(0), nil)
			th.putWrites(target, "task", "", write("list", []any{2}))
			before := th.get(target)
			th.grow(target, "later")
			got := th.get(th.fork(target, checkpoint.ForkOptions{CopyBlobs: copyBlobs}))
			th.equal("values", got.Checkpoint.ChannelValues, cp.ChannelValues)
			th.equal("format", got.Checkpoint.V, cp.V)
			th.equal("writes", got.PendingWrites, []checkpoint.Write{})
			th.equal("number of channels", len(got.Checkpoint.ChannelVersions), len(cp.ChannelVersions))
			th.equal("target afterwards", th.get(target), before)
		})
	}
}

func forkSaysWhereItCameFrom(th *thread) {
	parents := map[string]any{"": checkpoint.NewID(0)}
	target := th.putEmpty(th.root(), checkpoint.Metadata{"source": checkpoint.SourceLoop, "step": 4, "parents": parents})
	forked := th.fork(target, checkpoint.ForkOptions{})
	got := th.get(forked)
	th.equal("config", got.Config, forked)
	th.equal("id", got.Checkpoint.ID, forked.CheckpointID)
	th.equal("parent", got.Parent, &target)
	th.equal("metadata", got.Metadata, checkpoint.Metadata{"source": checkpoint.SourceFork, "step": 5, "parents": parents})
}

func forkKeepsMoreMetadata(th *thread) {
	target := th.putEmpty(th.root(), loopMetadata(4))
	forked := th.fork(target, checkpoint.ForkOptions{Metadata: checkpoint.Metadata{"run_id": "run", "score": 1.0, "why": "a\x00b"}})
	th.equal("metadata", th.get(forked).Metadata, checkpoint.Metadata{
		"source": checkpoint.SourceFork, "step": 5, "parents": map[string]any{}, "run_id": "run", "score": 1.0, "why": "ab",
	})
	th.lists(th.root(), filter("source", checkpoint.SourceFork, "run_id", "run"), forked)
}

func forkIsNewest(th *thread) {
	saved := th.chain(th.root(), 3)
	forked := th.fork(saved[0], checkpoint.ForkOptions{})
	th.equal("newest", th.get(th.root()).Config, forked)
	th.lists(th.root(), checkpoint.ListOptions{}, forked, saved[2], saved[1], saved[0])
}

// Ids come from the clocks of several machines. Whoever asks for the newest checkpoint after a fork has to get the fork.
func forkIsNewestAfterClockAhead(th *thread) {
	target := th.putEmpty(th.root(), loopMetadata(0))
	cp := newCheckpoint(nil, nil)
	cp.ID = anHourLater(cp.ID)
	th.put(target, cp, loopMetadata(1), versions{})
	forked := th.fork(target, checkpoint.ForkOptions{})
	th.equal("newest", th.get(th.root()).Config, forked)
}

// anHourLater moves an id by changing its first eight digits, which count steps of 2^28 times 100 ns.
func anHourLater(id string) string {
	const steps = 135
	high, err := strconv.ParseUint(id[:8], 16, 32)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("%08x%s", high+steps, id[8:])
}

func forkTakesGivenID(th *thread) {
	target := th.putState(th.root(), map[string]any{"list": []any{1}})
	id := checkpoint.NewID(7)
	th.equal("config", th.fork(target, checkpoint.ForkOptions{ID: id}), at(th.root(), id))
	th.equal("values", th.values(at(th.root(), id)), map[string]any{"list": []any{1}})
}

func forkStaysInNamespace(th *thread) {
	cp := firstCheckpoint(map[string]any{"list": []any{"child"}})
	child := th.put(th.in("child:1"), cp, loopMetadata(0), nil)
	root := th.putEmpty(th.root(), loopMetadata(0))
	forked := th.fork(child, checkpoint.ForkOptions{})
	th.equal("namespace", forked.Namespace, "child:1")
	th.lists(th.in("child:1"), checkpoint.ListOptions{}, forked, child)
	th.lists(th.root(), checkpoint.ListOptions{}, root)
}

func forkOfFork(th *thread) {
	target := th.startList(textVersion())
	th.grow(target, "old")
	first := th.fork(target, checkpoint.ForkOptions{})
	second := th.fork(first, checkpoint.ForkOptions{CopyBlobs: true})
	third := th.fork(th.grow(second, "new"), checkpoint.ForkOptions{})
	th.equal("parent of the second", th.get(second).Parent, &first)
	th.holds("second", second, "root")
	th.holds("third", third, "root", "new")
}

func forkSharesVersions(th *thread) {
	cp := mixed()
	target := th.put(th.root(), cp, loopMetadata(0), nil)
	got := th.get(th.fork(target, checkpoint.ForkOptions{})).Checkpoint
	th.equal("versions", got.ChannelVersions, cp.ChannelVersions)
	th.equal("versions seen", got.VersionsSeen, cp.VersionsSeen)

	left, right := th.grow(target, "left"), th.grow(at(target, got.ID), "right")
	th.holds("left", left, 1, 1.0, "left")
	th.holds("right", right, 1, 1.0, "right")
}

func forkWithCopiedBlobs(th *thread) {
	target := th.startList(textVersion())
	later := th.grow(th.grow(target, "old"), "older")
	forked := th.fork(target, checkpoint.ForkOptions{CopyBlobs: true})
	version := th.get(forked).Checkpoint.ChannelVersions["list"]
	if newest := th.get(later).Checkpoint.ChannelVersions["list"]; version.Compare(newest) <= 0 {
		th.Errorf("the copy's version %v is not above %v", version, newest)
	}
	th.equal("a version that is a number", version.IsNumber(), false)
	th.holds("branch", th.grow(forked, "new"), "root", "new")
	th.holds("old branch", th.grow(later, "oldest"), "root", "old", "older", "oldest")
	th.holds("target", target, "root")
}

// A node that had seen the target's version has seen the copy, and must not run again; one that had not, has not.
func forkMovesVersionsSeen(th *thread) {
	older := textVersion()
	current := checkpoint.NextVersion(older)
	cp := newCheckpoint(map[string]any{"list": []any{1}}, versions{"list": current})
	cp.VersionsSeen = map[string]versions{"ran": {"list": current}, "waits": {"list": older}, "idle": {}}
	target := th.put(th.root(), cp, loopMetadata(0), nil)
	got := th.get(th.fork(target, checkpoint.ForkOptions{CopyBlobs: true})).Checkpoint
	if got.ChannelVersions["list"] == current {
		th.Errorf("the copy has the target's version %v", current)
	}
	th.equal("versions seen", got.VersionsSeen,
		map[string]versions{"ran": {"list": got.ChannelVersions["list"]}, "waits": {"list": older}, "idle": {}})
}

// Clients that count versions up would meet, on the branch, the version that the old branch went on to, and lose one of
// the two values.
func forkOfIntegersKeepsOldBranch(th *thread) {
	target := th.startList(checkpoint.IntVersion(1))
	old := th.grow(target, "old")
	forked := th.fork(target, checkpoint.ForkOptions{})
	th.equal("a version that is a number", th.get(forked).Checkpoint.ChannelVersions["list"].IsNumber(), true)
	th.holds("fork", forked, "root")
	th.holds("next of the fork", th.grow(forked, "new"), "root", "new")
	th.holds("old branch", old, "root", "old")
	th.holds("target", target, "root")
}

func forkOfIntegersLetsBothGoOn(th *thread) {
	target := th.startList(checkpoint.IntVersion(1))
	branches := map[string]checkpoint.Config{
		"old":    th.grow(target, 0),
		"first":  th.grow(th.fork(target, checkpoint.ForkOptions{}), 0),
		"second": th.grow(th.fork(target, checkpoint.ForkOptions{}), 0),
	}
	items := map[string][]any{"old": {"root", 0}, "first": {"root", 0}, "second": {"root", 0}}
	for step := range 3 {
		for _, name := range []string{"second", "old", "first"} {
			item := fmt.Sprint(name, step)
			branches[name] = th.grow(branches[name], item)
			items[name] = append(items[name], item)
		}
	}
	for name, config := range branches {
		th.holds(name, config, items[name]...)
	}
}

func forkByConcurrentCallers(th *thread) {
	target := th.startList(textVersion())
	forks := th.forkAtOnce(target, func(i int) checkpoint.ForkOptions { return checkpoint.ForkOptions{CopyBlobs: i%2 == 0} })
	for _, forked := range forks {
		th.equal("parent", th.get(forked).Parent, &target)
		th.holds("fork", forked, "root")
	}
	th.equal("number of checkpoints", len(th.list(th.root(), checkpoint.ListOptions{})), 1+len(forks))
}

func forkIntegersByConcurrentCallers(th *thread) {
	target := th.startList(checkpoint.IntVersion(1))
	forks := th.forkAtOnce(target, func(int) checkpoint.ForkOptions { return checkpoint.ForkOptions{} })
	grown := make([]checkpoint.Config, len(forks))
	for i, forked := range forks {
		grown[i] = th.grow(forked, i)
	}
	for i := range forks {
		th.holds("fork", forks[i], "root")
		th.holds("next of the fork", grown[i], "root", i)
	}
}

// forkAtOnce forks one checkpoint by eight callers.
func (th *thread) forkAtOnce(target checkpoint.Config, options func(i int) checkpoint.ForkOptions) []checkpoint.Config {
	th.Helper()
	forks := make([]checkpoint.Config, 8)
	errs := make([]error, len(forks))
	var group sync.WaitGroup
	for i := range forks {
		group.Go(func() { forks[i], errs[i] = th.tryFork(target, options(i)) })
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		th.Fatalf("Fork by several callers at once: %v", err)
	}
	return forks
}

// A fork has the state of its target, of which the target's own writes are no part.
func forkKeepsDeltaHistory(th *thread) {
	for _, copyBlobs := range []bool{false, true} {
		th.each(fmt.Sprint("CopyBlobs ", copyBlobs), func(th *thread) {
			saved := th.steps(th.root(), snapshot(0, 1), delta(2), delta("what the fork undoes"), delta(4))
			forked := th.fork(saved[2], checkpoint.ForkOptions{CopyBlobs: copyBlobs})
			th.rebuilds(forked, 1, 2)
			th.putWrites(forked, "task", "", write(messages, "instead"))
			th.rebuilds(th.step(forked, deltaState{messages: delta(nil)}), 1, 2, "instead")
			th.rebuilds(saved[3], 1, 2, "what the fork undoes")
		})
	}
}

// rebuilds checks the history, as the ancestors tell it, of a messages channel whose seed is a snapshot of 0.
func (th *thread) rebuilds(config checkpoint.Config, items ...any) {
	th.Helper()
	history := th.walked(config, messages)[messages]
	th.equal("seed", history.Seed, snapshot(0, nil).value)
	th.equal("values written", valuesOf(history.Writes), items)
}

func forkOfMissing(th *thread) {
	other := th.another()
	saved := th.putEmpty(th.root(), loopMetadata(0))
	other.putEmpty(other.root(), loopMetadata(0))
	for name, config := range map[string]checkpoint.Config{
		"a checkpoint that does not exist": at(th.root(), checkpoint.NewID(0)),
		"another namespace":                at(th.in("child:1"), saved.CheckpointID),
		"another thread":                   at(other.root(), saved.CheckpointID),
		"a thread that does not exist":     at(th.another().root(), saved.CheckpointID),
	} {
		_, err := th.tryFork(config, checkpoint.ForkOptions{})
		th.fails("Fork of "+name, err, checkpoint.ErrNotFound)
	}
	th.lists(th.root(), checkpoint.ListOptions{AllNamespaces: true}, saved)
}

func forkRefuses(th *thread) {
	saved := th.chain(th.root(), 2)
	for name, c := range map[string]struct {
		config  checkpoint.Config
		options checkpoint.ForkOptions
	}{
		"no thread":                         {at(checkpoint.Config{}, saved[0].CheckpointID), checkpoint.ForkOptions{}},
		"no checkpoint id":                  {th.root(), checkpoint.ForkOptions{}},
		"an id that exists":                 {saved[0], checkpoint.ForkOptions{ID: saved[1].CheckpointID}},
		"an id below the newest":            {saved[0], checkpoint.ForkOptions{ID: saved[0].CheckpointID + "0"}},
		"metadata that cannot be stored":    {saved[0], checkpoint.ForkOptions{Metadata: checkpoint.Metadata{"k": unserializable()}}},
		"an id below the newest and copies": {saved[0], checkpoint.ForkOptions{ID: "0", CopyBlobs: true}},
	} {
		_, err := th.tryFork(c.config, c.options)
		th.fails("Fork with "+name, err, checkpoint.ErrInvalidArgument)
	}
	th.lists(th.root(), checkpoint.ListOptions{AllNamespaces: true}, saved[1], saved[0])
}

func forkRefusesCancelledContext(th *thread) {
	saved := th.putEmpty(th.root(), loopMetadata(0))
	_, err := th.saver.(checkpoint.Forker).Fork(th.cancelled(), saved, checkpoint.ForkOptions{})
	th.fails("Fork with a cancelled context", err, context.Canceled)
	th.lists(th.root(), checkpoint.ListOptions{}, saved)
}
