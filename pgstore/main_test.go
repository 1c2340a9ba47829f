package pgstore_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/internal/pgxtest"
	"github.com/pgweft/pgweft/pgstore"
	"github.com/pgweft/pgweft/store"
	"github.com/pgweft/pgweft/testcontainers"
)

func TestMain(m *testing.M) { testcontainers.Main(m, testcontainers.WithoutFsync()) }

// patience bounds waits for what has to come; no test passes because of it.
const patience = time.Minute

// newPool connects to a database of the test's own; adjust changes the pool's configuration.
func newPool(t *testing.T, adjust ...pgxtest.Adjust) *pgxpool.Pool {
	t.Helper()
	return pgxtest.NewPool(t, testcontainers.NewDatabase(t).ConnString(), adjust...)
}

const dims = 64

// newIndexedPool is newPool with a vector index for the local embedder.
func newIndexedPool(t *testing.T, adjust ...pgxtest.Adjust) *pgxpool.Pool {
	t.Helper()
	pool := newPool(t, adjust...)
	exec(t, pool, "select langgraph.enable_vector_index($1)", dims)
	return pool
}

func indexed(embedder store.Embedder, fields ...string) *pgstore.Config {
	return &pgstore.Config{Index: &store.IndexConfig{Dims: dims, Embed: embedder, Fields: fields}}
}

func exec(t *testing.T, db pgstore.DB, sql string, args ...any) {
	t.Helper()
	_, err := db.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

// query is the single value that a query returns.
func query[T any](t *testing.T, db pgstore.DB, sql string, args ...any) T {
	t.Helper()
	rows, err := db.Query(t.Context(), sql, args...)
	require.NoError(t, err)
	value, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[T])
	require.NoError(t, err)
	return value
}

func requireState(t *testing.T, state string, err error) {
	t.Helper()
	var pgErr *pgconn.PgError
	require.ErrorAs(t, err, &pgErr)
	require.Equal(t, state, pgErr.Code)
}

var namespace = []string{"ann", "notes"}

func text(words string) map[string]any { return map[string]any{"text": words} }

func put(t *testing.T, s store.Store, key, words string) {
	t.Helper()
	require.NoError(t, store.Put(t.Context(), s, namespace, key, text(words)))
}

// value is what is under a key; nil if nothing is.
func value(t *testing.T, s store.Store, key string) map[string]any {
	t.Helper()
	results, err := s.Batch(t.Context(), store.GetOp{Namespace: namespace, Key: key})
	require.NoError(t, err)
	require.Len(t, results, 1)
	if results[0].Item == nil {
		return nil
	}
	return results[0].Item.Value
}

// keys are those of the items that were found, in their order.
func keys(items []store.SearchItem) []string {
	found := make([]string, len(items))
	for i, item := range items {
		found[i] = item.Key
	}
	return found
}

// embedder is the local one, which tells what it was asked for, and fails when it is told to.
type embedder struct {
	store.LocalEmbedder
	mu        sync.Mutex
	documents [][]string
	queries   []string
	fail      error
	// before runs before documents are embedded.
	before func()
}

func newEmbedder() *embedder { return &embedder{LocalEmbedder: store.NewLocalEmbedder(dims)} }

func (e *embedder) EmbedDocuments(ctx context.Context, texts []string) ([][]float32, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.documents = append(e.documents, texts)
	if e.fail != nil {
		return nil, e.fail
	}
	if e.before != nil {
		e.before()
	}
	return e.LocalEmbedder.EmbedDocuments(ctx, texts)
}

func (e *embedder) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.queries = append(e.queries, text)
	if e.fail != nil {
		return nil, e.fail
	}
	return e.LocalEmbedder.EmbedQuery(ctx, text)
}

// asked is what was embedded since the last time, one list a call.
func (e *embedder) asked() [][]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	asked := e.documents
	e.documents = nil
	return asked
}
