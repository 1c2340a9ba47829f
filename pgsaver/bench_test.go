package pgsaver_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/pgsaver"
	"github.com/pgweft/pgweft/serde"
	"github.com/pgweft/pgweft/serde/messages"
	"github.com/pgweft/pgweft/testcontainers"
)

const sentence = "The deductible applies once a year, and the cover includes outpatient care. 您好,我是您的保险顾问。 "

// payloads are the values of one checkpoint, as the runtime would put them.
var payloads = []struct {
	name   string
	values map[string]any
}{
	{"4x200B", map[string]any{
		"a": []any{sentence + sentence[:70]}, "b": []any{sentence + sentence[:70]},
		"c": []any{sentence + sentence[:70]}, "d": []any{sentence + sentence[:70]},
	}},
	{"20KB", map[string]any{"messages": conversationOf(20 << 10)}},
	{"1MB", map[string]any{"messages": conversationOf(1 << 20)}},
}

func conversationOf(size int) []any {
	var list []any
	for i := 0; size > 0; i++ {
		text := strings.Repeat(sentence, 1+i%7)
		list = append(list, messages.Human(text, messages.WithID(fmt.Sprint(i))))
		size -= len(text) + 150
	}
	return list
}

// BenchmarkAgainstOneRow times Put and Get against the floor: one prepared INSERT, one prepared SELECT, of the same bytes
// in one row. The two alternate within one run, so that their ratio holds on a noisy machine. fsync and
// synchronous_commit are on.
func BenchmarkAgainstOneRow(b *testing.B) {
	postgres, err := testcontainers.Run(b.Context())
	require.NoError(b, err)
	defer func() { require.NoError(b, postgres.Close(b.Context())) }()
	pool, err := pgxpool.New(b.Context(), postgres.ConnString())
	require.NoError(b, err)
	defer pool.Close()
	_, err = pool.Exec(b.Context(), `create table floor (id text collate "C" primary key, value bytea compression lz4)`)
	require.NoError(b, err)
	saver := pgsaver.New(pool, nil)

	for _, payload := range payloads {
		b.Run(payload.name, func(b *testing.B) {
			var bytes []byte
			for _, value := range payload.values {
				typed, err := serde.Default().Dump(value)
				require.NoError(b, err)
				bytes = append(bytes, typed.Data...)
			}
			var put, get, floorPut, floorGet time.Duration
			thread := payload.name
			config := checkpoint.Config{ThreadID: thread}
			for b.Loop() {
				cp := step(payload.values)
				start := time.Now()
				config, err = saver.Put(b.Context(), config, cp, checkpoint.Metadata{"source": "loop", "step": 1}, nil)
				put += time.Since(start)
				require.NoError(b, err)

				start = time.Now()
				_, err = pool.Exec(b.Context(), "insert into floor values ($1, $2)", cp.ID, bytes)
				floorPut += time.Since(start)
				require.NoError(b, err)

				start = time.Now()
				_, err = saver.Get(b.Context(), checkpoint.Config{ThreadID: thread})
				get += time.Since(start)
				require.NoError(b, err)

				var read []byte
				start = time.Now()
				err = pool.QueryRow(b.Context(), "select value from floor where id = $1", cp.ID).Scan(&read)
				floorGet += time.Since(start)
				require.NoError(b, err)
			}
			per := func(total time.Duration) float64 { return float64(total.Microseconds()) / float64(b.N) }
			b.ReportMetric(per(put), "put-us")
			b.ReportMetric(per(floorPut), "insert-us")
			b.ReportMetric(per(floorPut)/per(put), "put/insert-throughput")
			b.ReportMetric(per(get), "get-us")
			b.ReportMetric(per(floorGet), "select-us")
			b.ReportMetric(per(get)/per(floorGet), "get/select-time")
			b.ReportMetric(0, "ns/op")
		})
	}
}
