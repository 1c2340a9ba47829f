package sql_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/pgweft/pgweft/migrations"
)

// entry is an item of the store to put, with its vectors. Without a value it is {}; ttl 0 never expires.
type entry struct {
	prefix, key, value string
	ttl                time.Duration
	vectors            []entryVector
}

type entryVector struct {
	field   string
	numbers []float32
}

func putEntries(t *testing.T, db querier, entries ...entry) {
	t.Helper()
	var items []itemPut
	var vectors []vectorPut
	for i, e := range entries {
		it := itemPut{prefix: e.prefix, key: e.key, value: e.value}
		if it.value == "" {
			it.value = "{}"
		}
		if e.ttl != 0 {
			it.ttl = e.ttl.Minutes()
		}
		items = append(items, it)
		for _, v := range e.vectors {
			vectors = append(vectors, vectorPut{item: i + 1, field: v.field, numbers: v.numbers})
		}
	}
	putVectors(t, db, items, vectors...)
}

// age moves the times of every item so far into the past.
func age(t *testing.T, db querier, by time.Duration) {
	t.Helper()
	exec(t, db, `update langgraph.store set created_at = created_at - $1::interval, updated_at = updated_at - $1::interval,
		expires_at = expires_at - $1::interval`, by)
}

func newVectorDatabase(t *testing.T, dims int, options string) *pgxpool.Pool {
	t.Helper()
	db := newDatabase(t)
	exec(t, db, fmt.Sprintf("select langgraph.enable_vector_index(%d%s)", dims, options))
	return db
}

// search calls store_search with arguments as SQL and gives the items, "prefix/key" each.
func search(t *testing.T, db querier, args string, params ...any) []string {
	t.Helper()
	return column[string](t, db, "select prefix || '/' || key from langgraph.store_search("+args+")", params...)
}

// scored is search with scores to four places.
func scored(t *testing.T, db querier, args string, params ...any) []string {
	t.Helper()
	return column[string](t, db, "select prefix || '/' || key || ' ' || round(score::numeric, 4) from langgraph.store_search("+args+")", params...)
}

func TestAPrefixMatchesWholeLabels(t *testing.T) {
	t.Parallel()
	db := newVectorDatabase(t, 1, ", p_distance => 'l2'")
	prefixes := []string{"a", "a!", "a-b", "a-b.c", "a.b", "a.b.c", "a/b", "a0", "ab", `a\b`, "a_b", "a%", `a'"`, "A", "é", "é.ü"}
	for _, prefix := range prefixes {
		putEntries(t, db, entry{prefix: prefix, key: "k", value: `{}`, vectors: []entryVector{{field: "x", numbers: []float32{1}}}})
	}
	// As if put at once: then ties go by prefix, with and without a query.
	exec(t, db, "update langgraph.store set updated_at = now()")
	slices.Sort(prefixes)
	for _, prefix := range append([]string{"", "a.b.c.d", "b", "a.", "%", "_", "a_", "a.%"}, prefixes...) {
		want := []string{}
		for _, p := range prefixes {
			if prefix == "" || p == prefix || strings.HasPrefix(p, prefix+".") {
				want = append(want, p+"/k")
			}
		}
		for _, more := range []string{"", ", p_query_vector => array[1]", `, '{"a": null}'`, `, '{"a": null}', p_query_vector => array[1]`} {
			require.Equal(t, want, search(t, db, "$1"+strings.Replace(more, ", '", ", p_filter => '", 1)+", p_limit => 100", prefix), prefix+more)
		}
	}
}

func TestWithoutAQueryTheMostRecentlyUpdatedComesFirst(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	for _, batch := range [][]entry{
		{{prefix: "b", key: "2"}, {prefix: "b", key: "1"}, {prefix: "B", key: "3"}},
		{{prefix: "a", key: "5"}, {prefix: "a", key: "4"}},
		{{prefix: "b", key: "2"}},
	} {
		for i := range batch {
			batch[i].value = `{}`
		}
		age(t, db, time.Minute)
		putEntries(t, db, batch...)
	}
	want := []string{"b/2", "a/4", "a/5", "B/3", "b/1"}
	require.Equal(t, want, search(t, db, "''"))
	require.Equal(t, want[:2], search(t, db, "'', p_limit => 2"))
	require.Equal(t, want[2:4], search(t, db, "'', p_limit => 2, p_offset => 2"))
	require.Equal(t, want[4:], search(t, db, "'', p_offset => 4"))
	require.Empty(t, search(t, db, "'', p_offset => 5"))
	require.Empty(t, search(t, db, "'', p_limit => 0"))
	require.Equal(t, want, search(t, db, "'', p_limit => 2147483647"))
	require.Empty(t, search(t, db, "'', p_limit => 2147483647, p_offset => 2147483647"))
	require.Equal(t, []string{"b/2", "b/1"}, search(t, db, "'b', p_mode => 'none', p_query_text => 'unused'"))
	require.Equal(t, 5, value[int](t, db, "select count(*)::int from langgraph.store_search('') where score is null"))
}

func TestVectorSearchRanksByTheBestVectorOfAnItem(t *testing.T) {
	t.Parallel()
	items := []entry{
		{prefix: "a", key: "east", vectors: []entryVector{{field: "x", numbers: []float32{2, 0}}}},
		{prefix: "a", key: "both", vectors: []entryVector{{field: "x", numbers: []float32{-3, -3}}, {field: "y", numbers: []float32{1, 1}}}},
		{prefix: "a", key: "north", vectors: []entryVector{{field: "x", numbers: []float32{0, 1}}}},
		{prefix: "a", key: "also north", vectors: []entryVector{{field: "x", numbers: []float32{0, 1}}, {field: "y", numbers: []float32{0, 1}}}},
		{prefix: "b", key: "west", vectors: []entryVector{{field: "x", numbers: []float32{-4, 0}}}},
		{prefix: "b", key: "zero", vectors: []entryVector{{field: "x", numbers: []float32{0, 0}}}},
		{prefix: "b", key: "none"},
	}
	for distance, want := range map[string][]string{
		"cosine":        {"a/east 1.0000", "a/both 0.7071", "a/also north 0.0000", "a/north 0.0000", "b/zero 0.0000", "b/west -1.0000"},
		"l2":            {"a/both -1.0000", "a/east -1.0000", "b/zero -1.0000", "a/also north -1.4142", "a/north -1.4142", "b/west -5.0000"},
		"inner_product": {"a/east 2.0000", "a/both 1.0000", "a/also north 0.0000", "a/north 0.0000", "b/zero 0.0000", "b/west -4.0000"},
	} {
		for _, kind := range []string{"vector", "halfvec"} {
			for _, method := range []string{"hnsw", "ivfflat", "flat"} {
				t.Run(distance+" of "+kind+" by "+method, func(t *testing.T) {
					t.Parallel()
					db := newVectorDatabase(t, 2, fmt.Sprintf(", '%s', '%s', '%s'", kind, distance, method))
					for i := range items {
						items := slices.Clone(items)
						items[i].value = fmt.Sprintf(`{"n": %d}`, i)
						putEntries(t, db, items[i])
					}
					require.Equal(t, want, scored(t, db, "'', p_query_vector => array[1, 0]"))
					require.Equal(t, want[1:3], scored(t, db, "'', p_query_vector => array[1, 0], p_limit => 2, p_offset => 1"))
					require.Equal(t, want[slices.IndexFunc(want, func(s string) bool { return strings.HasPrefix(s, "a/both ") }):][:1],
						scored(t, db, `'a', '{"n": {"$in": [1, 4, 6]}}', p_query_vector => array[1, 0]`))
					require.Empty(t, scored(t, db, "'c', p_query_vector => array[1, 0]"))
					require.Len(t, scored(t, db, "'', p_query_vector => array[0, 0]"), 6)
				})
			}
		}
	}
}

func TestAnswersOfVectorSearchAreOrderedByKeyWhereTheyAreEquallyNear(t *testing.T) {
	t.Parallel()
	db := newVectorDatabase(t, 4, "")
	// So many that the index is followed, and most of them the same.
	exec(t, db, `
		with items as (
			insert into langgraph.store (prefix, key, value)
			select 'a', 'k' || lpad((i * 7919 % 20000)::text, 5, '0'), '{}' from generate_series(0, 19999) i returning prefix, key
		)
		insert into langgraph.store_vectors (prefix, key, field_name, embedding)
		select prefix, key, 'x', case when key < 'k15000' then '[1,0,0,0]' else '[0.5,0.5,0,0]' end::vector from items`)
	exec(t, db, "analyze langgraph.store, langgraph.store_vectors")
	var pages []string
	for offset := range 4 {
		pages = append(pages, search(t, db, "'a', p_query_vector => array[1, 0, 0, 0], p_limit => 3, p_offset => $1", 3*offset)...)
	}
	require.Equal(t, []string{
		"a/k00000", "a/k00001", "a/k00002", "a/k00003", "a/k00004", "a/k00005", "a/k00006", "a/k00007", "a/k00008", "a/k00009",
		"a/k00010", "a/k00011",
	}, pages)
}

// cluster is a seeded set of vectors in clusters, as embeddings of texts about so many topics.
func cluster(random *rand.Rand, count, dims, topics int) [][]float32 {
	normal := func(scale float64) []float64 {
		v := make([]float64, dims)
		for i := range v {
			v[i] = random.NormFloat64() * scale
		}
		return v
	}
	centers := make([][]float64, topics)
	for i := range centers {
		centers[i] = normal(1)
	}
	vectors := make([][]float32, count)
	for i := range vectors {
		center, noise := centers[random.IntN(topics)], normal(0.7)
		vectors[i] = make([]float32, dims)
		for d := range vectors[i] {
			vectors[i][d] = float32(center[d] + noise[d])
		}
	}
	return vectors
}

// byDistance are the positions of vectors, the nearest to the query by cosine first.
func byDistance(query []float32, vectors [][]float32) []int {
	distances := make([]float64, len(vectors))
	order := make([]int, len(vectors))
	for i, v := range vectors {
		var dot, square float64
		for d := range v {
			dot += float64(v[d]) * float64(query[d])
			square += float64(v[d]) * float64(v[d])
		}
		order[i], distances[i] = i, -dot/math.Sqrt(square)
	}
	slices.SortFunc(order, func(a, b int) int { return compareOrdered(distances[a], distances[b]) })
	return order
}

// first are the first of them that may be among the answers.
func first(order []int, limit int, among func(int) bool) []int {
	var found []int
	for _, i := range order {
		if len(found) < limit && among(i) {
			found = append(found, i)
		}
	}
	return found
}

// newClusteredDatabase has vectors so many that an index is worth following: item i in namespace all.<share>, with filterable
// values.
func newClusteredDatabase(t *testing.T, vectors [][]float32, method string) *pgxpool.Pool {
	t.Helper()
	db := newVectorDatabase(t, len(vectors[0]), ", p_method => 'flat'")
	conn, err := db.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	_, err = conn.Conn().CopyFrom(t.Context(), pgx.Identifier{"langgraph", "store"}, []string{"prefix", "key", "value"},
		pgx.CopyFromSlice(len(vectors), func(i int) ([]any, error) {
			return []any{clusteredPrefix(i), fmt.Sprintf("k%05d", i), fmt.Sprintf(`{"n": %d, "mod2": %d, "mod100": %d}`, i, i%2, i%100)}, nil
		}))
	require.NoError(t, err)
	exec(t, conn, "create temporary table copied (prefix text, key text, numbers real[])")
	_, err = conn.Conn().CopyFrom(t.Context(), pgx.Identifier{"copied"}, []string{"prefix", "key", "numbers"},
		pgx.CopyFromSlice(len(vectors), func(i int) ([]any, error) {
			return []any{clusteredPrefix(i), fmt.Sprintf("k%05d", i), vectors[i]}, nil
		}))
	require.NoError(t, err)
	exec(t, conn, `insert into langgraph.store_vectors (prefix, key, field_name, embedding) select prefix, key, 'x', numbers from copied`)
	if method != "flat" {
		exec(t, conn, "select langgraph.enable_vector_index($1, p_method => $2)", len(vectors[0]), method)
	}
	exec(t, conn, "analyze langgraph.store, langgraph.store_vectors")
	return db
}

func clusteredPrefix(i int) string {
	switch {
	case i%1000 == 3:
		return "all.tiny"
	case i%100 == 7:
		return "all.small"
	case i%10 == 1:
		return "all.middle"
	default:
		return "all.rest"
	}
}

func TestVectorSearchFindsTheNearestOfManyWhateverTheFilter(t *testing.T) {
	t.Parallel()
	const count, dims, limit = 20000, 24, 10
	random := rand.New(rand.NewPCG(1, 2)) // an index and its recall are measured, so the data are always the same
	vectors := cluster(random, count, dims, 100)
	queries := cluster(rand.New(rand.NewPCG(1, 2)), count, dims, 100)[:8]
	for i, q := range queries {
		for d := range q {
			queries[i][d] += float32(random.NormFloat64() * 0.3)
		}
	}
	orders := make([][]int, len(queries))
	for i, q := range queries {
		orders[i] = byDistance(q, vectors)
	}
	for _, method := range []string{"hnsw", "ivfflat"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			db := newClusteredDatabase(t, vectors, method)
			for _, prefix := range []string{"", "all", "all.middle", "all.small", "all.tiny"} {
				for filter, keeps := range map[string]func(int) bool{
					``:                               func(int) bool { return true },
					`{"mod2": 1}`:                    func(i int) bool { return i%2 == 1 },
					`{"n": {"$lt": 10000}}`:          func(i int) bool { return i < 10000 },
					`{"mod100": {"$in": [1, 7]}}`:    func(i int) bool { return i%100 == 1 || i%100 == 7 },
					`{"mod100": 1}`:                  func(i int) bool { return i%100 == 1 },
					`{"n": {"$gt": 19990}}`:          func(i int) bool { return i > 19990 },
					`{"mod100": {"$exists": false}}`: func(int) bool { return false },
				} {
					found, wanted := 0, 0
					for n, q := range queries {
						want := first(orders[n], limit, func(i int) bool {
							p := clusteredPrefix(i)
							return (prefix == "" || prefix == "all" || p == prefix) && keeps(i)
						})
						var param any
						if filter != "" {
							param = filter
						}
						got := column[string](t, db, "select key from langgraph.store_search($1, $2::jsonb, $3, p_query_vector => $4)", prefix, param, limit, q)
						require.Len(t, got, len(want), "as many as match, up to the limit: %q %s", prefix, filter)
						wanted += len(want)
						for _, i := range want {
							if slices.Contains(got, fmt.Sprintf("k%05d", i)) {
								found++
							}
						}
					}
					require.GreaterOrEqual(t, float64(found), 0.98*float64(wanted), "recall in %q with %s", prefix, filter)
				}
			}
		})
	}
}

func TestVectorSearchFollowsTheIndexInALargeNamespaceAndOnlyThere(t *testing.T) {
	t.Parallel()
	vectors := cluster(rand.New(rand.NewPCG(3, 4)), 8000, 8, 50)
	for _, method := range []string{"hnsw", "ivfflat"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			db := newClusteredDatabase(t, vectors, method)
			counters := func(tx pgx.Tx) (indexScans, tuples int64) {
				return value[int64](t, tx, "select pg_stat_get_xact_numscans('langgraph.store_vectors_embedding_idx'::regclass)"),
					value[int64](t, tx, `select pg_stat_get_xact_tuples_returned('langgraph.store'::regclass)
						+ pg_stat_get_xact_tuples_returned('langgraph.store_vectors'::regclass)`)
			}
			// scans are those of the index, and the tuples that scans of tables returned.
			scans := func(args string) (indexed, sequential int64) {
				inTx(t, db, func(tx pgx.Tx) {
					indexedBefore, sequentialBefore := counters(tx)
					require.Len(t, search(t, tx, args+", p_query_vector => $1", vectors[5]), 10)
					indexed, sequential = counters(tx)
					indexed, sequential = indexed-indexedBefore, sequential-sequentialBefore
				})
				return indexed, sequential
			}
			for args, large := range map[string]bool{"''": true, "'all'": true, `'', '{"mod2": 1}'`: true, "'all.small'": false, `'all.small', '{"mod2": 1}'`: false} {
				indexed, sequential := scans(args)
				require.Equal(t, large, indexed > 0, args)
				require.Less(t, sequential, int64(len(vectors)/4), "no table is read from end to end: %s", args)
			}
			t.Run("but not of an old pgvector, which cannot go on from where it stopped", func(t *testing.T) {
				inTx(t, db, func(tx pgx.Tx) {
					exec(t, tx, "update pg_extension set extversion = '0.7.4' where extname = 'vector'")
					before, _ := counters(tx)
					require.Len(t, search(t, tx, "'', p_query_vector => $1", vectors[5]), 10)
					after, _ := counters(tx)
					require.Equal(t, before, after)
				})
			})
		})
	}
}

func TestItemsWithManyVectorsTakeOnePlaceEach(t *testing.T) {
	t.Parallel()
	vectors := cluster(rand.New(rand.NewPCG(5, 6)), 8000, 8, 20)
	db := newClusteredDatabase(t, vectors, "hnsw")
	// The item nearest to the query has a thousand vectors at that place.
	exec(t, db, `insert into langgraph.store_vectors (prefix, key, field_name, embedding)
		select 'all.rest', 'k00005', 'many.' || i, $1::real[]::vector from generate_series(1, 1000) i`, vectors[5])
	got := search(t, db, "'', p_query_vector => $1", vectors[5])
	require.Len(t, got, 10)
	require.Equal(t, "all.rest/k00005", got[0])
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(got))), 10)
	want := byDistance(vectors[5], vectors)[:10]
	for i, n := range want {
		require.Equal(t, fmt.Sprintf("k%05d", n), got[i][len(got[i])-6:])
	}
}

func TestAllThatMatchIsFoundWhereMuchHasExpired(t *testing.T) {
	t.Parallel()
	vectors := cluster(rand.New(rand.NewPCG(7, 8)), 8000, 8, 20)
	db := newClusteredDatabase(t, vectors, "hnsw")
	exec(t, db, "update langgraph.store set expires_at = now() - interval '1 minute', ttl_minutes = 1 where key not like '%00'")
	for _, prefix := range []string{"", "all", "all.rest"} {
		want := first(byDistance(vectors[5], vectors), 10, func(i int) bool { return i%100 == 0 })
		got := search(t, db, "$1, p_query_vector => $2", prefix, vectors[5])
		require.Len(t, got, 10)
		for i, n := range want {
			require.Equal(t, fmt.Sprintf("all.rest/k%05d", n), got[i])
		}
	}
}

// settings that a search may change, and what they are.
func searchSettings(t *testing.T, db querier) map[string]string {
	t.Helper()
	settings := map[string]string{}
	for _, row := range table[struct{ Name, Setting string }](t, db, `
		select name, setting from pg_settings
		where name like 'hnsw.%' or name like 'ivfflat.%' or name like 'enable\_%' or name in ('jit', 'search_path', 'work_mem')`) {
		settings[row.Name] = row.Setting
	}
	return settings
}

func TestASearchLeavesTheSettingsOfItsTransactionAsTheyWere(t *testing.T) {
	t.Parallel()
	vectors := cluster(rand.New(rand.NewPCG(9, 10)), 8000, 8, 20)
	for _, method := range []string{"hnsw", "ivfflat"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			db := newClusteredDatabase(t, vectors, method)
			for name, before := range map[string]string{
				"untouched": "select '[1]'::vector",
				"set by the caller": "set hnsw.ef_search = 77; set local hnsw.iterative_scan = strict_order; set local hnsw.max_scan_tuples = 5000;" +
					"set ivfflat.probes = 3; set local ivfflat.iterative_scan = off; set local enable_sort = off",
			} {
				inTx(t, db, func(tx pgx.Tx) {
					_, err := tx.Exec(t.Context(), before)
					require.NoError(t, err)
					want := searchSettings(t, tx)
					require.Greater(t, len(want), 20)
					for _, args := range []string{"'', p_query_vector => $1", `'', '{"mod2": 1}', p_query_vector => $1`, `'all.tiny', p_query_vector => $1`, `'', '{"n": -1}', p_query_vector => $1`} {
						search(t, tx, args, vectors[0])
						require.Equal(t, want, searchSettings(t, tx), "%s: %s", name, args)
					}
					inSavepoint(t, tx, func(sp pgx.Tx) {
						exec(t, sp, "update pg_extension set extversion = '0.8.9' where extname = 'vector'")
						exec(t, sp, "drop index langgraph.store_vectors_embedding_idx")
						exec(t, sp, "alter table langgraph.store_vectors drop column field_name cascade")
						exec(t, sp, "alter table langgraph.store drop column value cascade")
						require.Error(t, attempt(t.Context(), sp, `select * from langgraph.store_search('', '{"n": 1}', p_query_vector => $1)`, vectors[0]))
					})
					require.Equal(t, want, searchSettings(t, tx), "after an error")
				})
			}
			t.Run("in a session that had not loaded pgvector", func(t *testing.T) {
				conn, err := pgx.ConnectConfig(t.Context(), db.Config().ConnConfig)
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, conn.Close(context.WithoutCancel(t.Context()))) })
				require.Len(t, search(t, conn, "'', p_query_vector => $1", vectors[0]), 10)
				require.Equal(t, "40 off", value[string](t, conn, "select current_setting('hnsw.ef_search') || ' ' || current_setting('hnsw.iterative_scan')"))
				require.Equal(t, "1 off", value[string](t, conn, "select current_setting('ivfflat.probes') || ' ' || current_setting('ivfflat.iterative_scan')"))
			})
		})
	}
}

func TestTextSearchRanksByTheWordsOfTheQuery(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	exec(t, db, "select langgraph.enable_text_index('english')")
	for key, text := range map[string]string{
		"pizza":  `{"text": "I love pizza, and more pizza"}`,
		"food":   `{"text": "My favorite foods are pizza and sushi"}`,
		"sports": `{"nested": {"list": ["tennis", {"b": "running is my favorite"}]}, "score": 42}`,
		"empty":  `{}`,
	} {
		putEntries(t, db, entry{prefix: "a", key: key, value: text})
	}
	putEntries(t, db, entry{prefix: "b", key: "pizza", value: `{"text": "pizza", "score": 1}`})
	for query, want := range map[string][]string{
		"What is my favorite food?": {"a/food", "a/sports"},
		"PIZZA":                     {"b/pizza", "a/pizza", "a/food"},
		"pizza sushi":               {"a/food", "b/pizza", "a/pizza"},
		"run":                       {"a/sports"},
		"42":                        {"a/sports"},
		`"favorite foods"`:          {"a/food"},
		`"foods favorite"`:          {},
		"pizza -sushi":              {"b/pizza", "a/pizza"},
		"the and of":                {},
		"":                          {},
		`'`:                         {},
		`' | ! & ( \ :* tennis <->`: {"a/sports"},
		"nothing like it":           {},
	} {
		got := search(t, db, "'', p_query_text => $1", query)
		if strings.Contains(query, "pizza") && len(want) > 2 {
			require.ElementsMatch(t, want, got, query)
			continue
		}
		require.Equal(t, want, got, query)
	}
	require.Equal(t, "a/food", search(t, db, "'', p_query_text => 'pizza sushi'")[0], "more of its words rank higher")
	require.Equal(t, []string{"a/pizza", "a/food"}, search(t, db, "'a', p_query_text => 'pizza'"))
	require.Equal(t, []string{"a/food"}, search(t, db, "'a', p_query_text => 'pizza', p_limit => 1, p_offset => 1"))
	require.Equal(t, []string{"b/pizza"}, search(t, db, `'', '{"score": {"$gte": 1}}', p_query_text => 'pizza', p_mode => 'text'`))
	scores := column[float64](t, db, "select score from langgraph.store_search('', p_query_text => 'pizza')")
	require.True(t, slices.IsSortedFunc(scores, func(a, b float64) int { return compareOrdered(b, a) }))
	require.Positive(t, scores[len(scores)-1])

	for _, key := range []string{"2", "1", "3"} {
		putEntries(t, db, entry{prefix: "c", key: key, value: `{"t": "equal words"}`})
	}
	require.Equal(t, []string{"c/1", "c/2", "c/3"}, search(t, db, "'c', p_query_text => 'words'"))
}

func TestTextSearchIsOfTheFieldsThatWereEnabled(t *testing.T) {
	t.Parallel()
	for fields, want := range map[string][]string{
		`{$}`:                       {"title", "deep", "first", "last", "other"},
		`{title}`:                   {"title"},
		`{title,"deep.text"}`:       {"title", "deep"},
		`{"list[0].text"}`:          {"first"},
		`{"list[-1].text"}`:         {"last"},
		`{"list[*].text"}`:          {"first", "last"},
		`{"list[*].*"}`:             {"first", "last"},
		`{*}`:                       {"title", "deep", "first", "last", "other"},
		`{"none.at.all","list[9]"}`: {},
	} {
		t.Run(fields, func(t *testing.T) {
			t.Parallel()
			db := newDatabase(t)
			putEntries(t, db, entry{prefix: "a", key: "before", value: `{"title": "titleword"}`})
			exec(t, db, "select langgraph.enable_text_index('simple', $1::text[])", fields)
			putEntries(t, db, entry{prefix: "a", key: "k", value: `{"title": "titleword", "deep": {"text": "deepword"}, "other": "otherword",
				"list": [{"text": "firstword"}, {"text": "lastword"}]}`})
			var found []string
			for _, word := range []string{"title", "deep", "first", "last", "other"} {
				if slices.Contains(search(t, db, "'', p_query_text => $1", word+"word"), "a/k") {
					found = append(found, word)
				}
			}
			require.ElementsMatch(t, want, found)
			require.Equal(t, slices.Contains(want, "title"), slices.Contains(search(t, db, "'', p_query_text => 'titleword'"), "a/before"),
				"what was there already is found as well")
		})
	}
}

func TestAnItemTooLongForTheTextIndexIsKeptAndFoundByItsBeginning(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	exec(t, db, "select langgraph.enable_text_index()")
	exec(t, db, `select langgraph.store_put(array['a'], array['long'], array[jsonb_build_object('text', 'beginning '
		|| (select string_agg('word' || i, ' ') from generate_series(1, 200000) i) || ' ending')], array[null]::float8[])`)
	require.Equal(t, []string{"a/long"}, search(t, db, "'', p_query_text => 'beginning'"))
	require.Empty(t, search(t, db, "'', p_query_text => 'ending'"))
	require.Equal(t, 1, value[int](t, db, "select count(*)::int from langgraph.store_search('a') where value ->> 'text' like '% ending'"))
}

func TestHybridSearchFusesTheRanksOfVectorsAndText(t *testing.T) {
	t.Parallel()
	db := newVectorDatabase(t, 2, "")
	exec(t, db, "select langgraph.enable_text_index()")
	for key, it := range map[string]struct {
		text    string
		numbers []float32
	}{
		"both":        {"apple", []float32{0.9, 0.1}},
		"text only":   {"apple apple apple", nil},
		"vector only": {"pear", []float32{1, 0}},
		"far":         {"pear", []float32{0, 1}},
		"neither":     {"pear", nil},
	} {
		i := entry{prefix: "a", key: key, value: fmt.Sprintf(`{"t": %q}`, it.text)}
		if it.numbers != nil {
			i.vectors = []entryVector{{field: "t", numbers: it.numbers}}
		}
		putEntries(t, db, i)
	}
	score := func(ranks ...int) string {
		sum := 0.0
		for _, rank := range ranks {
			sum += 1 / float64(60+rank)
		}
		return fmt.Sprintf("%.4f", sum)
	}
	const both = "'a', p_query_vector => array[1, 0], p_query_text => 'apple'"
	text := search(t, db, "'a', p_query_text => 'apple'")
	require.ElementsMatch(t, []string{"a/both", "a/text only"}, text)
	want := []string{"a/both " + score(2, slices.Index(text, "a/both")+1)}
	if text[0] == "a/text only" {
		want = append(want, "a/text only "+score(1), "a/vector only "+score(1), "a/far "+score(3))
	} else {
		want = append(want, "a/vector only "+score(1), "a/text only "+score(2), "a/far "+score(3))
	}
	require.Equal(t, want, scored(t, db, both))
	require.Equal(t, want, scored(t, db, both+", p_mode => 'hybrid'"))
	require.Equal(t, want[1:3], scored(t, db, both+", p_limit => 2, p_offset => 1"))
	require.Equal(t, []string{"a/vector only", "a/both", "a/far"}, search(t, db, both+", p_mode => 'vector'"))
	require.Equal(t, text, search(t, db, both+", p_mode => 'text'"))
	require.Len(t, search(t, db, both+", p_mode => 'none'"), 5)
	require.Equal(t, []string{"a/vector only", "a/both", "a/far"}, search(t, db, "'a', p_query_vector => array[1, 0], p_query_text => 'the'"))
}

func TestSearchesThatCannotBeDoneAreRefused(t *testing.T) {
	t.Parallel()
	bare, db := newDatabase(t), newVectorDatabase(t, 2, "")
	for _, c := range []struct {
		db   querier
		args string
		want refusal
	}{
		{bare, "'', p_query_vector => array[1, 2]", refusal{"LG004", "vector search is not enabled", "enable_vector_index", "owner"}},
		{db, "'', p_query_text => 'x'", refusal{"LG004", "text search is not enabled", "enable_text_index", "owner"}},
		{db, "'', p_query_text => 'x', p_query_vector => array[1, 2]", refusal{"LG004", "text search is not enabled", "enable_text_index", "owner"}},
		{db, "'', p_query_vector => array[1, 2, 3]", refusal{"LG002", "invalid query vector", "3 dimensions, and the vector index 2", "model"}},
		{db, "'', p_query_vector => '{}'", refusal{"LG002", "invalid query vector", "0 dimensions", "model"}},
		{db, "'', p_query_vector => array[1, 'NaN']::real[]", refusal{"LG002", "invalid query vector", "NaN", "finite"}},
		{db, "'', p_query_vector => array[1, null]", refusal{"LG002", "invalid query vector", "a null", "finite"}},
		{db, "null", refusal{"LG002", "invalid search", "prefix NULL", "empty"}},
		{db, "'', p_limit => -1", refusal{"LG002", "invalid search", "limit '-1'", "not negative"}},
		{db, "'', p_offset => null", refusal{"LG002", "invalid search", "offset NULL", "null"}},
		{db, "'', p_refresh_ttl => null", refusal{"LG002", "invalid search", "refresh_ttl NULL", "null"}},
		{db, "'', p_mode => 'fuzzy'", refusal{"LG002", "invalid mode", "'fuzzy' with no query vector and no query text", "hybrid"}},
		{db, "'', p_mode => 'vector', p_query_text => 'x'", refusal{"LG002", "invalid mode", "'vector' with no query vector and a query text", "need"}},
		{db, "'', p_mode => 'text', p_query_vector => array[1, 2]", refusal{"LG002", "invalid mode", "'text' with a query vector and no query text", "need"}},
		{db, "'', p_mode => 'hybrid', p_query_text => 'x'", refusal{"LG002", "invalid mode", "'hybrid'", "need"}},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			requireRefused(t, c.want, attempt(t.Context(), c.db, "select * from langgraph.store_search("+c.args+")"))
		})
	}
}

func TestTheStoreSearchesInASchemaOfAnyName(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{oddSchema, "select", `back\slash`} {
		for _, extension := range []string{"public", oddSchema + " too"} {
			t.Run(schema+" with pgvector in "+extension, func(t *testing.T) {
				t.Parallel()
				conn := installed(t, schema)
				admin, err := pgx.ConnectConfig(t.Context(), withoutRole(conn.Config()))
				require.NoError(t, err)
				defer func() { require.NoError(t, admin.Close(context.WithoutCancel(t.Context()))) }()
				if extension != "public" {
					name := pgx.Identifier{extension}.Sanitize()
					exec(t, admin, "drop extension vector")
					exec(t, admin, "create schema "+name)
					exec(t, admin, "create extension vector schema "+name)
					exec(t, admin, "grant usage on schema "+name+" to public")
				}
				run := func(sql string) { exec(t, conn, quoted(sql, schema)) }
				run("select @.enable_vector_index(2, 'halfvec', 'inner_product')")
				run("select @.enable_text_index()")
				run("select @.enable_filter_index()")
				run("select @.store_put(array['a', 'b'], array['k', 'k'], array['{\"t\": \"one\"}', '{\"t\": \"two\"}']::jsonb[], array[null, null]::float8[], array[1, 2], array['t', 't'], array['h', 'h']::bytea[], array[true, true], array[1, 0, 0, 1])")
				run("select @.store_put(array['b'], array['k'], array['{\"t\": \"two\"}']::jsonb[], array[1]::float8[], array[1], array['t'], array['h']::bytea[], array[false], '{}')")
				for args, want := range map[string]string{
					"'', p_query_vector => array[0, 1]":                                      "b 1, a 0",
					"'', '{\"t\": \"one\"}', p_query_vector => array[0, 1]":                  "a 0",
					"'', p_query_text => 'two'":                                              "b",
					"'', p_query_text => 'two', p_query_vector => array[1, 0], p_limit => 1": "b",
				} {
					got := value[string](t, conn, quoted("select string_agg(prefix || ' ' || score, ', ') from @.store_search("+args+")", schema))
					require.True(t, strings.HasPrefix(got, want), got)
				}
				// Bigger than what is searched exactly.
				run("insert into @.store (prefix, key, value) select 'c', i::text, '{}' from generate_series(1, 2000) i")
				exec(t, admin, quoted("insert into @.store_vectors (prefix, key, field_name, embedding) select 'c', i::text, 'x', array[i, 1]::real[] from generate_series(1, 2000) i", schema))
				run("analyze @.store_vectors")
				require.Equal(t, "2000", value[string](t, conn, quoted("select key from @.store_search('', p_query_vector => array[1, 0], p_limit => 1)", schema)))
			})
		}
	}
}

func withoutRole(config *pgx.ConnConfig) *pgx.ConnConfig {
	config = config.Copy()
	delete(config.RuntimeParams, "role")
	return config
}

func TestEnabledSearchIsNoDriftFromWhatIsShippedAndCanBeMigratedAway(t *testing.T) {
	t.Parallel()
	db := newVectorDatabase(t, 2, "")
	exec(t, db, "select langgraph.enable_text_index()")
	exec(t, db, "select langgraph.enable_filter_index()")
	putEntries(t, db, entry{prefix: "a", key: "k", value: `{"t": "x"}`, vectors: []entryVector{{field: "x", numbers: []float32{1, 1}}}})
	m, err := migrations.New(db.Config().ConnConfig, nil)
	require.NoError(t, err)
	drifts, err := m.Verify(t.Context())
	require.NoError(t, err)
	for _, drift := range drifts {
		require.True(t, drift.Harmless, drift.String())
	}
	require.NoError(t, m.Goto(t.Context(), 1))
	require.NoError(t, m.Up(t.Context()))
	require.True(t, value[bool](t, db, "select dims is null and text_config is null from langgraph.store_info()"))
}

func TestSearchOfEveryKindAgreesWithAModelOnRandomItems(t *testing.T) {
	t.Parallel()
	db := newVectorDatabase(t, 3, ", p_distance => 'l2'")
	random := newRandom(t)
	type modelItem struct {
		prefix, key string
		n           int
		vectors     [][]float32
	}
	model := map[string]modelItem{}
	for range 200 {
		it := modelItem{prefix: pick(random, "a", "a.b", "a-b", "a.b.c", "b"), key: fmt.Sprint(random.IntN(40)), n: random.IntN(5)}
		for range random.IntN(4) {
			it.vectors = append(it.vectors, []float32{float32(random.IntN(4)), float32(random.IntN(4)), float32(random.IntN(4))})
		}
		stored := entry{prefix: it.prefix, key: it.key, value: fmt.Sprintf(`{"n": %d}`, it.n)}
		for i, v := range it.vectors {
			stored.vectors = append(stored.vectors, entryVector{field: fmt.Sprint("f.", i), numbers: v})
		}
		putEntries(t, db, stored)
		model[it.prefix+"/"+it.key] = it
	}
	for range 80 {
		prefix := pick(random, "", "a", "a.b", "a-b", "c")
		most, limit, offset := random.IntN(6), random.IntN(30), random.IntN(10)
		query := []float32{float32(random.IntN(4)), float32(random.IntN(4)), 0.5}
		type hit struct {
			modelItem
			distance float64
		}
		var hits []hit
		for _, it := range model {
			if prefix != "" && it.prefix != prefix && !strings.HasPrefix(it.prefix, prefix+".") || it.n > most || len(it.vectors) == 0 {
				continue
			}
			best := math.Inf(1)
			for _, v := range it.vectors {
				sum := 0.0
				for d := range v {
					sum += float64((v[d] - query[d]) * (v[d] - query[d]))
				}
				best = min(best, math.Sqrt(sum))
			}
			hits = append(hits, hit{it, best})
		}
		slices.SortFunc(hits, func(a, b hit) int {
			if c := compareOrdered(a.distance, b.distance); c != 0 {
				return c
			}
			if c := compareOrdered(a.prefix, b.prefix); c != 0 {
				return c
			}
			return compareOrdered(a.key, b.key)
		})
		want := []string{}
		for i, h := range hits {
			if i >= offset && i < offset+limit {
				want = append(want, fmt.Sprintf("%s/%s", h.prefix, h.key))
			}
		}
		filter, err := json.Marshal(map[string]any{"n": map[string]int{"$lte": most}})
		require.NoError(t, err)
		require.Equal(t, want, search(t, db, "$1, $2, $3, $4, p_query_vector => $5", prefix, string(filter), limit, offset, query),
			"%q, at most %d, limit %d, offset %d, query %v, of %d items: %v", prefix, most, limit, offset, query, len(model), slices.Sorted(maps.Keys(model)))
	}
}
