// Package pgxtest is what tests of packages on pgx share: every exec mode, and how often a client waits for its server.
package pgxtest

import (
	"context"
	"net"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// ExecModes are all ways in which pgx sends a query. Poolers in transaction mode restrict which can be used.
var ExecModes = []pgx.QueryExecMode{
	pgx.QueryExecModeCacheStatement,
	pgx.QueryExecModeCacheDescribe,
	pgx.QueryExecModeDescribeExec,
	pgx.QueryExecModeExec,
	pgx.QueryExecModeSimpleProtocol,
}

// Adjust changes the configuration of a pool.
type Adjust = func(*pgxpool.Config)

// WithExecMode is the exec mode of all queries.
func WithExecMode(mode pgx.QueryExecMode) Adjust {
	return func(config *pgxpool.Config) { config.ConnConfig.DefaultQueryExecMode = mode }
}

// NewPool connects to a database, until the test ends.
func NewPool(tb testing.TB, connString string, adjust ...Adjust) *pgxpool.Pool {
	tb.Helper()
	config, err := pgxpool.ParseConfig(connString)
	require.NoError(tb, err)
	config.MaxConns = 4
	for _, change := range adjust {
		change(config)
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	require.NoError(tb, err)
	tb.Cleanup(pool.Close)
	return pool
}

// CountRoundTrips gives a pool a single connection, and counts at its socket how often the client waits for the server
// after having sent something.
func CountRoundTrips(trips *atomic.Int64) Adjust {
	return func(config *pgxpool.Config) {
		config.MaxConns = 1
		config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
			return &countingConn{Conn: conn, trips: trips}, err
		}
	}
}

type countingConn struct {
	net.Conn
	trips *atomic.Int64
	sent  atomic.Bool
}

func (c *countingConn) Write(p []byte) (int, error) {
	c.sent.Store(true)
	return c.Conn.Write(p)
}

func (c *countingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && c.sent.Swap(false) {
		c.trips.Add(1)
	}
	return n, err
}
