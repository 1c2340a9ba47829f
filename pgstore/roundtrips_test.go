package pgstore_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/internal/pgxtest"
	"github.com/pgweft/pgweft/pgstore"
	"github.com/pgweft/pgweft/store"
)

// many is a batch of every kind of operation, more than a hundred of them.
func many() []store.Op {
	ops := []store.Op{
		store.SearchOp{NamespacePrefix: namespace},
		store.SearchOp{Filter: map[string]any{"text": "x"}},
		store.ListNamespacesOp{},
		store.ListNamespacesOp{Match: []store.MatchCondition{store.Prefix("ann")}},
	}
	for i := range 50 {
		key := fmt.Sprint(i)
		ops = append(ops,
			store.GetOp{Namespace: namespace, Key: key},
			store.PutOp{Namespace: namespace, Key: key, Value: text("number " + key)},
			store.PutOp{Namespace: []string{"bob"}, Key: key})
	}
	return ops
}

// Once statements are prepared (or in the modes that prepare none), every batch is one round trip. What puts texts into a
// vector index asks in a second one which are there already. The mode that describes statements at each call needs two for
// one by its nature.
func TestEveryBatchIsOneRoundTrip(t *testing.T) {
	t.Parallel()
	for _, mode := range pgxtest.ExecModes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			var trips atomic.Int64
			pool := newIndexedPool(t, pgxtest.WithExecMode(mode), pgxtest.CountRoundTrips(&trips))
			plain, meaning := pgstore.New(pool, nil), pgstore.New(pool, indexed(newEmbedder()))
			each := int64(1)
			if mode == pgx.QueryExecModeDescribeExec {
				each = 2
			}
			number := 0
			for _, test := range []struct {
				name      string
				want      int64
				operation func(ctx context.Context) error
			}{
				{"Get", 1, func(ctx context.Context) error {
					_, err := store.Get(ctx, plain, namespace, "here")
					return err
				}},
				{"Put", 1, func(ctx context.Context) error { return store.Put(ctx, plain, namespace, "a", text("a")) }},
				{"Delete", 1, func(ctx context.Context) error { return store.Delete(ctx, plain, namespace, "a") }},
				{"Search", 1, func(ctx context.Context) error {
					_, err := store.Search(ctx, plain, store.SearchOp{NamespacePrefix: namespace})
					return err
				}},
				{"Search by meaning", 1, func(ctx context.Context) error {
					_, err := store.Search(ctx, meaning, store.SearchOp{Query: "what?"})
					return err
				}},
				{"ListNamespaces", 1, func(ctx context.Context) error {
					_, err := store.ListNamespaces(ctx, plain, store.ListNamespacesOp{})
					return err
				}},
				{"Batch of many", 1, func(ctx context.Context) error {
					_, err := plain.Batch(ctx, many()...)
					return err
				}},
				{"Batch of nothing", 0, func(ctx context.Context) error {
					_, err := plain.Batch(ctx)
					return err
				}},
				{"Put of a new text into an index", 2, func(ctx context.Context) error {
					number++
					return store.Put(ctx, meaning, namespace, "b", text(fmt.Sprint("text ", number)))
				}},
				{"Put of an unchanged text into an index", 2, func(ctx context.Context) error {
					return store.Put(ctx, meaning, namespace, "c", text("c"))
				}},
				{"Put into an index of what is not embedded", 1, func(ctx context.Context) error {
					_, err := meaning.Batch(ctx, store.PutOp{Namespace: namespace, Key: "d", Value: text("d"), Index: store.NoIndex})
					return err
				}},
				{"Batch of many into an index", 2, func(ctx context.Context) error {
					_, err := meaning.Batch(ctx, many()...)
					return err
				}},
				{"Sweep", 1, func(ctx context.Context) error {
					_, err := plain.Sweep(ctx, pgstore.SweepOptions{})
					return err
				}},
			} {
				t.Run(test.name, func(t *testing.T) {
					put(t, plain, "here", "x")
					require.NoError(t, test.operation(t.Context()), "prepares the statements")
					before := trips.Load()
					require.NoError(t, test.operation(t.Context()))
					require.Equal(t, test.want*each, trips.Load()-before)
				})
			}
		})
	}
}

func TestTheFirstCallChecksTheSchemaInOneRoundTripAndTheIndexInAnother(t *testing.T) {
	t.Parallel()
	var trips atomic.Int64
	pool := newIndexedPool(t, pgxtest.WithExecMode(pgx.QueryExecModeExec), pgxtest.CountRoundTrips(&trips))
	for name, test := range map[string]struct {
		config *pgstore.Config
		want   int64
	}{
		"without an index": {nil, 2},
		"with an index":    {indexed(newEmbedder()), 3},
	} {
		s := pgstore.New(pool, test.config)
		before := trips.Load()
		require.Nil(t, value(t, s, "nothing"), name)
		require.Equal(t, test.want, trips.Load()-before, name)
	}
}
