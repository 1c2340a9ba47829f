package pgsaver_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/pgsaver"
)

// BenchmarkTenancy times Put, Get and List of a thread in a schema that is not divided, and in those that are divided by
// setting and by role. They alternate within one run, so that their ratios hold on a noisy machine.
func BenchmarkTenancy(b *testing.B) {
	type contender struct {
		mode           string
		saver          *pgsaver.Saver
		config         checkpoint.Config
		put, get, list time.Duration
	}
	var contenders []*contender
	for _, mode := range []string{"", "setting", "role"} {
		db, schema, login := newTenancy(b, mode)
		config, err := pgx.ParseConfig(db.ConnString())
		require.NoError(b, err)
		config.User, config.Password = login, "login"
		conn, err := pgx.ConnectConfig(b.Context(), config)
		require.NoError(b, err)
		defer func() { require.NoError(b, conn.Close(b.Context())) }()
		var through pgsaver.DB = conn
		if mode == "setting" {
			through = pgsaver.ForTenant(conn, "acme")
		}
		contenders = append(contenders, &contender{
			mode: mode, saver: pgsaver.New(through, &pgsaver.Config{Schema: schema}), config: checkpoint.Config{ThreadID: "t"},
		})
	}
	values := payloads[0].values
	for b.Loop() {
		for _, c := range contenders {
			cp := step(values)
			start := time.Now()
			saved, err := c.saver.Put(b.Context(), c.config, cp, checkpoint.Metadata{"source": "loop", "step": 1}, nil)
			c.put += time.Since(start)
			require.NoError(b, err)
			c.config = saved

			start = time.Now()
			_, err = c.saver.Get(b.Context(), checkpoint.Config{ThreadID: "t"})
			c.get += time.Since(start)
			require.NoError(b, err)

			start = time.Now()
			for _, err := range c.saver.List(b.Context(), checkpoint.Config{}, checkpoint.ListOptions{Limit: 10, WithoutState: true}) {
				require.NoError(b, err)
			}
			c.list += time.Since(start)
		}
	}
	for _, c := range contenders {
		name := c.mode
		if name == "" {
			name = "undivided"
		}
		for what, took := range map[string]time.Duration{"put": c.put, "get": c.get, "list": c.list} {
			b.ReportMetric(float64(took.Microseconds())/float64(b.N), fmt.Sprintf("us/%s-%s", what, name))
		}
	}
	b.ReportMetric(0, "ns/op")
}
