package pgsaver_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/migrations"
	"github.com/pgweft/pgweft/pgsaver"
	"github.com/pgweft/pgweft/testcontainers"
)

// BenchmarkGuards times what guards cost: Put and PutWrites of the Go saver, and what an unmodified client says for the same
// checkpoint (one statement a row in a transaction), in two schemas of one database, of which one is guarded. The two
// alternate within one run, and medians are compared, so that the difference holds on a noisy machine. Commits do not wait for
// the disk: that is the same for both, and hides the difference.
func BenchmarkGuards(b *testing.B) {
	postgres, err := testcontainers.Run(b.Context())
	require.NoError(b, err)
	defer func() { require.NoError(b, postgres.Close(context.WithoutCancel(b.Context()))) }()
	poolConfig, err := pgxpool.ParseConfig(postgres.ConnString())
	require.NoError(b, err)
	poolConfig.ConnConfig.RuntimeParams["synchronous_commit"] = "off"
	pool, err := pgxpool.NewWithConfig(b.Context(), poolConfig)
	require.NoError(b, err)
	defer pool.Close()
	m, err := migrations.New(pool.Config().ConnConfig, &migrations.Config{Schema: "guarded"})
	require.NoError(b, err)
	require.NoError(b, m.Up(b.Context()))
	_, err = pool.Exec(b.Context(), "select guarded.enable_guards()")
	require.NoError(b, err)
	// A guard that looks up nothing among nothing would cost less than in a database that is used.
	_, err = pool.Exec(b.Context(), "insert into guarded.deleted_threads (thread_id) select 'deleted ' || n from generate_series(1, 100000) n")
	require.NoError(b, err)

	schemas := []string{pgsaver.DefaultSchema, "guarded"}
	for _, payload := range payloads {
		for _, operation := range []struct {
			name string
			in   func(schema string) func() error
		}{
			{"Put", func(schema string) func() error {
				saver := pgsaver.New(pool, &pgsaver.Config{Schema: schema})
				config := checkpoint.Config{ThreadID: payload.name}
				return func() (err error) {
					config, err = saver.Put(b.Context(), config, step(payload.values), checkpoint.Metadata{"source": "loop", "step": 1}, nil)
					return err
				}
			}},
			{"PutWrites", func(schema string) func() error {
				saver := pgsaver.New(pool, &pgsaver.Config{Schema: schema})
				var writes []checkpoint.Write
				for channel, value := range payload.values {
					writes = append(writes, checkpoint.Write{Channel: channel, Value: value})
				}
				return func() error {
					config := checkpoint.Config{ThreadID: payload.name, CheckpointID: step(nil).ID}
					return saver.PutWrites(b.Context(), config, writes, "task", "")
				}
			}},
			{"client", func(schema string) func() error {
				return func() error { return putAsClient(b.Context(), pool, schema, payload.name, payload.values) }
			}},
		} {
			b.Run(payload.name+"/"+operation.name, func(b *testing.B) {
				var took [2][]time.Duration
				run := []func() error{operation.in(schemas[0]), operation.in(schemas[1])}
				for b.Loop() {
					for i := range run {
						start := time.Now()
						err := run[i]()
						took[i] = append(took[i], time.Since(start))
						require.NoError(b, err)
					}
				}
				median := func(all []time.Duration) float64 {
					slices.Sort(all)
					return float64(all[len(all)/2].Nanoseconds()) / 1000
				}
				unguarded, guarded := median(took[0]), median(took[1])
				b.ReportMetric(unguarded, "unguarded-us")
				b.ReportMetric(guarded, "guarded-us")
				b.ReportMetric(guarded-unguarded, "difference-us")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// putAsClient saves a checkpoint as a client does that knows the tables only: begin, a statement for each blob, one for the
// checkpoint, commit.
func putAsClient(ctx context.Context, pool *pgxpool.Pool, schema, thread string, values map[string]any) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		cp := step(values)
		for channel, version := range cp.ChannelVersions {
			if _, err := tx.Exec(ctx, "insert into "+schema+`.checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
				values ($1, '', $2, $3, 'bytes', $4) on conflict (thread_id, checkpoint_ns, channel, version) do nothing`,
				thread, channel, version.String(), []byte(sentence)); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, "insert into "+schema+`.checkpoints (thread_id, checkpoint_ns, checkpoint_id, checkpoint, metadata)
			values ($1, '', $2, jsonb_build_object('id', $2::text), '{}') on conflict (thread_id, checkpoint_ns, checkpoint_id)
			do update set checkpoint = excluded.checkpoint, metadata = excluded.metadata`, thread, cp.ID)
		return err
	})
}
