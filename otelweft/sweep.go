package otelweft

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/pgweft/pgweft/pgsaver"
)

const outcomeKey = attribute.Key("pgweft.sweep.outcome")

// Sweep observes a sweep: it is for the field Observe of [pgsaver.SweepOptions].
func (t *Telemetry) Sweep(ctx context.Context) (context.Context, func(pgsaver.Swept, error)) {
	ctx, c := t.begin(ctx, opSweep, "")
	return ctx, func(swept pgsaver.Swept, err error) { c.endSweep(swept, err) }
}

// endSweep also counts what a sweep removed before it failed: those batches are committed.
func (c *call) endSweep(swept pgsaver.Swept, err error) {
	t := c.telemetry
	outcome := outcomeKey.String(outcomeOf(swept, err))
	c.span.SetAttributes(outcome, threadsKey.Int64(swept.Threads), checkpointsKey.Int64(swept.Checkpoints))
	measured := t.with(outcome)
	if kind := c.fail(err); kind != "" {
		measured = append(measured, semconv.ErrorTypeKey.String(kind))
	}
	t.sweepDuration.Record(c.ctx, swept.Duration.Seconds(), metric.WithAttributes(measured...))
	c.removed(swept.Checkpoints, swept.Bytes)
	constant := metric.WithAttributes(t.with()...)
	t.sweepThreads.Add(c.ctx, swept.Threads, constant)
	t.sweepStoreItems.Add(c.ctx, swept.StoreItems, constant)
	if err == nil && swept.Done {
		t.sweepLastDone.Record(c.ctx, float64(time.Now().UnixMilli())/1000, constant)
	}
	c.span.End()
}

func outcomeOf(swept pgsaver.Swept, err error) string {
	switch {
	case err != nil:
		return "failed"
	case !swept.Batches:
		return "left_to_another"
	case !swept.Done:
		return "unfinished"
	}
	return "done"
}
