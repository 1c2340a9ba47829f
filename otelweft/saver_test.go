package otelweft_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	api "go.opentelemetry.io/otel/trace"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/checkpoint/checkpointtest"
	"github.com/pgweft/pgweft/otelweft"
	"github.com/pgweft/pgweft/pgsaver"
)

func TestConformanceThroughTheWrapper(t *testing.T) {
	t.Parallel()
	saver := newRecorder(t, otelweft.Config{}).Saver(pgsaver.New(newPool(t), nil))
	checkpointtest.Run(t, func(*testing.T) checkpoint.Saver { return saver })
}

func TestEachCallIsOneSpanWithWhatItWasAboutAndNothingThatPeopleWrote(t *testing.T) {
	t.Parallel()
	const secret = "Ada Lovelace"
	r := newRecorder(t, otelweft.Config{Attributes: []attribute.KeyValue{semconv.DBNamespace("agents|langgraph")}})
	saver := r.Saver(pgsaver.New(newPool(t), nil))
	ctx := t.Context()
	config := checkpoint.Config{ThreadID: secret}
	metadata := checkpoint.Metadata{"source": "loop", "step": 0, "run_id": secret, secret: secret}
	writes := []checkpoint.Write{{TaskID: "t", Channel: "a", Value: secret}, {TaskID: "t", Channel: "b", Value: secret}}
	var first, second, third checkpoint.Config

	for _, call := range []struct {
		span string
		do   func() error
		want map[string]any
	}{
		{"get_checkpoint", func() error {
			_, err := saver.Get(ctx, config)
			require.ErrorIs(t, err, checkpoint.ErrNotFound)
			return nil
		}, map[string]any{"db.response.returned_rows": int64(0)}},
		{"put_checkpoint", func() (err error) {
			first, err = saver.Put(ctx, config, step(map[string]any{"a": secret, "b": 2, "c": 3}), metadata, nil)
			return err
		}, map[string]any{"pgweft.channels": int64(3)}},
		{"put_writes", func() error {
			return saver.PutWrites(ctx, first, writes, "task", secret)
		}, map[string]any{"pgweft.writes": int64(2)}},
		{"put_step", func() (err error) {
			cp := step(map[string]any{"a": secret})
			second, err = saver.(checkpoint.StepPutter).PutStep(ctx, first, cp, metadata, cp.ChannelVersions, writes)
			return err
		}, map[string]any{"pgweft.channels": int64(1), "pgweft.writes": int64(2)}},
		{"get_checkpoint", func() error {
			tuple, err := saver.Get(ctx, first)
			require.Len(t, tuple.Checkpoint.ChannelValues, 3)
			return err
		}, map[string]any{"db.response.returned_rows": int64(1), "pgweft.channels": int64(3), "pgweft.writes": int64(2)}},
		{"list_checkpoints", func() error {
			for _, err := range saver.List(ctx, config, checkpoint.ListOptions{}) {
				require.NoError(t, err)
			}
			return nil
		}, map[string]any{"db.response.returned_rows": int64(2)}},
		{"fork_checkpoint", func() (err error) {
			third, err = saver.(checkpoint.Forker).Fork(ctx, first, checkpoint.ForkOptions{})
			require.NotEqual(t, second, third)
			return err
		}, nil},
		{"delta_channel_history", func() error {
			_, err := saver.(checkpoint.DeltaHistorian).DeltaHistory(ctx, first, []string{"a", secret})
			return err
		}, map[string]any{"pgweft.channels": int64(2)}},
		{"copy_thread", func() error { return saver.(checkpoint.ThreadCopier).CopyThread(ctx, secret, secret+" II") }, nil},
		{"prune", func() error {
			_, err := saver.(checkpoint.Pruner).Prune(ctx, []string{secret}, checkpoint.PruneOptions{DryRun: true})
			return err
		}, map[string]any{"pgweft.threads": int64(1), "pgweft.dry_run": true, "pgweft.checkpoints": int64(2)}},
		{"prune", func() error {
			removed, err := saver.(checkpoint.Pruner).Prune(ctx, []string{secret}, checkpoint.PruneOptions{})
			require.Len(t, removed, 1)
			return err
		}, map[string]any{"pgweft.threads": int64(1), "pgweft.dry_run": false, "pgweft.checkpoints": int64(2)}},
		{"delete_for_runs", func() error {
			_, err := saver.(checkpoint.RunDeleter).DeleteForRuns(ctx, []string{secret})
			return err
		}, map[string]any{"pgweft.runs": int64(1), "pgweft.checkpoints": int64(2)}},
		{"delete_thread", func() error { return saver.DeleteThread(ctx, secret) }, nil},
	} {
		before := len(r.spans.Ended())
		require.NoError(t, call.do(), call.span)
		require.Len(t, r.spans.Ended(), before+1, call.span)
		span := r.last(t)
		require.Equal(t, call.span, span.Name())
		require.Equal(t, api.SpanKindClient, span.SpanKind())
		require.Equal(t, trace.Status{Code: codes.Unset}, span.Status())
		require.Empty(t, span.Events())
		want := map[string]any{
			"db.system.name": "postgresql", "db.operation.name": call.span, "db.namespace": "agents|langgraph",
		}
		for key, value := range call.want {
			want[key] = value
		}
		require.Equal(t, want, attributesOf(span), call.span)
	}

	const always = "db.namespace=agents|langgraph,db.operation.name="
	require.Equal(t, map[string]int64{
		always + "prune,db.system.name=postgresql": 2, always + "delete_for_runs,db.system.name=postgresql": 2,
	}, r.sums(t, "pgweft.removed.checkpoints"), "what was counted without removing it is not in here")
	require.Positive(t, r.sums(t, "pgweft.removed.size")[always+"prune,db.system.name=postgresql"])
	counts := r.counts(t, "db.client.operation.duration")
	require.Len(t, counts, 11)
	require.Equal(t, uint64(2), counts[always+"get_checkpoint,db.system.name=postgresql"])
	require.Equal(t, uint64(1), counts[always+"list_checkpoints,db.system.name=postgresql"])
	require.Equal(t, "s", r.collected(t)["db.client.operation.duration"].Unit)
}

func TestThreadsAreNamedOnlyWhereThatIsAskedForAndNeverInMetrics(t *testing.T) {
	t.Parallel()
	r := newRecorder(t, otelweft.Config{ThreadIDs: true})
	require.NoError(t, r.Saver(pgsaver.New(newPool(t), nil)).DeleteThread(t.Context(), "thread-1"))
	require.Equal(t, "thread-1", attributesOf(r.last(t))["gen_ai.conversation.id"])
	require.Equal(t, map[string]uint64{"db.operation.name=delete_thread,db.system.name=postgresql": 1},
		r.counts(t, "db.client.operation.duration"))
}

func TestASpanIsAChildOfTheCallersAndParentOfWhatTheSaverDoes(t *testing.T) {
	t.Parallel()
	r := newRecorder(t, otelweft.Config{})
	provider := trace.NewTracerProvider()
	ctx, outer := provider.Tracer("test").Start(t.Context(), "outer")
	seen := &contextSaver{}
	_, err := r.Saver(seen).Get(ctx, checkpoint.Config{ThreadID: "t"})
	require.ErrorIs(t, err, checkpoint.ErrNotFound)
	require.Equal(t, outer.SpanContext().SpanID(), r.last(t).Parent().SpanID())
	require.Equal(t, r.last(t).SpanContext().SpanID(), api.SpanContextFromContext(seen.ctx).SpanID())
}

// contextSaver keeps the context it was called with.
type contextSaver struct {
	checkpoint.Saver
	ctx context.Context
}

func (s *contextSaver) Get(ctx context.Context, _ checkpoint.Config) (*checkpoint.Tuple, error) {
	s.ctx = ctx
	return nil, checkpoint.ErrNotFound
}

// failing fails with what it is told, and lists two checkpoints before that.
type failing struct {
	checkpoint.Saver
	err error
}

func (f failing) DeleteThread(context.Context, string) error { return f.err }

func (f failing) List(context.Context, checkpoint.Config, checkpoint.ListOptions) iter.Seq2[*checkpoint.Tuple, error] {
	return func(yield func(*checkpoint.Tuple, error) bool) {
		for range 2 {
			if !yield(&checkpoint.Tuple{}, nil) {
				return
			}
		}
		yield(nil, f.err)
	}
}

func TestAFailureIsToldByItsKindAndNotByItsWords(t *testing.T) {
	t.Parallel()
	state := func(code string) error { return &pgconn.PgError{Code: code, Message: "secret"} }
	for want, test := range map[string]struct {
		err  error
		code any
	}{
		"canceled":          {errors.Join(context.Canceled, pgsaver.ErrTimeout, state("57014")), "57014"},
		"deadline_exceeded": {context.DeadlineExceeded, nil},
		"not_found":         {checkpoint.ErrNotFound, nil},
		"version_collision": {errors.Join(checkpoint.ErrVersionCollision, state("LG003")), "LG003"},
		"pinned":            {errors.Join(checkpoint.ErrPinned, state("LG005")), "LG005"},
		"schema_outdated":   {pgsaver.ErrSchemaOutdated, nil},
		"too_busy":          {pgsaver.ErrTooBusy, nil},
		"42501":             {state("42501"), "42501"},
		"_OTHER":            {errors.New("secret"), nil},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			r := newRecorder(t, otelweft.Config{})
			require.Equal(t, test.err, r.Saver(failing{err: test.err}).DeleteThread(t.Context(), "t"), "the error is handed on as it is")
			span := r.last(t)
			require.Equal(t, trace.Status{Code: codes.Error, Description: want}, span.Status())
			require.Empty(t, span.Events())
			attributes := attributesOf(span)
			require.Equal(t, want, attributes["error.type"])
			require.Equal(t, test.code, attributes["db.response.status_code"])
			require.Equal(t, map[string]uint64{"db.operation.name=delete_thread,db.system.name=postgresql,error.type=" + want: 1},
				r.counts(t, "db.client.operation.duration"))
		})
	}
}

func TestAnErrorOfTheDatabaseHasItsSQLSTATE(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	r := newRecorder(t, otelweft.Config{})
	plain := pgsaver.New(pool, nil)
	config, err := plain.Put(t.Context(), checkpoint.Config{ThreadID: "t"}, step(nil), nil, nil)
	require.NoError(t, err)
	require.NoError(t, plain.Pin(t.Context(), config, "evidence"))
	require.ErrorIs(t, r.Saver(plain).DeleteThread(t.Context(), "t"), checkpoint.ErrPinned)
	require.Equal(t, "pinned", attributesOf(r.last(t))["error.type"])
	require.Equal(t, "LG005", attributesOf(r.last(t))["db.response.status_code"])
}

func TestAListThatFailsOrIsBrokenOffEndsItsSpan(t *testing.T) {
	t.Parallel()
	r := newRecorder(t, otelweft.Config{})
	saver := r.Saver(failing{err: checkpoint.ErrCorrupt})
	list := saver.List(t.Context(), checkpoint.Config{}, checkpoint.ListOptions{})
	require.Empty(t, r.spans.Started(), "a list that nobody reads does nothing")

	for _, err := range list {
		require.NoError(t, err)
		break
	}
	require.Equal(t, codes.Unset, r.last(t).Status().Code)
	require.Equal(t, int64(1), attributesOf(r.last(t))["db.response.returned_rows"])

	var last error
	for _, err := range list {
		last = err
	}
	require.ErrorIs(t, last, checkpoint.ErrCorrupt)
	require.Equal(t, "corrupt", attributesOf(r.last(t))["error.type"])
	require.Equal(t, int64(2), attributesOf(r.last(t))["db.response.returned_rows"])

	require.Panics(t, func() {
		for _, err := range list {
			require.NoError(t, err)
			panic("of the caller")
		}
	})
	require.Len(t, r.spans.Ended(), 3)
	require.Equal(t, map[string]uint64{
		"db.operation.name=list_checkpoints,db.system.name=postgresql":                    2,
		"db.operation.name=list_checkpoints,db.system.name=postgresql,error.type=corrupt": 1,
	}, r.counts(t, "db.client.operation.duration"))
}

func TestTheTimeOfWhoReadsAListIsNotTheSavers(t *testing.T) {
	t.Parallel()
	r := newRecorder(t, otelweft.Config{})
	for _, err := range r.Saver(failing{}).List(t.Context(), checkpoint.Config{}, checkpoint.ListOptions{}) {
		require.NoError(t, err)
		// Three times: two checkpoints, and the end that failing tells of.
		for began := time.Now(); time.Since(began) < time.Millisecond; {
			continue
		}
	}
	data, ok := r.collected(t)["db.client.operation.duration"].Data.(metricdata.Histogram[float64])
	require.True(t, ok)
	span := r.last(t)
	require.LessOrEqual(t, data.DataPoints[0].Sum+0.003, span.EndTime().Sub(span.StartTime()).Seconds(),
		"the span contains what is measured and the three milliseconds, however long either took")
}
