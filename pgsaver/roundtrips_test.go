package pgsaver_test

import (
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/internal/pgxtest"
	"github.com/pgweft/pgweft/pgsaver"
)

// Once statements are prepared (or in the modes that prepare none), every operation is one round trip. The modes that
// describe a statement at each call need a second one by their nature.
func TestEveryOperationIsOneRoundTrip(t *testing.T) {
	t.Parallel()
	for _, mode := range pgxtest.ExecModes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			var trips atomic.Int64
			pool := newPool(t, pgxtest.WithExecMode(mode), pgxtest.CountRoundTrips(&trips))
			saver := pgsaver.New(pool, nil)
			want := int64(1)
			if mode == pgx.QueryExecModeDescribeExec {
				want = 2
			}
			operations := map[string]func(config checkpoint.Config) error{
				"Put": func(config checkpoint.Config) error {
					_, err := saver.Put(t.Context(), config, step(map[string]any{"c": []any{1}, "d": 2}), nil, nil)
					return err
				},
				"PutWrites": func(config checkpoint.Config) error {
					return saver.PutWrites(t.Context(), config, []checkpoint.Write{{Channel: "c"}, {Channel: "d"}}, "task", "")
				},
				"PutStep": func(config checkpoint.Config) error {
					_, err := saver.PutStep(t.Context(), config, step(map[string]any{"c": []any{1}}), nil, nil,
						[]checkpoint.Write{{TaskID: "a", Channel: "c"}, {TaskID: "b", Channel: "d"}})
					return err
				},
				"Get": func(config checkpoint.Config) error {
					_, err := saver.Get(t.Context(), config)
					return err
				},
				"List": func(config checkpoint.Config) error {
					config.CheckpointID = ""
					listed := 0
					for _, err := range saver.List(t.Context(), config, checkpoint.ListOptions{}) {
						if err != nil {
							return err
						}
						listed++
					}
					require.Positive(t, listed)
					return nil
				},
				"Fork": func(config checkpoint.Config) error {
					_, err := saver.Fork(t.Context(), config, checkpoint.ForkOptions{})
					return err
				},
				"DeleteThread": func(config checkpoint.Config) error {
					return saver.DeleteThread(t.Context(), config.ThreadID)
				},
			}
			for name, operation := range operations {
				t.Run(name, func(t *testing.T) {
					config := put(t, saver, checkpoint.Config{ThreadID: name}, step(map[string]any{"c": []any{"v"}}))
					require.NoError(t, operation(config), "prepares the statement")
					config = put(t, saver, checkpoint.Config{ThreadID: name}, step(map[string]any{"c": []any{"v"}}))
					before := trips.Load()
					require.NoError(t, operation(config))
					require.Equal(t, want, trips.Load()-before)
				})
			}
		})
	}
}
