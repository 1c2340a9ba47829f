package pgstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/internal/pgxtest"
	"github.com/pgweft/pgweft/pgstore"
	"github.com/pgweft/pgweft/store"
)

func TestAnIndexThatDoesNotSuitIsRefusedWithTheCallThatMendsIt(t *testing.T) {
	t.Parallel()
	local := store.NewLocalEmbedder(dims)
	for name, test := range map[string]struct {
		sql   string
		index store.IndexConfig
		want  error
		text  string
	}{
		"none": {
			sql: "select 1", index: store.IndexConfig{Dims: dims, Embed: local, Distance: store.DistanceL2},
			want: store.ErrNotEnabled, text: `make it with: select "langgraph".enable_vector_index(64, p_distance => 'l2')`,
		},
		"other dimensions": {
			sql:   "select langgraph.enable_vector_index(32)",
			index: store.IndexConfig{Dims: dims, Embed: local}, want: pgstore.ErrIndexMismatch,
			text: "has dimensions 32, and Config.Index 64",
		},
		"another distance": {
			sql:   "select langgraph.enable_vector_index(64, p_distance => 'inner_product')",
			index: store.IndexConfig{Dims: dims, Embed: local, Distance: store.DistanceCosine}, want: pgstore.ErrIndexMismatch,
			text: "has distance inner_product, and Config.Index cosine",
		},
		"another vector type": {
			sql:   "select langgraph.enable_vector_index(64, p_vector_type => 'halfvec')",
			index: store.IndexConfig{Dims: dims, Embed: local, VectorType: store.VectorTypeVector}, want: pgstore.ErrIndexMismatch,
			text: "has vector type halfvec, and Config.Index vector",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := newPool(t)
			exec(t, pool, test.sql)
			s := pgstore.New(pool, &pgstore.Config{Index: &test.index})
			for range 2 {
				err := store.Put(t.Context(), s, namespace, "k", text("v"))
				require.ErrorIs(t, err, test.want)
				require.ErrorContains(t, err, test.text)
				require.ErrorContains(t, err, "enable_vector_index(64")
			}
			require.Zero(t, query[int](t, pool, "select count(*)::int from langgraph.store"))
			put(t, pgstore.New(pool, nil), "k", "a store without an index does not mind")

			exec(t, pool, "drop table if exists langgraph.store_vectors")
			exec(t, pool, "select langgraph.enable_vector_index($1, $2, $3)", dims, orElse(string(test.index.VectorType), "vector"),
				orElse(string(test.index.Distance), "cosine"))
			put(t, s, "k", "and the other need not be made anew")
		})
	}
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

func TestAnIndexTakesDistanceAndTypeFromTheDatabaseWhereItNamesNone(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	exec(t, pool, "select langgraph.enable_vector_index(64, 'halfvec', 'l2')")
	s := pgstore.New(pool, indexed(newEmbedder(), "text"))
	put(t, s, "k", "some words")
	found, err := store.Search(t.Context(), s, store.SearchOp{Query: "some words"})
	require.NoError(t, err)
	require.InDelta(t, 0, *found[0].Score, 1e-3, "the score of L2 is the negative distance")
}

func TestAConfigurationThatCannotBeUsedIsSaidAtEveryCall(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	for name, config := range map[string]*pgstore.Config{
		"no embedder":        {Index: &store.IndexConfig{Dims: dims}},
		"no dimensions":      {Index: &store.IndexConfig{Embed: store.NewLocalEmbedder(dims)}},
		"an odd distance":    {Index: &store.IndexConfig{Dims: dims, Embed: store.NewLocalEmbedder(dims), Distance: "far"}},
		"a negative default": {TTL: &store.TTLConfig{DefaultTTL: -1}},
	} {
		s := pgstore.New(pool, config)
		for range 2 {
			_, err := s.Batch(t.Context())
			require.ErrorIs(t, err, store.ErrInvalidArgument, name)
			require.ErrorContains(t, err, "pgstore: config: ", name)
			_, err = s.Sweep(t.Context(), pgstore.SweepOptions{})
			require.ErrorIs(t, err, store.ErrInvalidArgument, name)
		}
	}
}

// vectors are the fields that have one, as "key/field".
func vectors(t *testing.T, db pgstore.DB) []string {
	t.Helper()
	rows, err := db.Query(t.Context(), "select key || '/' || field_name from langgraph.store_vectors order by 1")
	require.NoError(t, err)
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return found
}

func TestABatchEmbedsItsTextsInOneCallEachOnceAndOnlyWhatCounts(t *testing.T) {
	t.Parallel()
	for _, mode := range pgxtest.ExecModes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			pool := newIndexedPool(t, pgxtest.WithExecMode(mode))
			e := newEmbedder()
			s := pgstore.New(pool, indexed(e, "text", "tags[*]"))
			tagged := func(words string, tags ...any) map[string]any { return map[string]any{"text": words, "tags": tags} }
			_, err := s.Batch(t.Context(),
				store.PutOp{Namespace: namespace, Key: "a", Value: text("replaced in the same batch")},
				store.PutOp{Namespace: namespace, Key: "b", Value: tagged("shared", "x", "y")},
				store.PutOp{Namespace: namespace, Key: "a", Value: text("shared")},
				store.PutOp{Namespace: namespace, Key: "c", Value: text("left out"), Index: store.NoIndex},
				store.PutOp{Namespace: namespace, Key: "d", Value: tagged("left out", "x"), Index: []string{"tags[0]"}},
				store.PutOp{Namespace: namespace, Key: "e", Value: text("removed")},
				store.PutOp{Namespace: namespace, Key: "e"},
				store.SearchOp{Query: "shared"}, store.SearchOp{Query: "shared", Limit: 1}, store.SearchOp{Query: "x"})
			require.NoError(t, err)
			require.Equal(t, [][]string{{"shared", "x", "y"}}, e.asked())
			require.Equal(t, []string{"shared", "x"}, e.queries)
			require.Equal(t, []string{"a/text", "b/tags[*].0", "b/tags[*].1", "b/text", "d/tags[0]"}, vectors(t, pool))

			found, err := store.Search(t.Context(), s, store.SearchOp{Query: "y", Limit: 1})
			require.NoError(t, err)
			require.Equal(t, []string{"b"}, keys(found))
			require.InDelta(t, 1, *found[0].Score, 1e-6, "the vector went to its own text")
		})
	}
}

func TestWhatIsUnchangedIsNotEmbeddedAgain(t *testing.T) {
	t.Parallel()
	for _, mode := range pgxtest.ExecModes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			pool := newIndexedPool(t, pgxtest.WithExecMode(mode))
			e := newEmbedder()
			s := pgstore.New(pool, indexed(e, "title", "text"))
			write := func(title, words string) {
				t.Helper()
				require.NoError(t, store.Put(t.Context(), s, namespace, "k", map[string]any{"title": title, "text": words}))
			}
			write("title", "words")
			require.Equal(t, [][]string{{"title", "words"}}, e.asked())
			write("title", "words")
			require.Empty(t, e.asked(), "nothing changed")
			write("title", "other words")
			require.Equal(t, [][]string{{"other words"}}, e.asked())
			found, err := store.Search(t.Context(), s, store.SearchOp{Query: "title"})
			require.NoError(t, err)
			require.InDelta(t, 1, *found[0].Score, 1e-6)

			put(t, s, "k", "other words")
			require.Empty(t, e.asked())
			require.Equal(t, []string{"k/text"}, vectors(t, pool), "the title has gone, and its vector with it")

			another := pgstore.New(pool, indexed(store.Identify(e, "another model"), "text"))
			put(t, another, "k", "other words")
			require.Equal(t, [][]string{{"other words"}}, e.asked(), "another model makes other vectors")

			unknown := pgstore.New(pool, indexed(store.Identify(e, ""), "text"))
			for range 2 {
				put(t, unknown, "k", "other words")
				require.Equal(t, [][]string{{"other words"}}, e.asked(), "nobody knows of which model the vectors are")
			}
			require.Nil(t, query[[]byte](t, pool, "select text_hash from langgraph.store_vectors"))
		})
	}
}

// A client that knows nothing of hashes, as LangGraph's own store, changes vectors under ours.
func TestAVectorThatAnotherClientMadeIsEmbeddedAgain(t *testing.T) {
	t.Parallel()
	pool := newIndexedPool(t)
	e := newEmbedder()
	s := pgstore.New(pool, indexed(e, "text"))
	put(t, s, "k", "words")
	e.asked()
	exec(t, pool, `update langgraph.store_vectors set embedding = array_fill(1::real, array[64])::vector`)
	put(t, s, "k", "words")
	require.Equal(t, [][]string{{"words"}}, e.asked())
	found, err := store.Search(t.Context(), s, store.SearchOp{Query: "words"})
	require.NoError(t, err)
	require.InDelta(t, 1, *found[0].Score, 1e-6)
}

// meddler is a connection on which something happens right after it was asked which texts are unchanged.
type meddler struct {
	pgx.Tx
	meddle func()
}

func (m *meddler) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	rows, err := m.Tx.Query(ctx, sql, args...)
	if err != nil || !strings.Contains(sql, "store_unchanged") {
		return rows, err
	}
	return &meddlingRows{Rows: rows, meddle: m.meddle}, nil
}

type meddlingRows struct {
	pgx.Rows
	meddle func()
}

func (r *meddlingRows) Close() {
	r.Rows.Close()
	if r.meddle != nil {
		r.meddle()
	}
	r.meddle = nil
}

// poolMeddler is the same on a pool, whose sessions end their transactions themselves.
type poolMeddler struct {
	*pgxpool.Pool
	meddle func()
}

func (m *poolMeddler) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	rows, err := m.Pool.Query(ctx, sql, args...)
	if err != nil || !strings.Contains(sql, "store_unchanged") {
		return rows, err
	}
	return &meddlingRows{Rows: rows, meddle: m.meddle}, nil
}

func TestAVectorThatIsReplacedBeforeTheItemIsPutIsEmbeddedAfterAll(t *testing.T) {
	t.Parallel()
	for _, mode := range pgxtest.ExecModes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			for name, inTx := range map[string]bool{"on a pool": false, "in a transaction": true} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					pool := newIndexedPool(t, pgxtest.WithExecMode(mode))
					e := newEmbedder()
					other := pgstore.New(pool, indexed(newEmbedder(), "text", "title"))
					meddled := 0
					meddle := func() {
						meddled++
						put(t, other, "k", "what somebody else put meanwhile")
					}
					config := indexed(e, "text", "title")
					ops := []store.Op{
						store.PutOp{Namespace: namespace, Key: "k", Value: map[string]any{"text": "words", "title": "new"}},
						store.PutOp{Namespace: namespace, Key: "l", Value: text("beside")},
						store.GetOp{Namespace: namespace, Key: "k"},
					}
					put(t, other, "k", "words")

					var results []store.Result
					var err error
					if inTx {
						err = pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
							exec(t, tx, "create table beside ()")
							results, err = pgstore.New(pool, config).WithTx(&meddler{Tx: tx, meddle: meddle}).Batch(t.Context(), ops...)
							return err
						})
						require.True(t, query[bool](t, pool, "select to_regclass('beside') is not null"), "the transaction went on")
					} else {
						results, err = pgstore.New(&poolMeddler{pool, meddle}, config).Batch(t.Context(), ops...)
					}
					require.NoError(t, err)
					require.Equal(t, 1, meddled)
					require.Equal(t, [][]string{{"new", "beside"}, {"words"}}, e.asked(), "what was embedded already is not lost")
					require.Equal(t, text("what somebody else put meanwhile"), results[2].Item.Value)
					require.Equal(t, []string{"k/text", "k/title", "l/text"}, vectors(t, pool))
					require.Equal(t, config.Index.Hash("words"), query[[]byte](t, pool,
						"select text_hash from langgraph.store_vectors where key = 'k' and field_name = 'text'"))
				})
			}
		})
	}
}

func TestWhenTheEmbedderFailsNothingIsWritten(t *testing.T) {
	t.Parallel()
	pool := newIndexedPool(t)
	e := newEmbedder()
	s := pgstore.New(pool, indexed(e, "text"))
	e.fail = errors.New("the model is away")
	for name, op := range map[string]store.Op{
		"put":    store.PutOp{Namespace: namespace, Key: "k", Value: text("v")},
		"search": store.SearchOp{Query: "q"},
	} {
		_, err := s.Batch(t.Context(), store.PutOp{Namespace: namespace, Key: "l", Value: text("v"), Index: store.NoIndex}, op)
		require.ErrorIs(t, err, store.ErrEmbedding)
		require.ErrorIs(t, err, e.fail)
		require.ErrorContains(t, err, "pgstore: "+name+": ")
	}
	e.fail = nil
	wrong := pgstore.New(pool, indexed(store.NewLocalEmbedder(dims+1), "text"))
	err := store.Put(t.Context(), wrong, namespace, "k", text("v"))
	require.ErrorIs(t, err, store.ErrEmbedding)
	require.ErrorContains(t, err, "the vector has 65 dimensions, the index 64")

	ctx, cancel := context.WithCancel(t.Context())
	e.before = cancel
	require.ErrorIs(t, store.Put(ctx, s, namespace, "k", text("v")), context.Canceled)
	require.Zero(t, query[int](t, pool, "select count(*)::int from langgraph.store"))
}

// No lock and no snapshot is held while a model thinks.
func TestNoTransactionIsOpenWhileTextsAreEmbedded(t *testing.T) {
	t.Parallel()
	pool := newIndexedPool(t)
	e := newEmbedder()
	e.before = func() {
		require.Zero(t, query[int](t, pool, `select count(*)::int from pg_stat_activity
			where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'
				and backend_type = 'client backend'`))
	}
	put(t, pgstore.New(pool, indexed(e, "text")), "k", "words")
	require.Len(t, e.asked(), 1)
}

func TestIndexedAndUnindexedClientsShareItems(t *testing.T) {
	t.Parallel()
	pool := newIndexedPool(t)
	e := newEmbedder()
	meaning, plain := pgstore.New(pool, indexed(e, "text")), pgstore.New(pool, nil)
	put(t, meaning, "k", "words")
	e.asked()
	put(t, plain, "k", "other words")
	require.Empty(t, vectors(t, pool), "a vector of a text that is not there any more would mislead")
	put(t, meaning, "k", "words")
	require.Equal(t, [][]string{{"words"}}, e.asked())
}
