package checkpointtest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pgweft/pgweft/checkpoint"
)

// thread is the saver under test, and a thread that no other test uses. Its methods fail the test where the saver does
// not do what every test relies on.
type thread struct {
	*testing.T
	saver checkpoint.Saver
	id    string
}

func newThread(t *testing.T, saver checkpoint.Saver) *thread {
	t.Helper()
	return &thread{T: t, saver: saver, id: "thread-" + checkpoint.NewID(0)}
}

// another is a second thread of the same test.
func (th *thread) another() *thread { return newThread(th.T, th.saver) }

// named is a thread of the same test, by its id.
func (th *thread) named(id string) *thread { return &thread{T: th.T, saver: th.saver, id: id} }

// each runs a subtest on a thread of its own.
func (th *thread) each(name string, run func(*thread)) {
	th.Run(name, func(t *testing.T) { run(newThread(t, th.saver)) })
}

func (th *thread) root() checkpoint.Config { return th.in("") }

func (th *thread) in(namespace string) checkpoint.Config {
	return checkpoint.Config{ThreadID: th.id, Namespace: namespace}
}

func at(config checkpoint.Config, checkpointID string) checkpoint.Config {
	config.CheckpointID = checkpointID
	return config
}

func (th *thread) put(config checkpoint.Config, cp *checkpoint.Checkpoint, metadata checkpoint.Metadata,
	newVersions map[string]checkpoint.Version,
) checkpoint.Config {
	th.Helper()
	saved, err := th.saver.Put(th.Context(), config, cp, metadata, newVersions)
	if err != nil {
		th.Fatalf("Put %q of thread %q: %v", cp.ID, config.ThreadID, err)
	}
	return saved
}

// putEmpty puts a checkpoint without channels.
func (th *thread) putEmpty(config checkpoint.Config, metadata checkpoint.Metadata) checkpoint.Config {
	th.Helper()
	return th.put(config, newCheckpoint(nil, nil), metadata, versions{})
}

// putState puts a checkpoint whose values are all new, under the version "1" each.
func (th *thread) putState(config checkpoint.Config, values map[string]any) checkpoint.Config {
	th.Helper()
	cp := firstCheckpoint(values)
	return th.put(config, cp, loopMetadata(0), cp.ChannelVersions)
}

// chain puts n empty checkpoints, each continuing from the one before; the metadata's step counts them from 0.
func (th *thread) chain(config checkpoint.Config, n int, metadata ...checkpoint.Metadata) []checkpoint.Config {
	th.Helper()
	var saved []checkpoint.Config
	for step := range n {
		md := loopMetadata(step)
		if step < len(metadata) {
			md = metadata[step]
		}
		config = th.putEmpty(config, md)
		saved = append(saved, config)
	}
	return saved
}

func (th *thread) putWrites(config checkpoint.Config, taskID, taskPath string, writes ...checkpoint.Write) {
	th.Helper()
	if err := th.saver.PutWrites(th.Context(), config, writes, taskID, taskPath); err != nil {
		th.Fatalf("PutWrites of task %q: %v", taskID, err)
	}
}

func write(channel string, value any) checkpoint.Write {
	return checkpoint.Write{Channel: channel, Value: value}
}

func (th *thread) get(config checkpoint.Config) *checkpoint.Tuple {
	th.Helper()
	tuple, err := th.saver.Get(th.Context(), config)
	if err != nil {
		th.Fatalf("Get %+v: %v", config, err)
	}
	if tuple == nil || tuple.Checkpoint == nil {
		th.Fatalf("Get %+v returned neither a checkpoint nor an error", config)
	}
	return tuple
}

func (th *thread) values(config checkpoint.Config) map[string]any {
	th.Helper()
	return th.get(config).Checkpoint.ChannelValues
}

func (th *thread) writes(config checkpoint.Config) []checkpoint.Write {
	th.Helper()
	return th.get(config).PendingWrites
}

// absent checks that there is no such checkpoint.
func (th *thread) absent(config checkpoint.Config) {
	th.Helper()
	tuple, err := th.saver.Get(th.Context(), config)
	if tuple != nil {
		th.Errorf("Get %+v: there should be no checkpoint, got %q", config, tuple.Config.CheckpointID)
	}
	th.fails("Get of a missing checkpoint", err, checkpoint.ErrNotFound)
}

func (th *thread) list(config checkpoint.Config, options checkpoint.ListOptions) []*checkpoint.Tuple {
	th.Helper()
	tuples, err := collect(th.Context(), th.saver, config, options)
	if err != nil {
		th.Fatalf("List %+v, %+v: %v", config, options, err)
	}
	return tuples
}

// collect reads a list to its end. Nothing else is asked of the saver meanwhile: a list may occupy a connection.
func collect(ctx context.Context, saver checkpoint.Saver, config checkpoint.Config,
	options checkpoint.ListOptions,
) ([]*checkpoint.Tuple, error) {
	var tuples []*checkpoint.Tuple
	var failure error
	for tuple, err := range saver.List(ctx, config, options) {
		switch {
		case failure != nil:
			return nil, errors.New("the list goes on after its error: " + failure.Error())
		case err != nil:
			failure = err
		case tuple == nil || tuple.Checkpoint == nil:
			return nil, errors.New("the list has an element that is neither a checkpoint nor an error")
		default:
			tuples = append(tuples, tuple)
		}
	}
	return tuples, failure
}

// lists checks which checkpoints a list has, in order.
func (th *thread) lists(config checkpoint.Config, options checkpoint.ListOptions, want ...checkpoint.Config) {
	th.Helper()
	got := []checkpoint.Config{}
	for _, tuple := range th.list(config, options) {
		got = append(got, tuple.Config)
	}
	th.equal(fmt.Sprintf("List %+v, %+v", config, options), got, append([]checkpoint.Config{}, want...))
}

// only is the one checkpoint that a list has.
func (th *thread) only(config checkpoint.Config, options checkpoint.ListOptions) *checkpoint.Tuple {
	th.Helper()
	tuples := th.list(config, options)
	if len(tuples) != 1 {
		th.Fatalf("List %+v, %+v has %d checkpoints, want 1", config, options, len(tuples))
	}
	return tuples[0]
}

// equal compares what is, by the values' meaning, the same in every saver: see plain.
func (th *thread) equal(what string, got, want any) {
	th.Helper()
	if diff := cmp.Diff(plain(want), plain(got), comparers); diff != "" {
		th.Errorf("%s (-want +got):\n%s", what, shortened(diff))
	}
}

// fails checks that an operation failed, and as documented.
func (th *thread) fails(what string, err, want error) {
	th.Helper()
	switch {
	case err == nil:
		th.Errorf("%s: want an error that is %q, got none", what, want)
	case !errors.Is(err, want):
		th.Errorf("%s: want an error that is %q, got: %v", what, want, err)
	}
}

// cancelled is a context that is done already.
func (th *thread) cancelled() context.Context {
	ctx, cancel := context.WithCancel(th.Context())
	cancel()
	return ctx
}

// shortened keeps the difference of two large values from flooding the log.
func shortened(text string) string {
	const most = 4000
	if len(text) <= most {
		return text
	}
	return text[:most] + "\n... (cut)"
}

type versions = map[string]checkpoint.Version

const timestamp = "2026-04-07T10:00:00.123456+00:00"

func newCheckpoint(values map[string]any, channelVersions versions) *checkpoint.Checkpoint {
	return &checkpoint.Checkpoint{
		V:               checkpoint.FormatVersion,
		ID:              checkpoint.NewID(0),
		TS:              timestamp,
		ChannelValues:   values,
		ChannelVersions: channelVersions,
	}
}

// firstCheckpoint gives every value the integer version 1.
func firstCheckpoint(values map[string]any) *checkpoint.Checkpoint {
	cp := newCheckpoint(values, versions{})
	for channel := range values {
		cp.ChannelVersions[channel] = checkpoint.IntVersion(1)
	}
	return cp
}

func loopMetadata(step int) checkpoint.Metadata {
	return checkpoint.Metadata{"source": checkpoint.SourceLoop, "step": step, "parents": map[string]any{}}
}

// reversed is the order in which a list has what was put in this order.
func reversed(configs []checkpoint.Config) []checkpoint.Config {
	var backwards []checkpoint.Config
	for i := len(configs) - 1; i >= 0; i-- {
		backwards = append(backwards, configs[i])
	}
	return backwards
}
