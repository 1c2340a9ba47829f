package checkpoint

import "context"

// Removed counts what a removal took, or would take, from one thread.
type Removed struct {
	ThreadID    string
	Checkpoints int64
	Blobs       int64
	Writes      int64
	// Bytes is the size of the removed values as they were stored, compressed.
	Bytes int64
	// Kept counts checkpoints that were to go and stayed, because they are pinned or because others need them.
	Kept int64
}

// RunDeleter is a Saver that can remove what runs saved.
type RunDeleter interface {
	// DeleteForRuns removes the checkpoints that the runs made (metadata run_id), in every thread and namespace, with
	// their writes. What others need to read back as before stays. Runs that do not exist are no error.
	DeleteForRuns(ctx context.Context, runIDs []string) ([]Removed, error)
}

// ThreadCopier is a Saver that can copy a thread.
type ThreadCopier interface {
	// CopyThread copies every checkpoint, value and write of a thread to another, which has to be empty
	// (ErrInvalidArgument). A source that does not exist copies nothing.
	CopyThread(ctx context.Context, sourceThreadID, targetThreadID string) error
}

// PruneStrategy says what pruning keeps.
type PruneStrategy string

// The strategies of [Pruner.Prune].
const (
	// KeepLatest keeps the newest checkpoints of each namespace.
	KeepLatest PruneStrategy = "keep_latest"
	// PruneAll keeps nothing but what is pinned.
	PruneAll PruneStrategy = "delete"
)

// PruneOptions say what to prune. The zero value keeps the newest checkpoint of each namespace.
type PruneOptions struct {
	// DryRun removes nothing and counts the same.
	DryRun bool
	// Keep is how many of the newest checkpoints of each namespace stay; 0 means 1.
	Keep int
	// KeepHeads keeps every checkpoint from which no other continues, so that each branch can be resumed.
	KeepHeads bool
	// Strategy is KeepLatest when empty.
	Strategy PruneStrategy
}

// Pruner is a Saver that can prune threads without harming what stays.
type Pruner interface {
	// Prune prunes threads and says for each what went. Whatever stays reads back as before: its values, pending
	// writes, delta channels; its parent, if that went, is null. Threads that do not exist are no error.
	Prune(ctx context.Context, threadIDs []string, options PruneOptions) ([]Removed, error)
}

// DeltaHistory is what rebuilds a delta channel at a checkpoint.
type DeltaHistory struct {
	// Seed is the value that the nearest ancestor stores; HasSeed is false when none does, and the channel starts empty.
	Seed    any
	HasSeed bool
	// Writes came after the seed, oldest first.
	Writes []Write
}

// DeltaHistorian is a Saver that can rebuild delta channels in one call.
type DeltaHistorian interface {
	// DeltaHistory reads, for each channel, the stored value of the nearest ancestor of the checkpoint that config names
	// (or the newest) and the writes since, along its parents. The checkpoint's own writes are not part of its state.
	// ErrNotFound when the checkpoint does not exist.
	DeltaHistory(ctx context.Context, config Config, channels []string) (map[string]DeltaHistory, error)
}
