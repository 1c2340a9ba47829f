package checkpoint

import (
	"context"
	"iter"
)

// Saver keeps the checkpoints of threads. It is safe for concurrent use.
type Saver interface {
	// Get reads one checkpoint with its values and pending writes: the one that config names, or the newest of its
	// namespace when it names none. ErrNotFound when there is none.
	Get(ctx context.Context, config Config) (*Tuple, error)

	// List reads checkpoints, newest first, as the caller asks for them; breaking off ends the query. An empty thread ID
	// lists all threads, and a checkpoint ID only that checkpoint. An error ends the sequence.
	List(ctx context.Context, config Config, options ListOptions) iter.Seq2[*Tuple, error]

	// Put saves a checkpoint; config names its thread, namespace and parent. newVersions are the channels whose values
	// changed with this checkpoint, with the versions that checkpoint.ChannelVersions has for them; only those values are
	// saved, the others are found again by version. Nil means that all are new. It returns the saved checkpoint's config.
	// Putting a checkpoint again replaces it; ErrVersionCollision when a version has another value already.
	Put(ctx context.Context, config Config, checkpoint *Checkpoint, metadata Metadata,
		newVersions map[string]Version) (Config, error)

	// PutWrites saves what one task wrote, in its order; config names the checkpoint it started from, which need not have
	// been saved yet. The writes' own TaskID, TaskPath and Index are ignored. If all are to reserved channels they replace
	// what is saved; otherwise what is saved stays, so that a task that runs again changes nothing.
	PutWrites(ctx context.Context, config Config, writes []Write, taskID, taskPath string) error

	// DeleteThread removes a thread, in every namespace. A thread that does not exist is no error.
	DeleteThread(ctx context.Context, threadID string) error
}

// ListOptions narrow what [Saver.List] reads. The zero value lists everything of the config's thread and namespace.
type ListOptions struct {
	// AllNamespaces lists every namespace, whatever the config says.
	AllNamespaces bool
	// Before keeps checkpoints whose ID sorts below this one.
	Before string
	// Filter keeps checkpoints whose metadata contains these keys with these values.
	Filter Metadata
	// Limit is how many checkpoints to read at most; 0 is no limit.
	Limit int
	// WithoutState leaves out stored values and pending writes, for lists that only show what there is.
	WithoutState bool
}

// Forker is a Saver that can roll back by branching.
type Forker interface {
	// Fork makes a new checkpoint with the state of the one that config names, from which the conversation goes on, and
	// returns its config. Nothing is removed. ErrNotFound when it does not exist.
	Fork(ctx context.Context, config Config, options ForkOptions) (Config, error)
}

// ForkOptions say how to branch. The zero value shares the values with the target.
type ForkOptions struct {
	// CopyBlobs gives the branch values of its own, under versions above all others. Where versions are integers this
	// happens anyway.
	CopyBlobs bool
	// ID is the new checkpoint's; empty makes one. It has to sort above every other of the namespace.
	ID string
	// Metadata is added to source "fork", the next step and the target's parents.
	Metadata Metadata
}

// StepPutter is a Saver that can save a checkpoint and the writes of its tasks at once.
type StepPutter interface {
	// PutStep saves a checkpoint as [Saver.Put] does and, with it, writes that belong to it, atomically. Each write names
	// its task; the writes of one task keep their order.
	PutStep(ctx context.Context, config Config, checkpoint *Checkpoint, metadata Metadata,
		newVersions map[string]Version, writes []Write) (Config, error)
}
