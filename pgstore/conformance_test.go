package pgstore_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pgweft/pgweft/internal/pgxtest"
	"github.com/pgweft/pgweft/pgstore"
	"github.com/pgweft/pgweft/store"
	"github.com/pgweft/pgweft/store/storetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	for _, mode := range pgxtest.ExecModes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			pool := newPool(t, pgxtest.WithExecMode(mode))
			exec(t, pool, "select langgraph.enable_vector_index($1)", dims)
			exec(t, pool, "select langgraph.enable_text_index()")
			harness := harnessOn(pool)
			harness.Index = &store.IndexConfig{Dims: dims}
			harness.Text = true
			storetest.Run(t, func(*testing.T) storetest.Harness { return harness })
		})
	}
}

func TestConformanceWithoutIndexes(t *testing.T) {
	t.Parallel()
	for _, mode := range pgxtest.ExecModes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			harness := harnessOn(newPool(t, pgxtest.WithExecMode(mode)))
			storetest.Run(t, func(*testing.T) storetest.Harness { return harness })
		})
	}
}

func TestConformanceOfOtherVectors(t *testing.T) {
	t.Parallel()
	for name, index := range map[string]store.IndexConfig{
		"l2 in halfvec":                {Dims: dims, Distance: store.DistanceL2, VectorType: store.VectorTypeHalfvec},
		"inner product in vector":      {Dims: dims, Distance: store.DistanceInnerProduct, VectorType: store.VectorTypeVector},
		"more dimensions than an hnsw": {Dims: 3000, Distance: store.DistanceCosine, VectorType: store.VectorTypeVector},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			method, pool := "hnsw", newPool(t)
			if index.Dims > 2000 {
				method = "flat"
			}
			exec(t, pool, "select langgraph.enable_vector_index($1, $2, $3, $4)", index.Dims, index.VectorType, index.Distance, method)
			harness := harnessOn(pool)
			harness.Index = &index
			storetest.Run(t, func(*testing.T) storetest.Harness { return harness })
		})
	}
}

func harnessOn(pool *pgxpool.Pool) storetest.Harness {
	return storetest.Harness{
		Open: func(_ *testing.T, settings storetest.Settings) store.Store {
			return pgstore.New(pool, &pgstore.Config{Index: settings.Index, TTL: settings.TTL})
		},
		Advance: func(t *testing.T, namespacePrefix []string, d time.Duration) {
			t.Helper()
			exec(t, pool, "update langgraph.store set expires_at = expires_at - $2::interval where starts_with(prefix || '.', $1 || '.')",
				store.JoinNamespace(namespacePrefix), d)
		},
	}
}
