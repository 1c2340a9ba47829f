package otelweft_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/otelweft"
	"github.com/pgweft/pgweft/testcontainers"
)

func TestMain(m *testing.M) { testcontainers.Main(m, testcontainers.WithoutFsync()) }

func newPool(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(context.Background(), testcontainers.NewDatabase(t).ConnString())
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// recorder keeps what a Telemetry records.
type recorder struct {
	*otelweft.Telemetry
	spans   *tracetest.SpanRecorder
	metrics *metric.ManualReader
}

func newRecorder(t *testing.T, config otelweft.Config) *recorder {
	t.Helper()
	r := &recorder{spans: tracetest.NewSpanRecorder(), metrics: metric.NewManualReader()}
	config.TracerProvider = trace.NewTracerProvider(trace.WithSpanProcessor(r.spans))
	config.MeterProvider = metric.NewMeterProvider(metric.WithReader(r.metrics))
	var err error
	r.Telemetry, err = otelweft.New(&config)
	require.NoError(t, err)
	return r
}

// last is the newest span.
func (r *recorder) last(t *testing.T) trace.ReadOnlySpan {
	t.Helper()
	ended := r.spans.Ended()
	require.NotEmpty(t, ended)
	return ended[len(ended)-1]
}

// collected are the metrics by name.
func (r *recorder) collected(t *testing.T) map[string]metricdata.Metrics {
	t.Helper()
	var found metricdata.ResourceMetrics
	require.NoError(t, r.metrics.Collect(t.Context(), &found))
	byName := map[string]metricdata.Metrics{}
	for _, scope := range found.ScopeMetrics {
		require.Equal(t, otelweft.ScopeName, scope.Scope.Name)
		for _, m := range scope.Metrics {
			byName[m.Name] = m
		}
	}
	return byName
}

// sums are the values of a counter by its attributes.
func (r *recorder) sums(t *testing.T, name string) map[string]int64 {
	t.Helper()
	sums := map[string]int64{}
	data, ok := r.collected(t)[name].Data.(metricdata.Sum[int64])
	require.True(t, ok, name)
	require.True(t, data.IsMonotonic)
	for _, point := range data.DataPoints {
		sums[encode(point.Attributes)] = point.Value
	}
	return sums
}

// counts are how often a histogram was added to, by its attributes.
func (r *recorder) counts(t *testing.T, name string) map[string]uint64 {
	t.Helper()
	counts := map[string]uint64{}
	data, ok := r.collected(t)[name].Data.(metricdata.Histogram[float64])
	require.True(t, ok, name)
	for _, point := range data.DataPoints {
		counts[encode(point.Attributes)] = point.Count
	}
	return counts
}

func encode(set attribute.Set) string { return set.Encoded(attribute.DefaultEncoder()) }

func attributesOf(span trace.ReadOnlySpan) map[string]any {
	found := map[string]any{}
	for _, kv := range span.Attributes() {
		found[string(kv.Key)] = kv.Value.AsInterface()
	}
	return found
}

// step makes a checkpoint with these values, each under a first version.
func step(values map[string]any) *checkpoint.Checkpoint {
	cp := &checkpoint.Checkpoint{
		ID: checkpoint.NewID(0), TS: "2026-04-07T10:00:00+00:00", ChannelValues: values,
		ChannelVersions: map[string]checkpoint.Version{},
	}
	for channel := range values {
		cp.ChannelVersions[channel] = checkpoint.NextVersion(checkpoint.Version{})
	}
	return cp
}
