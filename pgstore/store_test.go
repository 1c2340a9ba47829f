package pgstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
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

func TestAValueComesBackAsItWasPut(t *testing.T) {
	t.Parallel()
	beyond, _ := new(big.Int).SetString("123456789012345678901234567890", 10)
	values := map[string]any{
		"null":                  nil,
		"true":                  true,
		"integer":               int64(42),
		"largest integer":       int64(math.MaxInt64),
		"beyond int64":          uint64(math.MaxUint64),
		"beyond uint64":         beyond,
		"whole float":           1.0,
		"float":                 0.1,
		"small float":           5e-324,
		"large float":           1e300,
		"text":                  "您好!👋",
		"empty text":            "",
		"text like an escape":   `\u0000 and \\u0000 and \`,
		"markup":                "<a href='x'>&amp;</a>\u2028",
		"list":                  []any{int64(1), "zwei", nil, []any{}},
		"object":                map[string]any{"": map[string]any{}, "a.b": int64(1), "线": "née"},
		"a name 'with' \"all\"": `it's "quoted" \ $1 %s`,
	}
	for _, mode := range pgxtest.ExecModes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			s := pgstore.New(newPool(t, pgxtest.WithExecMode(mode)), nil)
			require.NoError(t, store.Put(t.Context(), s, namespace, "k", values))
			require.Equal(t, values, value(t, s, "k"))
			found, err := store.Search(t.Context(), s, store.SearchOp{Filter: map[string]any{"beyond int64": uint64(math.MaxUint64)}})
			require.NoError(t, err)
			require.Len(t, found, 1)
			require.Equal(t, values, found[0].Value)
		})
	}
}

func TestNumbersThatNoFloatCanHoldKeepTheirDigits(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	s := pgstore.New(pool, nil)
	digits := "1" + strings.Repeat("0", 400) + ".5"
	require.NoError(t, store.Put(t.Context(), s, namespace, "k", map[string]any{"n": json.Number(digits)}))
	require.Equal(t, map[string]any{"n": json.Number(digits)}, value(t, s, "k"))
}

func TestAnItemSaysWhereAndWhenItWasPut(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	s := pgstore.New(pool, nil)
	put(t, s, "k", "first")
	exec(t, pool, "update langgraph.store set created_at = now() - interval '1 hour', updated_at = now() - interval '1 hour'")
	put(t, s, "k", "second")
	item, err := store.Get(t.Context(), s, namespace, "k")
	require.NoError(t, err)
	require.Equal(t, namespace, item.Namespace)
	require.Equal(t, "k", item.Key)
	require.Equal(t, text("second"), item.Value)
	require.True(t, item.CreatedAt.Equal(query[time.Time](t, pool, "select created_at from langgraph.store")))
	require.True(t, item.UpdatedAt.Equal(query[time.Time](t, pool, "select updated_at from langgraph.store")))
	require.InDelta(t, time.Hour, item.UpdatedAt.Sub(item.CreatedAt), float64(time.Minute))
}

func TestArgumentsThatCannotBeUsedAreRefusedAndNothingIsPut(t *testing.T) {
	t.Parallel()
	pool := newIndexedPool(t)
	embedder := newEmbedder()
	s := pgstore.New(pool, indexed(embedder))
	plain := pgstore.New(pool, nil)
	incompressible := make([]byte, 8000)
	random := rand.NewChaCha8([32]byte{2})
	_, _ = random.Read(incompressible)
	long := strings.ReplaceAll(strings.ToValidUTF8(string(incompressible), ""), "\x00", "")
	invalid := store.ErrInvalidArgument
	for name, test := range map[string]struct {
		s    store.Store
		op   store.Op
		want error
		text string
	}{
		"a put without a namespace": {s, store.PutOp{Key: "k", Value: text("v")}, store.ErrInvalidNamespace, "at least one label"},
		"a put under a label with a dot": {
			s,
			store.PutOp{Namespace: []string{"a.b"}, Key: "k", Value: text("v")},
			store.ErrInvalidNamespace, `"."`,
		},
		"a put under the reserved label": {
			s,
			store.PutOp{Namespace: []string{"langgraph"}, Key: "k", Value: text("v")},
			store.ErrInvalidNamespace, "reserved",
		},
		"a get without a namespace":       {s, store.GetOp{Key: "k"}, store.ErrInvalidNamespace, "at least one label"},
		"a key too long for its index":    {s, store.PutOp{Namespace: namespace, Key: long, Value: text("v")}, invalid, "index row"},
		"NUL in a key":                    {s, store.PutOp{Namespace: namespace, Key: "a\x00b", Value: text("v")}, invalid, "NUL"},
		"NUL in a value":                  {s, store.PutOp{Namespace: namespace, Key: "k", Value: text("a\x00b")}, invalid, "NUL"},
		"broken UTF-8 in a value":         {s, store.PutOp{Namespace: namespace, Key: "k", Value: text("a\xff")}, invalid, "UTF-8"},
		"a value that JSON has not":       {s, store.PutOp{Namespace: namespace, Key: "k", Value: map[string]any{"n": math.NaN()}}, invalid, "NaN"},
		"a value that cannot be encoded":  {s, store.PutOp{Namespace: namespace, Key: "k", Value: map[string]any{"c": make(chan int)}}, invalid, "chan"},
		"a number that numeric has not":   {s, store.PutOp{Namespace: namespace, Key: "k", Value: map[string]any{"n": json.Number("1e200000")}}, invalid, "numeric"},
		"a negative TTL":                  {s, store.PutOp{Namespace: namespace, Key: "k", Value: text("v"), TTL: -time.Second}, invalid, "TTL"},
		"a negative limit":                {s, store.SearchOp{Limit: -1}, invalid, "limit"},
		"an operator that does not exist": {s, store.SearchOp{Filter: map[string]any{"a": map[string]any{"$like": "x"}}}, invalid, "$like"},
		"a filter that JSON has not":      {s, store.SearchOp{Filter: map[string]any{"a": math.Inf(1)}}, invalid, "Inf"},
		"an unknown mode":                 {s, store.SearchOp{Query: "q", Mode: "magic"}, invalid, "magic"},
		"a pointer to an operation":       {s, &store.GetOp{Namespace: namespace, Key: "k"}, invalid, "by value"},
		"no operation":                    {s, nil, invalid, "no operation"},
		"text search without an index":    {s, store.SearchOp{Query: "q", Mode: store.ModeText}, store.ErrNotEnabled, "enable_text_index"},
		"a query without any index":       {plain, store.SearchOp{Query: "q"}, store.ErrNotEnabled, "enable_text_index"},
		"meaning without an embedder":     {plain, store.SearchOp{Query: "q", Mode: store.ModeVector}, store.ErrNotEnabled, "Config.Index"},
		"hybrid without an embedder":      {plain, store.SearchOp{Query: "q", Mode: store.ModeHybrid}, store.ErrNotEnabled, "Config.Index"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			results, err := test.s.Batch(t.Context(), store.PutOp{Namespace: namespace, Key: "beside", Value: text("it")}, test.op)
			require.ErrorIs(t, err, test.want)
			require.ErrorContains(t, err, test.text)
			require.ErrorContains(t, err, "pgstore: ")
			require.Empty(t, results)
			require.Zero(t, query[int](t, pool, "select count(*)::int from langgraph.store"))
		})
	}
}

func TestErrorsSayWhichOperationFailed(t *testing.T) {
	t.Parallel()
	s := pgstore.New(newPool(t), nil)
	_, err := s.Batch(t.Context(), store.GetOp{Namespace: namespace, Key: "k"},
		store.PutOp{Namespace: namespace, Key: "k", Value: text("a\x00b")})
	require.ErrorContains(t, err, `pgstore: operation 2 of 2: put: key "k" in namespace ["ann" "notes"]`)

	_, err = s.Batch(t.Context(), store.GetOp{Namespace: namespace, Key: "k"},
		store.SearchOp{Filter: map[string]any{"a": map[string]any{"$like": "x"}}})
	require.ErrorContains(t, err, "pgstore: search: ")
	var pgErr *pgconn.PgError
	require.ErrorAs(t, err, &pgErr)
	require.Equal(t, "LG002", pgErr.Code)
	require.Contains(t, err.Error(), pgErr.Detail)
	require.Contains(t, err.Error(), pgErr.Hint)
}

func TestAnItemThatIsDamagedIsReportedWithWhereItStands(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	s := pgstore.New(pool, nil)
	put(t, s, "k", "v")
	exec(t, pool, `update langgraph.store set value = '[1]'`)
	for name, op := range map[string]store.Op{
		"get": store.GetOp{Namespace: namespace, Key: "k"}, "search": store.SearchOp{},
	} {
		_, err := s.Batch(t.Context(), op)
		require.ErrorContains(t, err, `pgstore: `+name+`: key "k" in namespace "ann.notes"`)
		require.ErrorContains(t, err, "no JSON object")
	}
}

// Everything that is sent together is one transaction in every mode, whichever statement of it fails.
func TestABatchIsDoneWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	for _, mode := range pgxtest.ExecModes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			pool := newPool(t, pgxtest.WithExecMode(mode))
			s := pgstore.New(pool, &pgstore.Config{TTL: &store.TTLConfig{DefaultTTL: time.Hour}})
			put(t, s, "k", "before")
			exec(t, pool, "update langgraph.store set expires_at = now() + interval '1 second' * 60")
			expires := func() time.Time { return query[time.Time](t, pool, "select expires_at from langgraph.store") }
			was := expires()
			ops := []store.Op{
				store.PutOp{Namespace: namespace, Key: "k", Value: text("after")},
				store.PutOp{Namespace: namespace, Key: "l", Value: text("after")},
				store.GetOp{Namespace: namespace, Key: "k"}, // which would refresh it
			}

			_, err := s.Batch(t.Context(), append(ops, store.SearchOp{Filter: map[string]any{"a": map[string]any{"$like": "x"}}})...)
			requireState(t, "LG002", err)
			require.Equal(t, 1, query[int](t, pool, "select count(*)::int from langgraph.store"))
			require.True(t, was.Equal(expires()))

			// Not even where the server refuses only at the end.
			exec(t, pool, "create function refuse() returns trigger language plpgsql as $$ begin raise 'refused at the end'; end $$")
			exec(t, pool, `create constraint trigger refuse after insert on langgraph.store deferrable initially deferred
				for each row execute function refuse()`)
			results, err := s.Batch(t.Context(), ops...)
			require.ErrorContains(t, err, "pgstore: ")
			require.ErrorContains(t, err, "refused at the end")
			require.Empty(t, results)
			require.Equal(t, 1, query[int](t, pool, "select count(*)::int from langgraph.store"))
			require.True(t, was.Equal(expires()))

			exec(t, pool, "drop trigger refuse on langgraph.store")
			results, err = s.Batch(t.Context(), ops...)
			require.NoError(t, err)
			require.Equal(t, text("before"), results[2].Item.Value)
			require.Equal(t, text("after"), value(t, s, "k"))
		})
	}
}

func TestABatchThatADeadlockEndedIsDoneAgain(t *testing.T) {
	t.Parallel()
	pool := newPool(t, func(config *pgxpool.Config) { config.ConnConfig.RuntimeParams["deadlock_timeout"] = "10ms" })
	s := pgstore.New(pool, &pgstore.Config{TTL: &store.TTLConfig{DefaultTTL: time.Hour}})
	put(t, s, "a", "before")
	put(t, s, "b", "before")
	exec(t, pool, `create function hold() returns trigger language plpgsql as $$
		begin perform pg_advisory_xact_lock(7); return new; end $$`)
	exec(t, pool, `create trigger hold before update on langgraph.store for each row
		when (new.key = 'a' and old.value = new.value) execute function hold()`)

	gate, err := pool.Begin(t.Context())
	require.NoError(t, err)
	exec(t, gate, "select pg_advisory_xact_lock(7)")
	other, err := pool.Begin(t.Context())
	require.NoError(t, err)
	exec(t, other, "set local deadlock_timeout = '1h'") // whoever notices a deadlock is ended, and that is not this one
	exec(t, other, "select from langgraph.store where key = 'b' for update")

	done, otherDone := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := s.Batch(context.Background(),
			store.GetOp{Namespace: namespace, Key: "a"}, // which refreshes it
			store.PutOp{Namespace: namespace, Key: "b", Value: text("batch")})
		done <- err
	}()
	waitUntilBlocked(t, pool, 1)
	go func() {
		_, err := other.Exec(context.Background(), `update langgraph.store set value = '{"text": "other"}'`)
		otherDone <- err
	}()
	waitUntilBlocked(t, pool, 2)
	require.NoError(t, gate.Rollback(t.Context()))
	require.NoError(t, <-otherDone)
	require.NoError(t, other.Commit(t.Context()))

	require.NoError(t, <-done)
	require.Equal(t, text("other"), value(t, s, "a"))
	require.Equal(t, text("batch"), value(t, s, "b"))
}

func waitUntilBlocked(t *testing.T, db pgstore.DB, sessions int) {
	t.Helper()
	require.Eventually(t, func() bool { return blocked(t, db) == sessions }, patience, time.Millisecond)
}

// blocked is how many sessions of the test's database wait for another.
func blocked(t *testing.T, db pgstore.DB) int {
	t.Helper()
	return query[int](t, db, `select count(*)::int from pg_stat_activity
		where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0`)
}

// held keeps others from changing an item, which it makes, until the transaction ends, at the latest with the test.
func held(t *testing.T, pool *pgxpool.Pool, key string) pgx.Tx {
	t.Helper()
	put(t, pgstore.New(pool, nil), key, "before")
	tx, err := pool.Begin(context.Background())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	exec(t, tx, "select from langgraph.store where key = $1 for update", key)
	return tx
}

func TestACancelledCallReturnsPromptlyAndLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, mode := range pgxtest.ExecModes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			pool := newPool(t, pgxtest.WithExecMode(mode))
			s := pgstore.New(pool, nil)
			tx := held(t, pool, "held")
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := s.Batch(ctx, store.PutOp{Namespace: namespace, Key: "free", Value: text("v")},
					store.PutOp{Namespace: namespace, Key: "held", Value: text("after")})
				done <- err
			}()
			waitUntilBlocked(t, pool, 1)
			cancel()
			require.ErrorIs(t, <-done, context.Canceled)
			require.Eventually(t, func() bool { return blocked(t, pool) == 0 }, patience, time.Millisecond,
				"the server has given up as well")
			require.NoError(t, tx.Rollback(t.Context()))
			require.Equal(t, text("before"), value(t, s, "held"))
			require.Nil(t, value(t, s, "free"))

			_, err := store.Get(ctx, s, namespace, "held")
			require.ErrorIs(t, err, context.Canceled)
		})
	}
}

func TestAServerThatGoesAwayMidCallLeavesNothingHalfWritten(t *testing.T) {
	t.Parallel()
	postgres, err := testcontainers.Run(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, postgres.Close(context.Background())) })
	someoneElses := postgres.Backend() == testcontainers.DatabaseURL
	if someoneElses {
		t.Log("the server belongs to someone else and is not stopped; its connection is cut instead")
	}
	pool := pgxtest.NewPool(t, postgres.ConnString())
	s := pgstore.New(pool, nil)
	held(t, pool, "held")
	ops := []store.Op{
		store.PutOp{Namespace: namespace, Key: "free", Value: text("after")},
		store.PutOp{Namespace: namespace, Key: "held", Value: text("after")},
	}
	done := make(chan error, 1)
	go func() {
		_, err := s.Batch(context.Background(), ops...)
		done <- err
	}()
	waitUntilBlocked(t, pool, 1)
	if someoneElses {
		exec(t, pool, "select pg_terminate_backend(pid) from pg_stat_activity where cardinality(pg_blocking_pids(pid)) > 0")
	} else {
		require.NoError(t, postgres.Kill(t.Context()))
	}
	err = <-done
	require.Error(t, err)
	require.NotErrorIs(t, err, context.Canceled)

	if !someoneElses {
		require.NoError(t, postgres.Start(t.Context()))
	}
	again := pgstore.New(pgxtest.NewPool(t, postgres.ConnString()), nil)
	require.Equal(t, text("before"), value(t, again, "held"))
	require.Nil(t, value(t, again, "free"))
	if !someoneElses {
		_, err = again.Batch(t.Context(), ops...)
		require.NoError(t, err)
		require.Equal(t, text("after"), value(t, again, "free"))
	}
}

func TestInATransactionItemsCommitWithTheApplicationsRows(t *testing.T) {
	t.Parallel()
	pool := newIndexedPool(t)
	s := pgstore.New(pool, indexed(newEmbedder()))
	put(t, s, "changed", "before")
	exec(t, pool, "create table orders (id int)")
	failed := errors.New("the order is refused")
	buy := func(fail error) error {
		return pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(t.Context(), "insert into orders values (1)"); err != nil {
				return err
			}
			inside := s.WithTx(tx)
			put(t, inside, "new", "order")
			put(t, inside, "changed", "after")
			require.Equal(t, text("order"), value(t, inside, "new"), "a transaction sees what it put")
			found, err := store.Search(t.Context(), inside, store.SearchOp{Query: "after", Limit: 1})
			require.NoError(t, err)
			require.Equal(t, []string{"changed"}, keys(found))
			require.Nil(t, value(t, s, "new"), "and nobody else does")
			return fail
		})
	}
	require.ErrorIs(t, buy(failed), failed)
	require.Nil(t, value(t, s, "new"))
	require.Equal(t, text("before"), value(t, s, "changed"))
	require.Equal(t, 1, query[int](t, pool, "select count(*)::int from langgraph.store_vectors"))

	require.NoError(t, buy(nil))
	require.Equal(t, text("order"), value(t, s, "new"))
	require.Equal(t, text("after"), value(t, s, "changed"))
	require.Equal(t, 1, query[int](t, pool, "select count(*)::int from orders"))
	require.Equal(t, 2, query[int](t, pool, "select count(*)::int from langgraph.store_vectors"))
}

func TestAReadOnlyTransactionServesReadsThatRefreshNothing(t *testing.T) {
	t.Parallel()
	for _, mode := range pgxtest.ExecModes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			pool := newIndexedPool(t, pgxtest.WithExecMode(mode))
			no := false
			config := indexed(newEmbedder())
			config.TTL = &store.TTLConfig{DefaultTTL: time.Hour}
			refreshing := pgstore.New(pool, config)
			put(t, refreshing, "k", "some words")
			config.TTL = &store.TTLConfig{RefreshOnRead: &no}
			quiet := pgstore.New(pool, config)

			readOnly := func(do func(tx pgx.Tx)) {
				tx, err := pool.BeginTx(t.Context(), pgx.TxOptions{AccessMode: pgx.ReadOnly})
				require.NoError(t, err)
				do(tx)
				_ = tx.Rollback(t.Context())
			}
			reads := []store.Op{
				store.GetOp{Namespace: namespace, Key: "k"}, store.SearchOp{}, store.SearchOp{Query: "words"}, store.ListNamespacesOp{},
			}
			readOnly(func(tx pgx.Tx) {
				results, err := quiet.WithTx(tx).Batch(t.Context(), reads...)
				require.NoError(t, err)
				require.Equal(t, text("some words"), results[0].Item.Value)
				require.Equal(t, []string{"k"}, keys(results[1].Items))
				require.Equal(t, []string{"k"}, keys(results[2].Items))
				require.Equal(t, [][]string{namespace}, results[3].Namespaces)
			})
			for _, read := range reads[:3] {
				readOnly(func(tx pgx.Tx) {
					_, err := refreshing.WithTx(tx).Batch(t.Context(), read)
					requireState(t, "25006", err)
					require.ErrorContains(t, err, "RefreshTTL")
				})
			}
			readOnly(func(tx pgx.Tx) {
				err := store.Put(t.Context(), quiet.WithTx(tx), namespace, "l", text("more"))
				requireState(t, "25006", err)
				require.NotContains(t, err.Error(), "RefreshTTL")
			})
		})
	}
}

func TestReadsThatWriteNothingGoToTheReader(t *testing.T) {
	t.Parallel()
	writer, reader := newPool(t), newPool(t)
	put(t, pgstore.New(writer, nil), "k", "writer")
	put(t, pgstore.New(reader, nil), "k", "reader")
	yes, no := true, false
	s := pgstore.New(writer, &pgstore.Config{Reader: reader, TTL: &store.TTLConfig{RefreshOnRead: &no}})
	get := store.GetOp{Namespace: namespace, Key: "k"}
	refreshing := store.GetOp{Namespace: namespace, Key: "k", RefreshTTL: &yes}
	for name, test := range map[string]struct {
		ops  []store.Op
		want string
	}{
		"a read":                                {[]store.Op{get, store.SearchOp{}, store.ListNamespacesOp{}}, "reader"},
		"a read beside a put":                   {[]store.Op{get, store.PutOp{Namespace: namespace, Key: "gone"}}, "writer"},
		"a get that refreshes":                  {[]store.Op{refreshing}, "writer"},
		"a read beside a search that refreshes": {[]store.Op{get, store.SearchOp{RefreshTTL: &yes}}, "writer"},
	} {
		results, err := s.Batch(t.Context(), test.ops...)
		require.NoError(t, err, name)
		require.Equal(t, text(test.want), results[0].Item.Value, name)
	}
	require.NoError(t, pgx.BeginFunc(t.Context(), writer, func(tx pgx.Tx) error {
		require.Equal(t, text("writer"), value(t, s.WithTx(tx), "k"))
		return nil
	}))
}

func TestHowLongAnItemLives(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	s := pgstore.New(pool, &pgstore.Config{TTL: &store.TTLConfig{DefaultTTL: 90 * time.Second}})
	results, err := s.Batch(t.Context(),
		store.PutOp{Namespace: namespace, Key: "default", Value: text("v")},
		store.PutOp{Namespace: namespace, Key: "own", Value: text("v"), TTL: 30 * time.Second},
		store.PutOp{Namespace: namespace, Key: "forever", Value: text("v"), TTL: store.NoTTL})
	require.NoError(t, err)
	require.Len(t, results, 3)
	for key, want := range map[string]*float64{"default": pointer(90.0), "own": pointer(30.0), "forever": nil} {
		require.Equal(t, want, query[*float64](t, pool,
			"select extract(epoch from expires_at - updated_at)::double precision from langgraph.store where key = $1", key), key)
	}
}

func pointer[T any](value T) *T { return &value }

func TestWritersOfTheSameKeysAllFinishAndTheVectorsAreThoseOfTheLast(t *testing.T) {
	t.Parallel()
	pool := newIndexedPool(t, func(config *pgxpool.Config) { config.ConnConfig.RuntimeParams["deadlock_timeout"] = "10ms" })
	config := indexed(newEmbedder(), "text")
	// A read that refreshes holds an item that another batch may want after one that this batch wants.
	config.TTL = &store.TTLConfig{DefaultTTL: time.Hour}
	s := pgstore.New(pool, config)
	const writers, rounds = 4, 15
	results := make(chan error, writers)
	for w := range writers {
		go func() {
			for i := range rounds {
				// Each in another order, and some texts the same as another's.
				ops := []store.Op{
					store.PutOp{Namespace: namespace, Key: "a", Value: text(fmt.Sprint("text ", (w+i)%3))},
					store.PutOp{Namespace: namespace, Key: "b", Value: text(fmt.Sprint("text ", i))},
					store.GetOp{Namespace: namespace, Key: "a"},
				}
				switch (w + i) % 4 {
				case 0:
					ops[0], ops[1] = ops[1], ops[0]
				case 1:
					ops = ops[1:] // refreshes a, puts b
				case 2:
					ops[1] = store.GetOp{Namespace: namespace, Key: "b"} // refreshes both, puts a
				}
				if _, err := s.Batch(context.Background(), ops...); err != nil {
					results <- err
					return
				}
			}
			results <- nil
		}()
	}
	for range writers {
		require.NoError(t, <-results)
	}
	for _, key := range []string{"a", "b"} {
		words := value(t, s, key)["text"].(string)
		require.Equal(t, config.Index.Hash(words), query[[]byte](t, pool,
			"select text_hash from langgraph.store_vectors where key = $1", key), "%s has the vector of another text", key)
	}
}

// The role has no right to make or change anything but rows, and no rights on other tables of the schema.
func TestARoleThatMayOnlyReadAndWriteItemsIsEnough(t *testing.T) {
	t.Parallel()
	pool := newIndexedPool(t)
	exec(t, pool, "select langgraph.enable_text_index()")
	role := "store_" + query[string](t, pool, "select md5(current_database())")
	quoted := pgx.Identifier{role}.Sanitize()
	exec(t, pool, "create role "+quoted)
	t.Cleanup(func() {
		_, err := pool.Exec(context.Background(), "drop owned by "+quoted)
		require.NoError(t, err)
		_, err = pool.Exec(context.Background(), "drop role "+quoted)
		require.NoError(t, err)
	})
	for _, grant := range []string{
		"usage on schema langgraph",
		"execute on all functions in schema langgraph",
		"select on langgraph.schema_migrations, langgraph.settings",
		"select, insert, update, delete on langgraph.store, langgraph.store_vectors",
	} {
		exec(t, pool, "grant "+grant+" to "+quoted)
	}
	restricted := pgxtest.NewPool(t, pool.Config().ConnString(), func(config *pgxpool.Config) {
		config.ConnConfig.RuntimeParams["role"] = role
	})
	require.Equal(t, role, query[string](t, restricted, "select current_user::text"))
	s := pgstore.New(restricted, indexed(newEmbedder()))
	_, err := s.Batch(t.Context(), store.PutOp{Namespace: namespace, Key: "k", Value: text("some words"), TTL: time.Hour},
		store.PutOp{Namespace: namespace, Key: "gone", Value: text("other things")})
	require.NoError(t, err)
	require.NoError(t, store.Delete(t.Context(), s, namespace, "gone"))
	require.Equal(t, text("some words"), value(t, s, "k"))
	for _, mode := range []store.Mode{store.ModeVector, store.ModeText, store.ModeHybrid} {
		found, err := store.Search(t.Context(), s, store.SearchOp{Query: "words", Mode: mode})
		require.NoError(t, err, mode)
		require.Equal(t, []string{"k"}, keys(found), mode)
	}
	namespaces, err := store.ListNamespaces(t.Context(), s, store.ListNamespacesOp{})
	require.NoError(t, err)
	require.Equal(t, [][]string{namespace}, namespaces)
	exec(t, pool, "update langgraph.store set expires_at = now()")
	removed, err := s.Sweep(t.Context(), pgstore.SweepOptions{})
	require.NoError(t, err)
	require.Equal(t, int64(1), removed)

	exec(t, pool, "revoke insert on langgraph.store from "+quoted)
	requireState(t, "42501", store.Put(t.Context(), s, namespace, "k", text("v")))
}

func TestAsManyAsThereAreCanBeAskedFor(t *testing.T) {
	t.Parallel()
	pool := newIndexedPool(t)
	exec(t, pool, "select langgraph.enable_text_index()")
	s := pgstore.New(pool, indexed(newEmbedder()))
	put(t, s, "k", "some words")
	for _, offset := range []int{0, 1, math.MaxInt} {
		want := []string{"k"}[:max(0, 1-min(offset, 1))]
		for _, op := range []store.SearchOp{
			{}, {Query: "words"}, {Query: "words", Mode: store.ModeText}, {Query: "words", Mode: store.ModeHybrid},
		} {
			op.Limit, op.Offset = math.MaxInt, offset
			found, err := store.Search(t.Context(), s, op)
			require.NoError(t, err, "mode %q from %d", op.Mode, offset)
			require.Equal(t, want, keys(found), "mode %q from %d", op.Mode, offset)
		}
		namespaces, err := store.ListNamespaces(t.Context(), s,
			store.ListNamespacesOp{Limit: math.MaxInt, Offset: offset, MaxDepth: math.MaxInt})
		require.NoError(t, err)
		require.Len(t, namespaces, len(want))
	}
}
