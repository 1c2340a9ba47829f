package otelweft

import (
	"context"
	"errors"
	"iter"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/pgweft/pgweft/checkpoint"
)

// The SQL functions after which operations are named.
const (
	opGet           = "get_checkpoint"
	opList          = "list_checkpoints"
	opPut           = "put_checkpoint"
	opPutWrites     = "put_writes"
	opPutStep       = "put_step"
	opDeleteThread  = "delete_thread"
	opDeleteForRuns = "delete_for_runs"
	opCopyThread    = "copy_thread"
	opPrune         = "prune"
	opDeltaHistory  = "delta_channel_history"
	opFork          = "fork_checkpoint"
	opSweep         = "sweep"
)

// How much an operation is about, on its span.
const (
	channelsKey    = attribute.Key("pgweft.channels")
	checkpointsKey = attribute.Key("pgweft.checkpoints")
	dryRunKey      = attribute.Key("pgweft.dry_run")
	runsKey        = attribute.Key("pgweft.runs")
	threadsKey     = attribute.Key("pgweft.threads")
	writesKey      = attribute.Key("pgweft.writes")
)

//go:generate go run ./internal/combine

// Saver wraps a saver, so that each call is a span and a measurement. What it returns has exactly the extended capabilities
// ([checkpoint.RunDeleter], [checkpoint.ThreadCopier], [checkpoint.Pruner], [checkpoint.DeltaHistorian], [checkpoint.Forker],
// [checkpoint.StepPutter]) that the saver has. Wrapping is cheap, and fit for a saver of one transaction.
func (t *Telemetry) Saver(next checkpoint.Saver) checkpoint.Saver {
	return combine(&saver{telemetry: t, next: next}, extensionsOf(next))
}

// saver does what every Saver does.
type saver struct {
	telemetry *Telemetry
	next      checkpoint.Saver
}

// extensions are what a saver can do beyond that; nil what it cannot.
type extensions struct {
	runDeleter     checkpoint.RunDeleter
	threadCopier   checkpoint.ThreadCopier
	pruner         checkpoint.Pruner
	deltaHistorian checkpoint.DeltaHistorian
	forker         checkpoint.Forker
	stepPutter     checkpoint.StepPutter
}

func extensionsOf(next checkpoint.Saver) extensions {
	var e extensions
	e.runDeleter, _ = next.(checkpoint.RunDeleter)
	e.threadCopier, _ = next.(checkpoint.ThreadCopier)
	e.pruner, _ = next.(checkpoint.Pruner)
	e.deltaHistorian, _ = next.(checkpoint.DeltaHistorian)
	e.forker, _ = next.(checkpoint.Forker)
	e.stepPutter, _ = next.(checkpoint.StepPutter)
	return e
}

// Get implements [checkpoint.Saver].
func (s *saver) Get(ctx context.Context, config checkpoint.Config) (*checkpoint.Tuple, error) {
	ctx, c := s.telemetry.begin(ctx, opGet, config.ThreadID)
	tuple, err := s.next.Get(ctx, config)
	switch {
	case errors.Is(err, checkpoint.ErrNotFound):
		c.span.SetAttributes(semconv.DBResponseReturnedRows(0))
		c.end(nil)
	case err != nil:
		c.end(err)
	default:
		c.span.SetAttributes(semconv.DBResponseReturnedRows(1), channelsKey.Int(len(tuple.Checkpoint.ChannelValues)),
			writesKey.Int(len(tuple.PendingWrites)))
		c.end(nil)
	}
	return tuple, err
}

// List implements [checkpoint.Saver]. Its span is as long as the caller reads; what is measured is the time of the saver.
func (s *saver) List(ctx context.Context, config checkpoint.Config,
	options checkpoint.ListOptions,
) iter.Seq2[*checkpoint.Tuple, error] {
	return func(yield func(*checkpoint.Tuple, error) bool) {
		ctx, c := s.telemetry.begin(ctx, opList, config.ThreadID)
		rows := 0
		var failure error
		defer func() {
			c.span.SetAttributes(semconv.DBResponseReturnedRows(rows))
			c.end(failure)
		}()
		for tuple, err := range s.next.List(ctx, config, options) {
			if err != nil {
				failure = err
			} else {
				rows++
			}
			more := false
			c.elsewhereDuring(func() { more = yield(tuple, err) })
			if !more {
				return
			}
		}
	}
}

// Put implements [checkpoint.Saver].
func (s *saver) Put(ctx context.Context, config checkpoint.Config, cp *checkpoint.Checkpoint, metadata checkpoint.Metadata,
	newVersions map[string]checkpoint.Version,
) (checkpoint.Config, error) {
	ctx, c := s.telemetry.begin(ctx, opPut, config.ThreadID)
	c.span.SetAttributes(channelsKey.Int(changed(cp, newVersions)))
	saved, err := s.next.Put(ctx, config, cp, metadata, newVersions)
	c.end(err)
	return saved, err
}

// changed counts the channels that are saved with a checkpoint.
func changed(cp *checkpoint.Checkpoint, newVersions map[string]checkpoint.Version) int {
	if newVersions == nil && cp != nil {
		return len(cp.ChannelVersions)
	}
	return len(newVersions)
}

// PutWrites implements [checkpoint.Saver].
func (s *saver) PutWrites(ctx context.Context, config checkpoint.Config, writes []checkpoint.Write,
	taskID, taskPath string,
) error {
	ctx, c := s.telemetry.begin(ctx, opPutWrites, config.ThreadID)
	c.span.SetAttributes(writesKey.Int(len(writes)))
	err := s.next.PutWrites(ctx, config, writes, taskID, taskPath)
	c.end(err)
	return err
}

// DeleteThread implements [checkpoint.Saver].
func (s *saver) DeleteThread(ctx context.Context, threadID string) error {
	ctx, c := s.telemetry.begin(ctx, opDeleteThread, threadID)
	err := s.next.DeleteThread(ctx, threadID)
	c.end(err)
	return err
}

type stepPutter struct {
	telemetry *Telemetry
	next      checkpoint.StepPutter
}

// PutStep implements [checkpoint.StepPutter].
func (s stepPutter) PutStep(ctx context.Context, config checkpoint.Config, cp *checkpoint.Checkpoint,
	metadata checkpoint.Metadata, newVersions map[string]checkpoint.Version, writes []checkpoint.Write,
) (checkpoint.Config, error) {
	ctx, c := s.telemetry.begin(ctx, opPutStep, config.ThreadID)
	c.span.SetAttributes(channelsKey.Int(changed(cp, newVersions)), writesKey.Int(len(writes)))
	saved, err := s.next.PutStep(ctx, config, cp, metadata, newVersions, writes)
	c.end(err)
	return saved, err
}

type forker struct {
	telemetry *Telemetry
	next      checkpoint.Forker
}

// Fork implements [checkpoint.Forker].
func (s forker) Fork(ctx context.Context, config checkpoint.Config,
	options checkpoint.ForkOptions,
) (checkpoint.Config, error) {
	ctx, c := s.telemetry.begin(ctx, opFork, config.ThreadID)
	branch, err := s.next.Fork(ctx, config, options)
	c.end(err)
	return branch, err
}

type threadCopier struct {
	telemetry *Telemetry
	next      checkpoint.ThreadCopier
}

// CopyThread implements [checkpoint.ThreadCopier].
func (s threadCopier) CopyThread(ctx context.Context, sourceThreadID, targetThreadID string) error {
	ctx, c := s.telemetry.begin(ctx, opCopyThread, sourceThreadID)
	err := s.next.CopyThread(ctx, sourceThreadID, targetThreadID)
	c.end(err)
	return err
}

type deltaHistorian struct {
	telemetry *Telemetry
	next      checkpoint.DeltaHistorian
}

// DeltaHistory implements [checkpoint.DeltaHistorian].
func (s deltaHistorian) DeltaHistory(ctx context.Context, config checkpoint.Config,
	channels []string,
) (map[string]checkpoint.DeltaHistory, error) {
	ctx, c := s.telemetry.begin(ctx, opDeltaHistory, config.ThreadID)
	c.span.SetAttributes(channelsKey.Int(len(channels)))
	histories, err := s.next.DeltaHistory(ctx, config, channels)
	c.end(err)
	return histories, err
}

type runDeleter struct {
	telemetry *Telemetry
	next      checkpoint.RunDeleter
}

// DeleteForRuns implements [checkpoint.RunDeleter].
func (s runDeleter) DeleteForRuns(ctx context.Context, runIDs []string) ([]checkpoint.Removed, error) {
	ctx, c := s.telemetry.begin(ctx, opDeleteForRuns, "")
	c.span.SetAttributes(runsKey.Int(len(runIDs)))
	removed, err := s.next.DeleteForRuns(ctx, runIDs)
	checkpoints, bytes := total(removed)
	c.span.SetAttributes(checkpointsKey.Int64(checkpoints))
	if err == nil {
		c.removed(checkpoints, bytes)
	}
	c.end(err)
	return removed, err
}

type pruner struct {
	telemetry *Telemetry
	next      checkpoint.Pruner
}

// Prune implements [checkpoint.Pruner].
func (s pruner) Prune(ctx context.Context, threadIDs []string,
	options checkpoint.PruneOptions,
) ([]checkpoint.Removed, error) {
	ctx, c := s.telemetry.begin(ctx, opPrune, "")
	c.span.SetAttributes(threadsKey.Int(len(threadIDs)), dryRunKey.Bool(options.DryRun))
	removed, err := s.next.Prune(ctx, threadIDs, options)
	checkpoints, bytes := total(removed)
	c.span.SetAttributes(checkpointsKey.Int64(checkpoints))
	if err == nil && !options.DryRun {
		c.removed(checkpoints, bytes)
	}
	c.end(err)
	return removed, err
}

func total(removed []checkpoint.Removed) (checkpoints, bytes int64) {
	for _, thread := range removed {
		checkpoints += thread.Checkpoints
		bytes += thread.Bytes
	}
	return checkpoints, bytes
}

// removed counts what an operation took.
func (c *call) removed(checkpoints, bytes int64) {
	attributes := metric.WithAttributes(c.telemetry.with(semconv.DBOperationName(c.operation))...)
	c.telemetry.removedCheckpoints.Add(c.ctx, checkpoints, attributes)
	c.telemetry.removedSize.Add(c.ctx, bytes, attributes)
}
