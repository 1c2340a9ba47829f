package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
)

// Durability says when what a [Writer] is given is saved. The names are LangGraph's.
type Durability string

// The modes of a Writer, from the most to the least durable.
const (
	// DurabilitySync saves before a call returns.
	DurabilitySync Durability = "sync"
	// DurabilityAsync saves in the background, in the order of the calls. What is still in the queue is lost when the
	// process dies.
	DurabilityAsync Durability = "async"
	// DurabilityExit saves only where the run stands when [Writer.Flush] or [Writer.Close] is called: the last checkpoint
	// of each namespace and its pending writes. When the process dies, all of the run is lost.
	DurabilityExit Durability = "exit"
)

// ErrWriterClosed says that a Writer was used after Close.
var ErrWriterClosed = errors.New("the writer is closed")

// WriterConfig configures a [Writer]. Nil means the defaults.
type WriterConfig struct {
	// QueueSize is how many calls DurabilityAsync takes on before the first of them is saved; the next one blocks until that
	// is done or its context ends. 0 or less means 64.
	QueueSize int
}

const defaultQueueSize = 64

// Writer saves the checkpoints and writes of a run with a [Durability]. It is safe for concurrent use; calls that are to
// keep an order have to be made one after the other.
//
// Except with DurabilitySync, what is given to a Writer cannot be read from the saver until it is flushed. The Writer keeps
// copies: the caller may change values, maps and slices as soon as a call returns. What a type keeps in fields that are not
// exported is not copied, and messages are not, which nothing changes.
//
// Every Writer has to be closed. With DurabilityAsync, Close ends its goroutine.
type Writer struct {
	mode   writerMode
	closed atomic.Bool
}

// writerMode is what a Writer does in one Durability.
type writerMode interface {
	put(ctx context.Context, config Config, cp *Checkpoint, metadata Metadata, newVersions map[string]Version) (Config, error)
	putWrites(ctx context.Context, config Config, writes []Write, taskID, taskPath string) error
	flush(ctx context.Context) error
	close(ctx context.Context) error
}

// NewWriter makes a Writer on a saver. A durability that does not exist gives an error from every call.
func NewWriter(saver Saver, durability Durability, config *WriterConfig) *Writer {
	switch durability {
	case DurabilitySync:
		return &Writer{mode: syncMode{saver}}
	case DurabilityAsync:
		size := defaultQueueSize
		if config != nil && config.QueueSize > 0 {
			size = config.QueueSize
		}
		return &Writer{mode: newAsyncMode(saver, size)}
	case DurabilityExit:
		return &Writer{mode: newExitMode(saver)}
	}
	return &Writer{mode: noMode{fmt.Errorf("%w: durability %q is none of %q, %q and %q", ErrInvalidArgument, durability,
		DurabilitySync, DurabilityAsync, DurabilityExit)}}
}

// Put saves a checkpoint as [Saver.Put] does, or will save it. With DurabilityAsync an error of the saver comes with a later
// call. With DurabilityExit a checkpoint takes the place of the one it continues from, see [Writer.Flush].
func (w *Writer) Put(ctx context.Context, config Config, cp *Checkpoint, metadata Metadata,
	newVersions map[string]Version,
) (Config, error) {
	if err := w.check(ctx, config); err != nil {
		return Config{}, err
	}
	if cp == nil || cp.ID == "" || cp.ID == config.CheckpointID {
		return Config{}, fmt.Errorf("%w: a checkpoint needs an ID that is not its parent's", ErrInvalidArgument)
	}
	return w.mode.put(ctx, config, cp, metadata, newVersions)
}

// PutWrites saves what a task wrote as [Saver.PutWrites] does, or will save it.
func (w *Writer) PutWrites(ctx context.Context, config Config, writes []Write, taskID, taskPath string) error {
	if err := w.check(ctx, config); err != nil {
		return err
	}
	if config.CheckpointID == "" {
		return fmt.Errorf("%w: writes need the checkpoint their task started from", ErrInvalidArgument)
	}
	return w.mode.putWrites(ctx, config, writes, taskID, taskPath)
}

// Flush returns when everything given to the Writer before is saved, or with the first error.
//
// With DurabilityAsync that error is final: nothing is saved after it, so that no checkpoint is without what came before it,
// and every later call returns it. If ctx ends, saving goes on, and Flush can be called again.
//
// With DurabilityExit the last checkpoint of each namespace is saved now, with the values of all channels that changed since
// the one that was saved before, which is its parent; the checkpoints between them are not. What tasks wrote to delta
// channels on the way is saved with the parent, or where there is none, or it would not do, with an otherwise empty
// checkpoint (step -2, as LangGraph's) between the two. After an error what was not saved is kept, and Flush can be called
// again.
func (w *Writer) Flush(ctx context.Context) error {
	if w.closed.Load() {
		return ErrWriterClosed
	}
	return w.mode.flush(ctx)
}

// Close does what Flush does and ends the Writer: other calls then return ErrWriterClosed. Closing twice is no error.
//
// With DurabilityAsync, if ctx ends first, what is being saved is cancelled, what was not saved is lost, and Close returns
// without waiting for the saver. With DurabilityExit what could not be saved is kept, and Close can be called again.
func (w *Writer) Close(ctx context.Context) error {
	w.closed.Store(true)
	return w.mode.close(ctx)
}

func (w *Writer) check(ctx context.Context, config Config) error {
	switch {
	case w.closed.Load():
		return ErrWriterClosed
	case ctx.Err() != nil:
		return ctx.Err()
	case config.ThreadID == "":
		return fmt.Errorf("%w: the thread has no ID", ErrInvalidArgument)
	}
	return nil
}

// syncMode passes everything on.
type syncMode struct{ saver Saver }

func (m syncMode) put(ctx context.Context, config Config, cp *Checkpoint, metadata Metadata,
	newVersions map[string]Version,
) (Config, error) {
	return m.saver.Put(ctx, config, cp, metadata, newVersions)
}

func (m syncMode) putWrites(ctx context.Context, config Config, writes []Write, taskID, taskPath string) error {
	return m.saver.PutWrites(ctx, config, writes, taskID, taskPath)
}

func (m syncMode) flush(ctx context.Context) error { return ctx.Err() }

func (m syncMode) close(context.Context) error { return nil }

// noMode refuses everything.
type noMode struct{ err error }

func (m noMode) put(context.Context, Config, *Checkpoint, Metadata, map[string]Version) (Config, error) {
	return Config{}, m.err
}
func (m noMode) putWrites(context.Context, Config, []Write, string, string) error { return m.err }
func (m noMode) flush(context.Context) error                                      { return m.err }
func (m noMode) close(context.Context) error                                      { return m.err }
