package checkpoint

import (
	"context"
	"slices"

	"github.com/pgweft/pgweft/serde"
)

// Resume says how to go on from a checkpoint: what of its superstep is done and what is left to do.
type Resume struct {
	// Config is the checkpoint to go on from.
	Config Config
	// Replay says that the thread has moved past the checkpoint. Nothing then counts as done: what comes after the
	// checkpoint happens again, on a branch. Begin it with [Fork], so that what is saved does not mix with the branch that
	// the thread is on.
	Replay bool
	// Done are the tasks that need not run again, with their results.
	Done []Task
	// Remaining are the tasks to run: those that have not run, failed, or wait for an answer.
	Remaining []Task
	// Interrupts are what Remaining waits for.
	Interrupts []serde.Interrupt
	// Answers are the answers that remaining tasks have had to what they asked, by task ID, in the order in which they
	// asked: when a task runs again, it gets these before it asks anew.
	Answers map[string][]any
	// Answer is one that is for whichever task asks first, if HasAnswer.
	Answer    any
	HasAnswer bool
	// Writes are what was written so far and applies to the state at the end of the superstep, in order: what the run wrote
	// itself, and then what the tasks that are done have written.
	Writes []Write
}

// ResumePoint says how to go on from the checkpoint that config names, or from the newest: which tasks of its superstep have
// saved their writes and need not run again, as when one of several failed or asked for something. ErrNotFound when there
// is no such checkpoint. Of the options only [WithNodes] matters.
//
// At a checkpoint that the thread has moved past nothing counts as done, see [Resume]. At the newest one, saved writes
// count also when config names it.
func ResumePoint(ctx context.Context, saver Saver, config Config, options ...StateOption) (*Resume, error) {
	tuple, err := saver.Get(ctx, config)
	if err != nil {
		return nil, err
	}
	resume := &Resume{Config: tuple.Config}
	if config.CheckpointID != "" {
		newest, err := newestID(ctx, saver, config)
		if err != nil {
			return nil, err
		}
		resume.Replay = newest != tuple.Config.CheckpointID
	}
	tasks := tasksAfter(tuple, newStateReader(saver, options).nodes)
	if resume.Replay {
		for _, task := range tasks {
			resume.Remaining = append(resume.Remaining, task.Task)
		}
		return resume, nil
	}
	resume.read(tuple, tasks)
	return resume, nil
}

func (r *Resume) read(tuple *Tuple, tasks []scheduled) {
	statuses := statusesOf(tuple.PendingWrites)
	root := hasRoot(tuple)
	remaining := map[string]bool{}
	for _, task := range tasks {
		s := statuses[task.ID]
		task.report(s, true, root)
		if s != nil && s.finished() {
			r.Done = append(r.Done, task.Task)
			continue
		}
		r.Remaining = append(r.Remaining, task.Task)
		r.Interrupts = append(r.Interrupts, task.Interrupts...)
		remaining[task.ID] = true
	}
	r.readAnswers(tuple.PendingWrites, remaining)
	for _, write := range tuple.PendingWrites {
		if write.TaskID == nullTaskID && !isMarker(write.Channel) {
			r.Writes = append(r.Writes, write)
		}
	}
	r.Writes = append(r.Writes, slices.DeleteFunc(outputsOf(tasks, statuses), func(w Write) bool { return isMarker(w.Channel) })...)
}

func (r *Resume) readAnswers(writes []Write, remaining map[string]bool) {
	for _, write := range writes {
		switch {
		case write.Channel != ChannelResume:
		case write.TaskID == nullTaskID:
			r.Answer, r.HasAnswer = write.Value, true
		case remaining[write.TaskID]:
			answers, ok := write.Value.([]any)
			if !ok {
				answers = []any{write.Value}
			}
			if r.Answers == nil {
				r.Answers = map[string][]any{}
			}
			r.Answers[write.TaskID] = answers
		}
	}
}
