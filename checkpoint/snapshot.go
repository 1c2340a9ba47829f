package checkpoint

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/pgweft/pgweft/serde"
)

// Snapshot is the state of a thread at a checkpoint, and what comes next: LangGraph's StateSnapshot.
type Snapshot struct {
	// Values are the channels of the state; those that only steer the graph are left out. A graph whose state has no keys
	// has its value under "__root__".
	Values map[string]any
	// Next are the nodes to run; empty means that the graph is done. A node to which several packets were sent is named for
	// each.
	Next []string
	// Tasks are the tasks of the superstep after the checkpoint, those that are done included.
	Tasks []Task
	// Interrupts are those of all Tasks.
	Interrupts []serde.Interrupt
	Metadata   Metadata
	// CreatedAt is when the runtime made the checkpoint.
	CreatedAt time.Time
	Config    Config
	// Parent is the checkpoint this one continued from; nil for the first of a thread.
	Parent *Config
}

// GetState reads the state of a thread: at the checkpoint that config names, or as it is now. ErrNotFound when there is
// none.
//
// At a named checkpoint the snapshot is a record: the state as its superstep began, all tasks of the superstep and all they
// asked. Without one it says how things stand: Next has only the tasks that are not done, Interrupts only what waits for an
// answer, and with [WithReducers] Values include what tasks that are done have written.
//
// Much about a graph is not in what it saves. Without options, Values leave out delta channels that have no snapshot at the
// checkpoint and channels nothing was written to yet; nodes are those that the checkpoint's channels name, in alphabetical
// order; and a task's ID is not that of the runtime where the node joins several others and none of them has arrived yet,
// unless the task has already written something.
func GetState(ctx context.Context, saver Saver, config Config, options ...StateOption) (*Snapshot, error) {
	tuple, err := saver.Get(ctx, config)
	if err != nil {
		return nil, err
	}
	return newStateReader(saver, options).snapshot(ctx, tuple, config.CheckpointID == "")
}

// historyPage is how many checkpoints StateHistory reads at a time.
const historyPage = 64

// StateHistory reads the states that a thread has had, newest first; config names the thread and its namespace. Each is a
// record, as [GetState] gives it for a named checkpoint. An error ends the sequence.
//
// Checkpoints are read in pages, each in a query of its own that is over when the caller gets them: the caller may use the
// saver in the loop, also one that is bound to a transaction. With AllNamespaces there is only one page.
func StateHistory(ctx context.Context, saver Saver, config Config, list ListOptions,
	options ...StateOption,
) iter.Seq2[*Snapshot, error] {
	return func(yield func(*Snapshot, error) bool) {
		if err := checkHistory(config, list); err != nil {
			yield(nil, err)
			return
		}
		reader := newStateReader(saver, options)
		for tuple, err := range pages(ctx, saver, config, list) {
			var snapshot *Snapshot
			if err == nil {
				snapshot, err = reader.snapshot(ctx, tuple, false)
			}
			if !yield(snapshot, err) || err != nil {
				return
			}
		}
	}
}

func checkHistory(config Config, list ListOptions) error {
	switch {
	case config.ThreadID == "":
		return fmt.Errorf("%w: a state history is that of one thread; name it", ErrInvalidArgument)
	case list.WithoutState:
		return fmt.Errorf("%w: there is no state history without state; use Saver.List", ErrInvalidArgument)
	case list.Limit < 0:
		return fmt.Errorf("%w: limit %d is negative", ErrInvalidArgument, list.Limit)
	}
	return nil
}

func pages(ctx context.Context, saver Saver, config Config, list ListOptions) iter.Seq2[*Tuple, error] {
	return func(yield func(*Tuple, error) bool) {
		left := list.Limit
		for {
			size := historyPage
			if list.AllNamespaces {
				// IDs of two namespaces may be equal, and one of them would be lost between pages.
				size = 0
			}
			if left > 0 && (size == 0 || left < size) {
				size = left
			}
			list.Limit = size
			var page []*Tuple
			for tuple, err := range saver.List(ctx, config, list) {
				if err != nil {
					yield(nil, err)
					return
				}
				page = append(page, tuple)
			}
			for _, tuple := range page {
				if !yield(tuple, nil) {
					return
				}
			}
			if size == 0 || len(page) < size || left > 0 && left == size {
				return
			}
			if left > 0 {
				left -= size
			}
			list.Before = page[len(page)-1].Config.CheckpointID
		}
	}
}

func (r *stateReader) snapshot(ctx context.Context, tuple *Tuple, live bool) (*Snapshot, error) {
	tasks := tasksAfter(tuple, r.nodes)
	statuses := statusesOf(tuple.PendingWrites)
	values, err := r.values(ctx, tuple)
	if err != nil {
		return nil, err
	}
	values, err = r.withPendingWrites(values, tuple, tasks, statuses, live)
	if err != nil {
		return nil, fmt.Errorf("the state at checkpoint %s: %w", tuple.Config.CheckpointID, err)
	}
	snapshot := &Snapshot{
		Values: values, Metadata: tuple.Metadata, CreatedAt: createdAt(tuple), Config: tuple.Config, Parent: tuple.Parent,
	}
	root := hasRoot(tuple)
	for _, task := range tasks {
		s := statuses[task.ID]
		task.report(s, live, root)
		if !live || s == nil || !s.finished() {
			snapshot.Next = append(snapshot.Next, task.Name)
		}
		snapshot.Tasks = append(snapshot.Tasks, task.Task)
		snapshot.Interrupts = append(snapshot.Interrupts, task.Interrupts...)
	}
	return snapshot, nil
}

// createdAt is the time in the checkpoint, or that of the database where it has none that can be read.
func createdAt(tuple *Tuple) time.Time {
	if at, err := time.Parse(time.RFC3339Nano, tuple.Checkpoint.TS); err == nil {
		return at
	}
	return tuple.CreatedAt
}
