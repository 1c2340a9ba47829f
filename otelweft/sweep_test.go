package otelweft_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/otelweft"
	"github.com/pgweft/pgweft/pgsaver"
)

func TestASweepIsASpanAndCountsWhatItRemoved(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	saver := pgsaver.New(pool, nil)
	for thread := range 3 {
		config := checkpoint.Config{ThreadID: "t" + strconv.Itoa(thread)}
		for range 4 {
			var err error
			config, err = saver.Put(t.Context(), config, step(map[string]any{"c": []any{"v"}}), nil, nil)
			require.NoError(t, err)
		}
	}
	_, err := pool.Exec(t.Context(), "select langgraph.set_retention_policy('newest', p_keep_last => 1)")
	require.NoError(t, err)
	r := newRecorder(t, otelweft.Config{})

	// Two of three threads are looked at, and the time is up.
	require.NoError(t, saver.Sweep(t.Context(), pgsaver.SweepOptions{BatchSize: 2, MaxDuration: time.Nanosecond, Observe: r.Sweep}))
	span := attributesOf(r.last(t))
	require.Equal(t, "unfinished", span["pgweft.sweep.outcome"])
	require.Equal(t, int64(2), span["pgweft.threads"])
	require.Equal(t, int64(6), span["pgweft.checkpoints"])
	require.NotContains(t, r.collected(t), "pgweft.sweep.last_done")

	began := time.Now()
	require.NoError(t, saver.Sweep(t.Context(), pgsaver.SweepOptions{Observe: r.Sweep}))
	require.Equal(t, "sweep", r.last(t).Name())
	require.Equal(t, "done", attributesOf(r.last(t))["pgweft.sweep.outcome"])

	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	require.ErrorIs(t, saver.WithTx(tx).Sweep(t.Context(), pgsaver.SweepOptions{Observe: r.Sweep}), checkpoint.ErrInvalidArgument)
	require.NoError(t, tx.Rollback(t.Context()))
	require.Equal(t, codes.Error, r.last(t).Status().Code)
	require.Equal(t, "2D000", attributesOf(r.last(t))["db.response.status_code"])

	require.Equal(t, map[string]int64{"db.operation.name=sweep,db.system.name=postgresql": 9}, r.sums(t, "pgweft.removed.checkpoints"))
	require.Equal(t, map[string]int64{"db.system.name=postgresql": 3}, r.sums(t, "pgweft.sweep.threads"))
	require.Equal(t, map[string]int64{"db.system.name=postgresql": 0}, r.sums(t, "pgweft.sweep.store_items"))
	require.Equal(t, map[string]uint64{
		"db.system.name=postgresql,pgweft.sweep.outcome=unfinished":                         1,
		"db.system.name=postgresql,pgweft.sweep.outcome=done":                               1,
		"db.system.name=postgresql,error.type=invalid_argument,pgweft.sweep.outcome=failed": 1,
	}, r.counts(t, "pgweft.sweep.duration"))
	gauge, ok := r.collected(t)["pgweft.sweep.last_done"].Data.(metricdata.Gauge[float64])
	require.True(t, ok)
	require.GreaterOrEqual(t, gauge.DataPoints[0].Value, float64(began.UnixMilli())/1000)
}

func TestASweepBesideAnotherLeavesTheWorkToIt(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	other, err := pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = other.Exec(t.Context(), "select pg_advisory_xact_lock(hashtextextended('pgweft sweep', 7069))")
	require.NoError(t, err)
	r := newRecorder(t, otelweft.Config{})
	require.NoError(t, pgsaver.New(pool, nil).Sweep(t.Context(), pgsaver.SweepOptions{Observe: r.Sweep}))
	require.NoError(t, other.Rollback(t.Context()))
	require.Equal(t, "left_to_another", attributesOf(r.last(t))["pgweft.sweep.outcome"])
	require.Equal(t, codes.Unset, r.last(t).Status().Code)
}
