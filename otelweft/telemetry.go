package otelweft

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/dbconv"
	"go.opentelemetry.io/otel/trace"
)

// ScopeName is the instrumentation scope of every span and metric of this package.
const ScopeName = "github.com/pgweft/pgweft/otelweft"

// Config is what can be chosen about a [Telemetry]. A nil Config takes every default.
type Config struct {
	// Attributes are added to every span and metric, for what only the application knows, such as db.namespace and
	// server.address. They become labels of metrics: few values each.
	Attributes []attribute.KeyValue

	// MeterProvider makes the metrics. Nil means otel.GetMeterProvider().
	MeterProvider metric.MeterProvider

	// ThreadIDs adds the ID of the thread to spans, as gen_ai.conversation.id, and never to metrics. Leave it out where
	// threads are named after people.
	ThreadIDs bool

	// TracerProvider makes the spans. Nil means otel.GetTracerProvider().
	TracerProvider trace.TracerProvider
}

// Telemetry holds the instruments. It is safe for concurrent use; one for a process is enough.
type Telemetry struct {
	attributes []attribute.KeyValue
	threadIDs  bool
	tracer     trace.Tracer

	duration           metric.Float64Histogram
	removedCheckpoints metric.Int64Counter
	removedSize        metric.Int64Counter
	sweepDuration      metric.Float64Histogram
	sweepThreads       metric.Int64Counter
	sweepStoreItems    metric.Int64Counter
	sweepLastDone      metric.Float64Gauge
}

// The boundaries that the semantic conventions advise for databases, and what fits work in the background.
var (
	callBoundaries  = []float64{0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10}
	sweepBoundaries = []float64{0.01, 0.1, 1, 10, 60, 300, 900, 3600}
)

// New makes the instruments. An error is one of the MeterProvider's.
func New(config *Config) (*Telemetry, error) {
	if config == nil {
		config = &Config{}
	}
	tracers, meters := config.TracerProvider, config.MeterProvider
	if tracers == nil {
		tracers = otel.GetTracerProvider()
	}
	if meters == nil {
		meters = otel.GetMeterProvider()
	}
	t := &Telemetry{
		attributes: append([]attribute.KeyValue{semconv.DBSystemNamePostgreSQL}, config.Attributes...),
		threadIDs:  config.ThreadIDs,
		tracer:     tracers.Tracer(ScopeName, trace.WithSchemaURL(semconv.SchemaURL)),
	}
	if err := t.makeInstruments(meters.Meter(ScopeName, metric.WithSchemaURL(semconv.SchemaURL))); err != nil {
		return nil, fmt.Errorf("otelweft: %w", err)
	}
	return t, nil
}

func (t *Telemetry) makeInstruments(meter metric.Meter) error {
	var errs [7]error
	standard := dbconv.ClientOperationDuration{}
	t.duration, errs[0] = meter.Float64Histogram(standard.Name(), metric.WithUnit(standard.Unit()),
		metric.WithDescription(standard.Description()), metric.WithExplicitBucketBoundaries(callBoundaries...))
	t.removedCheckpoints, errs[1] = meter.Int64Counter("pgweft.removed.checkpoints", metric.WithUnit("{checkpoint}"),
		metric.WithDescription("Checkpoints that were removed."))
	t.removedSize, errs[2] = meter.Int64Counter("pgweft.removed.size", metric.WithUnit("By"),
		metric.WithDescription("Size of the removed values as they were stored, compressed."))
	t.sweepDuration, errs[3] = meter.Float64Histogram("pgweft.sweep.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of sweeps."), metric.WithExplicitBucketBoundaries(sweepBoundaries...))
	t.sweepThreads, errs[4] = meter.Int64Counter("pgweft.sweep.threads", metric.WithUnit("{thread}"),
		metric.WithDescription("Threads that sweeps have looked at."))
	t.sweepStoreItems, errs[5] = meter.Int64Counter("pgweft.sweep.store_items", metric.WithUnit("{item}"),
		metric.WithDescription("Expired items of the store that sweeps have removed."))
	t.sweepLastDone, errs[6] = meter.Float64Gauge("pgweft.sweep.last_done", metric.WithUnit("s"),
		metric.WithDescription("Unix time of the newest sweep of this process that came to the end."))
	return errors.Join(errs[:]...)
}

// call is one operation under way.
type call struct {
	ctx       context.Context
	telemetry *Telemetry
	operation string
	span      trace.Span
	began     time.Time
	// elsewhere is the time that was not the operation's own.
	elsewhere time.Duration
}

// begin starts the span of an operation, which runs in the context it returns. A threadID that is empty is none.
func (t *Telemetry) begin(ctx context.Context, operation, threadID string) (context.Context, *call) {
	attributes := t.with(semconv.DBOperationName(operation))
	if t.threadIDs && threadID != "" {
		attributes = append(attributes, attribute.String("gen_ai.conversation.id", threadID))
	}
	ctx, span := t.tracer.Start(ctx, operation, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attributes...))
	return ctx, &call{ctx: ctx, telemetry: t, operation: operation, span: span, began: time.Now()}
}

// with are the attributes of everything, and more. The copy is the caller's.
func (t *Telemetry) with(more ...attribute.KeyValue) []attribute.KeyValue {
	return append(append(make([]attribute.KeyValue, 0, len(t.attributes)+len(more)+1), t.attributes...), more...)
}

// elsewhereDuring does not count what do takes.
func (c *call) elsewhereDuring(do func()) {
	left := time.Now()
	do()
	c.elsewhere += time.Since(left)
}

// end ends the span and measures the operation.
func (c *call) end(err error) {
	attributes := c.telemetry.with(semconv.DBOperationName(c.operation))
	if kind := c.fail(err); kind != "" {
		attributes = append(attributes, semconv.ErrorTypeKey.String(kind))
	}
	own := time.Since(c.began) - c.elsewhere
	c.telemetry.duration.Record(c.ctx, own.Seconds(), metric.WithAttributes(attributes...))
	c.span.End()
}

// fail marks the span of an operation that failed, and says as what: in no words of the error, which may name threads and
// show values.
func (c *call) fail(err error) string {
	if err == nil {
		return ""
	}
	kind := errorType(err)
	c.span.SetStatus(codes.Error, kind)
	c.span.SetAttributes(semconv.ErrorTypeKey.String(kind))
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		c.span.SetAttributes(semconv.DBResponseStatusCode(pgErr.Code))
	}
	return kind
}
