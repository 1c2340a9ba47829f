package checkpointtest

import (
	"github.com/pgweft/pgweft/checkpoint"
)

// readings are what a thread's checkpoints, in every namespace, read back as. What is removed elsewhere must not change any.
type readings map[checkpoint.Config]reading

type reading struct {
	// content is everything but the parent, and what rebuilds the delta channels that the checkpoint has no value of.
	content map[string]any
	parent  *checkpoint.Config
}

func (th *thread) readings() readings {
	th.Helper()
	read := readings{}
	for _, tuple := range th.list(th.root(), checkpoint.ListOptions{AllNamespaces: true}) {
		read[tuple.Config] = th.readingOf(tuple)
	}
	return read
}

func (th *thread) readingOf(tuple *checkpoint.Tuple) reading {
	th.Helper()
	var missing []string
	for _, channel := range []string{messages, files} {
		if _, ok := tuple.Checkpoint.ChannelValues[channel]; !ok {
			missing = append(missing, channel)
		}
	}
	content := *tuple
	content.Parent = nil
	return reading{
		content: map[string]any{"tuple": &content, "history": th.walked(tuple.Config, missing...)},
		parent:  tuple.Parent,
	}
}

// unharmed checks that these checkpoints of the thread are left, and read back as before, with a null parent where that went.
func (th *thread) unharmed(before readings, left ...checkpoint.Config) {
	th.Helper()
	after := th.readings()
	th.equal("checkpoints that are left", configsOf(after), setOf(left))
	for config, is := range after {
		was, ok := before[config]
		if !ok {
			th.Errorf("%+v was not there before", config)
			continue
		}
		th.equal("checkpoint "+config.CheckpointID, is.content, was.content)
		parent := was.parent
		if parent != nil {
			if _, isLeft := after[*parent]; !isLeft {
				parent = nil
			}
		}
		th.equal("parent of "+config.CheckpointID, is.parent, parent)
	}
}

func configsOf(read readings) map[string]bool {
	names := map[string]bool{}
	for config := range read {
		names[config.Namespace+" "+config.CheckpointID] = true
	}
	return names
}

func setOf(configs []checkpoint.Config) map[string]bool {
	names := map[string]bool{}
	for _, config := range configs {
		names[config.Namespace+" "+config.CheckpointID] = true
	}
	return names
}

// removedFrom is what was reported about a thread, without the bytes: a thread from which nothing went may be left out.
func (th *thread) removedFrom(removed []checkpoint.Removed) checkpoint.Removed {
	th.Helper()
	report := checkpoint.Removed{ThreadID: th.id}
	reports := 0
	for _, r := range removed {
		if r.ThreadID == th.id {
			report = r
			reports++
		}
	}
	if reports > 1 {
		th.Errorf("%d reports about thread %q, want at most one", reports, th.id)
	}
	if report.Bytes < 0 || (report.Bytes == 0) != (report.Checkpoints+report.Blobs+report.Writes == 0) {
		th.Errorf("%d bytes are reported with %+v", report.Bytes, report)
	}
	report.Bytes = 0
	return report
}

// reports checks what was reported about the thread.
func (th *thread) reports(removed []checkpoint.Removed, checkpoints, blobs, writes, kept int64) {
	th.Helper()
	th.equal("report", th.removedFrom(removed), checkpoint.Removed{
		ThreadID: th.id, Checkpoints: checkpoints, Blobs: blobs, Writes: writes, Kept: kept,
	})
}

// putList puts a checkpoint whose only channel, a list, is new under a version, or is the one put under it before.
func (th *thread) putList(parent checkpoint.Config, metadata checkpoint.Metadata, version int64, isNew bool) checkpoint.Config {
	th.Helper()
	v := checkpoint.IntVersion(version)
	cp := newCheckpoint(map[string]any{"list": []any{version}}, versions{"list": v})
	if isNew {
		return th.put(parent, cp, metadata, versions{"list": v})
	}
	return th.put(parent, cp, metadata, versions{})
}

// takes checks that nothing is stored under the list's version 1 any more.
func (th *thread) takes(namespace string, value any) {
	th.Helper()
	saved := th.put(th.in(namespace), firstCheckpoint(map[string]any{"list": value}), loopMetadata(0), nil)
	th.equal("value", th.values(saved), map[string]any{"list": value})
}
