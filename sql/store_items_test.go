package sql_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// itemPut is one element of store_put's first arrays. An empty value removes the item; a nil ttl never expires.
type itemPut struct {
	prefix, key, value string
	ttl                any
}

// vectorPut is one element of store_put's arrays of vectors. Without numbers it keeps the stored vector.
type vectorPut struct {
	item    int
	field   string
	hash    string
	numbers []float32
}

const (
	putItemsSQL   = `select langgraph.store_put($1, $2, $3::text[]::jsonb[], $4)`
	putVectorsSQL = `select langgraph.store_put($1, $2, $3::text[]::jsonb[], $4, $5, $6, $7, $8, $9)`
)

func itemArgs(items []itemPut) []any {
	n := len(items)
	prefixes, keys, values, ttls := make([]string, n), make([]string, n), make([]*string, n), make([]*float64, n)
	for i, item := range items {
		prefixes[i], keys[i] = item.prefix, item.key
		if item.value != "" {
			values[i] = &item.value
		}
		if ttl, ok := item.ttl.(float64); ok {
			ttls[i] = &ttl
		}
	}
	return []any{prefixes, keys, values, ttls}
}

func putItems(t *testing.T, db querier, items ...itemPut) {
	t.Helper()
	exec(t, db, putItemsSQL, itemArgs(items)...)
}

// vectorArgs are the arguments of putVectorsSQL.
func vectorArgs(items []itemPut, vectors ...vectorPut) []any {
	n := len(vectors)
	positions, fields, hashes, isNew, numbers := make([]int, n), make([]string, n), make([][]byte, n), make([]bool, n), []float32{}
	for i, v := range vectors {
		positions[i], fields[i], isNew[i] = v.item, v.field, v.numbers != nil
		if v.hash != "" {
			hashes[i] = []byte(v.hash)
		}
		numbers = append(numbers, v.numbers...)
	}
	return append(itemArgs(items), positions, fields, hashes, isNew, numbers)
}

func putVectors(t *testing.T, db querier, items []itemPut, vectors ...vectorPut) {
	t.Helper()
	exec(t, db, putVectorsSQL, vectorArgs(items, vectors...)...)
}

// storedItems are all rows of the table as "prefix key value".
func storedItems(t *testing.T, db querier) []string {
	t.Helper()
	return column[string](t, db, `select concat_ws(' ', prefix, key, value) from langgraph.store order by prefix, key`)
}

// storedVectors are all vectors as "prefix key field numbers hash".
func storedVectors(t *testing.T, db querier) []string {
	t.Helper()
	return column[string](t, db, `
		select concat_ws(' ', prefix, key, field_name, embedding, coalesce(convert_from(text_hash, 'UTF8'), '-'))
		from langgraph.store_vectors order by prefix, key, field_name`)
}

// gotten is a row of store_get.
type gotten struct {
	ItemPosition         int
	Prefix, Key, Value   string
	CreatedAt, UpdatedAt time.Time
}

// getItems reads keys of namespace "n".
func getItems(t *testing.T, db querier, refresh bool, keys ...string) []gotten {
	t.Helper()
	prefixes, refreshes := make([]string, len(keys)), make([]bool, len(keys))
	for i := range keys {
		prefixes[i], refreshes[i] = "n", refresh
	}
	return table[gotten](t, db, `select item_position, prefix, key, value::text, created_at, updated_at
		from langgraph.store_get($1, $2, $3)`, prefixes, append([]string{}, keys...), refreshes)
}

func enableVectors(t *testing.T, db querier) {
	t.Helper()
	exec(t, db, "select langgraph.enable_vector_index(2)")
}

func TestItemsThatCannotBePutAreRefusedAndNothingIsWritten(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	for name, c := range map[string]struct {
		args string
		want refusal
	}{
		"null arrays":     {`null, null, null, null`, refusal{"LG002", "invalid items", "null prefixes, null keys, null values and null TTLs", "arrays of one length"}},
		"fewer keys":      {`'{a,b}', '{k}', '{"{}","{}"}', '{null,null}'`, refusal{"LG002", "invalid items", "2 prefixes, 1 keys, 2 values and 2 TTLs", "arrays of one length"}},
		"fewer values":    {`'{a,b}', '{k,l}', '{"{}"}', '{null,null}'`, refusal{"LG002", "invalid items", "1 values", "null value removes"}},
		"fewer TTLs":      {`'{a,b}', '{k,l}', '{"{}","{}"}', '{1}'`, refusal{"LG002", "invalid items", "1 TTLs", "null TTL never expires"}},
		"a null prefix":   {`'{a,null}', '{k,l}', '{"{}","{}"}', '{null,null}'`, refusal{"LG002", "invalid item", "Prefix NULL, key 'l'", "Neither may be null"}},
		"a null key":      {`'{a,b}', '{k,null}', '{"{}",null}', '{null,null}'`, refusal{"LG002", "invalid item", "Prefix 'b', key NULL", "Neither may be null"}},
		"no label":        {`'{a,""}', '{k,l}', '{"{}","{}"}', '{null,null}'`, refusal{"LG002", "invalid namespace", "'' has an empty label", "none is empty"}},
		"an empty label":  {`'{a,b..c}', '{k,l}', '{"{}","{}"}', '{null,null}'`, refusal{"LG002", "invalid namespace", "'b..c' has an empty label", "none is empty"}},
		"a first dot":     {`'{a,.b}', '{k,l}', '{"{}","{}"}', '{null,null}'`, refusal{"LG002", "invalid namespace", "'.b' has an empty label", "none is empty"}},
		"a last dot":      {`'{a,b.}', '{k,l}', '{"{}","{}"}', '{null,null}'`, refusal{"LG002", "invalid namespace", "'b.' has an empty label", "none is empty"}},
		"our name":        {`'{a,langgraph}', '{k,l}', '{"{}","{}"}', '{null,null}'`, refusal{"LG002", "invalid namespace", "'langgraph' begins", "another first label"}},
		"below our name":  {`'{a,langgraph.b}', '{k,l}', '{"{}","{}"}', '{null,null}'`, refusal{"LG002", "invalid namespace", "'langgraph.b' begins", "another first label"}},
		"a list":          {`'{a,b}', '{k,it''s}', '{"{}","[1]"}', '{null,null}'`, refusal{"LG002", "invalid value", "key 'it''s' in 'b' is not a JSON object but of type array", "Wrap it"}},
		"JSON null":       {`'{a,b}', '{k,l}', array['{}','null']::jsonb[], '{null,null}'`, refusal{"LG002", "invalid value", "not a JSON object but of type null", "SQL null removes"}},
		"no time":         {`'{a,b}', '{k,l}', '{"{}","{}"}', '{1,0}'`, refusal{"LG002", "invalid TTL", "That of key 'l' in 'b' is 0 minutes", "more than 0"}},
		"negative time":   {`'{a,b}', '{k,l}', '{"{}","{}"}', '{1,-0.5}'`, refusal{"LG002", "invalid TTL", "-0.5 minutes", "more than 0"}},
		"no number":       {`'{a,b}', '{k,l}', '{"{}","{}"}', '{1,NaN}'`, refusal{"LG002", "invalid TTL", "NaN minutes", "more than 0"}},
		"endless time":    {`'{a,b}', '{k,l}', '{"{}","{}"}', '{1,Infinity}'`, refusal{"LG002", "invalid TTL", "Infinity minutes", "null never expires"}},
		"too long a time": {`'{a,b}', '{k,l}', '{"{}","{}"}', '{1,1.1e10}'`, refusal{"LG002", "invalid TTL", "11000000000 minutes", "at most 1e10"}},
		"a time to live of what is removed": {
			`'{a,b}', '{k,l}', '{"{}",null}', '{1,0}'`,
			refusal{"LG002", "invalid TTL", "key 'l' in 'b'", "more than 0"},
		},
		"vectors without an index": {
			`'{a}', '{k}', '{"{}"}', '{1}', '{1}', '{f}', '{h}', '{t}', '{1,2}'`,
			refusal{"LG004", "vector search is not enabled", "enable_vector_index has not been called", "Let the owner of the schema call enable_vector_index"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireRefused(t, c.want, attempt(t.Context(), db, "select langgraph.store_put("+c.args+")"))
		})
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		var rows int
		require.NoError(t, db.QueryRow(ctx, "select count(*) from langgraph.store").Scan(&rows))
		require.Zero(t, rows, "nothing of an array is written when one element is refused")
	})
}

func TestNothingIsPutUnderTheReservedLabelButWhatIsThereMayBeRemoved(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	exec(t, db, `insert into langgraph.store (prefix, key, value) values ('langgraph', 'k', '{}'), ('langgraph.a', 'k', '{}'), ('langgraphs', 'k', '{}')`)
	putItems(t, db, itemPut{"langgraph", "k", "", nil}, itemPut{"langgraph.a", "other", "", nil}, itemPut{"langgraphs", "l", "{}", nil})
	require.Equal(t, []string{"langgraph.a k {}", "langgraphs k {}", "langgraphs l {}"}, storedItems(t, db))
}

func TestReadsAndDeletesRefuseArraysOfDifferentLengths(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	for call, want := range map[string]refusal{
		`store_get('{a}', '{k,l}', '{f}')`:                 {"LG002", "invalid items", "1 prefixes, 2 keys and 1 refreshes", "one length"},
		`store_get('{a}', '{k}', '{f,f}')`:                 {"LG002", "invalid items", "1 prefixes, 1 keys and 2 refreshes", "one length"},
		`store_get(null, '{k}', '{f}')`:                    {"LG002", "invalid items", "null prefixes", "one length"},
		`store_delete('{a}', '{k,l}')`:                     {"LG002", "invalid items", "1 prefixes and 2 keys", "one length"},
		`store_delete(null, null)`:                         {"LG002", "invalid items", "null prefixes and null keys", "one length"},
		`store_unchanged('{a}', '{k}', '{f}', '{}')`:       {"LG002", "invalid texts", "1 prefixes, 1 keys, 1 fields and 0 hashes", "one element a text"},
		`store_unchanged('{a}', '{k}', null, '{h}')`:       {"LG002", "invalid texts", "null fields", "one element a text"},
		`store_unchanged('{a}', '{k}', '{f,g}', '{h}')`:    {"LG002", "invalid texts", "2 fields", "one element a text"},
		`store_unchanged('{a}', '{k,l}', '{f}', '{h}')`:    {"LG002", "invalid texts", "2 keys", "one element a text"},
		`store_unchanged(null, null, null, null::bytea[])`: {"LG002", "invalid texts", "null prefixes", "one element a text"},
	} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			requireRefused(t, want, attempt(t.Context(), db, "select langgraph."+call))
		})
	}
}

func TestTheLastPutOfAKeyWins(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	putItems(t, db, itemPut{"n", "gone", `{"v": 0}`, nil}, itemPut{"n", "back", `{"v": 0}`, nil})
	putItems(t, db,
		itemPut{"n", "twice", `{"v": 1}`, 1.0}, itemPut{"n", "gone", `{"v": 1}`, nil}, itemPut{"m", "twice", `{"v": 2}`, nil},
		itemPut{"n", "back", "", nil}, itemPut{"n", "twice", `{"v": 3}`, nil}, itemPut{"n", "gone", "", nil},
		itemPut{"n", "back", `{"v": 4}`, nil}, itemPut{"n", "never", `{"v": 5}`, nil}, itemPut{"n", "never", "", nil})
	require.Equal(t, []string{`m twice {"v": 2}`, `n back {"v": 4}`, `n twice {"v": 3}`}, storedItems(t, db))
	require.Equal(t, 0, value[int](t, db, "select count(ttl_minutes) + count(expires_at) from langgraph.store"), "the TTL is of the last put, too")
}

func TestRemovingWhatIsNotThereLeavesNothing(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	enableVectors(t, db)
	putItems(t, db, itemPut{"n", "missing", "", nil}, itemPut{"n", "with a TTL", "", 1.0}, itemPut{"langgraphs", "k", `{}`, nil})
	putItems(t, db)
	require.Equal(t, []string{"langgraphs k {}"}, storedItems(t, db), "only the whole label is reserved")
}

func TestDeletingItemsCountsRowsAndTakesTheirVectors(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	enableVectors(t, db)
	items := []itemPut{{"n", "a", `{}`, nil}, {"n", "b", `{}`, nil}, {"n.m", "a", `{}`, nil}, {"n", "old", `{}`, 1.0}, {"n", "", `{}`, nil}}
	putVectors(t, db, items, vectorPut{1, "f", "h", []float32{1, 2}}, vectorPut{2, "f", "h", []float32{3, 4}})
	exec(t, db, "update langgraph.store set expires_at = now() where key = 'old'")
	require.Equal(t, int64(3), value[int64](t, db,
		`select langgraph.store_delete('{n,n,n,n,x,n}', '{a,a,old,missing,b,""}')`), "twice the same is one row, an expired one counts")
	require.Equal(t, []string{`n b {}`, `n.m a {}`}, storedItems(t, db))
	require.Equal(t, []string{"n b f [3,4] h"}, storedVectors(t, db))
	require.Equal(t, int64(0), value[int64](t, db, `select langgraph.store_delete('{}', '{}')`))
	putItems(t, db, itemPut{"n", "b", "", nil})
	require.Empty(t, storedVectors(t, db))
}

func TestATTLCountsFractionsOfMinutesFromThePut(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	for minutes, seconds := range map[float64]float64{0.5: 30, 1: 60, 0.001: 0.06, 1.75: 105, 90: 5400, 1e10: 6e11} {
		putItems(t, db, itemPut{"n", fmt.Sprint(minutes), `{}`, minutes})
		require.Equal(t, seconds, value[float64](t, db, `select extract(epoch from expires_at - updated_at)::float8 from langgraph.store where ttl_minutes = $1`, minutes))
	}
	putItems(t, db, itemPut{"n", "forever", `{}`, nil})
	putItems(t, db, itemPut{"n", "0.5", `{}`, nil})
	require.Equal(t, []string{"0.5", "forever"}, column[string](t, db,
		"select key from langgraph.store where expires_at is null and ttl_minutes is null order by key"), "a put without TTL ends the one before")
}

func TestAnItemIsThereUntilTheMomentItExpires(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	putItems(t, db, itemPut{"n", "k", `{"v": 1}`, 1.0}, itemPut{"n", "other", `{}`, 1.0})
	inTx(t, db, func(tx pgx.Tx) {
		exec(t, tx, "update langgraph.store set expires_at = now() + interval '1 microsecond' where key = 'k'")
		require.Len(t, getItems(t, tx, false, "k"), 1)
		exec(t, tx, "update langgraph.store set expires_at = now() where key = 'k'")
		require.Empty(t, getItems(t, tx, false, "k"))
		require.Empty(t, getItems(t, tx, true, "k"), "a refresh does not bring it back")
		require.Empty(t, getItems(t, tx, false, "k"))
		got := getItems(t, tx, true, "k", "missing", "other")
		require.Len(t, got, 1)
		require.Equal(t, 3, got[0].ItemPosition)
	})
}

func TestAPutOverAnExpiredItemMakesANewOne(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	putItems(t, db, itemPut{"n", "live", `{"v": 1}`, 1.0}, itemPut{"n", "dead", `{"v": 1}`, 1.0})
	exec(t, db, "update langgraph.store set created_at = '2020-01-01Z', updated_at = '2020-01-01Z', expires_at = case key when 'dead' then now() else expires_at end")
	putItems(t, db, itemPut{"n", "live", `{"v": 2}`, nil}, itemPut{"n", "dead", `{"v": 2}`, nil})
	got := getItems(t, db, false, "live", "dead")
	require.Len(t, got, 2)
	long := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	require.True(t, got[0].CreatedAt.Equal(long), "an item keeps its time of creation")
	require.True(t, got[0].UpdatedAt.After(long))
	require.Equal(t, got[0].UpdatedAt, got[1].UpdatedAt)
	require.Equal(t, got[1].UpdatedAt, got[1].CreatedAt, "what had expired is a new item")
	require.JSONEq(t, `{"v": 2}`, got[1].Value)
}

func TestGetGivesPositionsOfWhatIsThere(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	putItems(t, db, itemPut{"n", "a", `{"z": [1, null], "a": "\u00e9\"'"}`, nil}, itemPut{"n", "b", `{}`, nil}, itemPut{"n.a", "b", `{"v": 1}`, nil})
	got := getItems(t, db, true, "b", "x", "a", "b")
	require.Len(t, got, 3)
	require.Equal(t, []int{1, 3, 4}, []int{got[0].ItemPosition, got[1].ItemPosition, got[2].ItemPosition})
	require.Equal(t, []string{"b", "a", "b"}, []string{got[0].Key, got[1].Key, got[2].Key})
	require.Equal(t, "n", got[1].Prefix)
	require.JSONEq(t, `{"z": [1, null], "a": "é\"'"}`, got[1].Value)
	require.Empty(t, getItems(t, db, true))
}

func TestARefreshIsDoneOnlyWhereAskedAndWhereThereIsATTL(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	putItems(t, db, itemPut{"n", "asked", `{}`, 1.5}, itemPut{"n", "not", `{}`, 1.5}, itemPut{"n", "forever", `{}`, nil}, itemPut{"n", "unsaid", `{}`, 1.5},
		itemPut{"n", "only expires", `{}`, 1.5}, itemPut{"n", "both", `{}`, 1.5}, itemPut{"m", "asked", `{}`, 1.5})
	exec(t, db, "update langgraph.store set expires_at = now() + interval '1 second' where expires_at is not null")
	exec(t, db, "update langgraph.store set ttl_minutes = null where key = 'only expires'")
	state := func(q querier) map[string]string {
		states := map[string]string{}
		for _, row := range table[struct{ Name, State string }](t, q, `
			select prefix || ' ' || key as name,
				concat(xmin, ' ', coalesce((expires_at - now())::text, 'never'), ' ', updated_at = created_at) as state
			from langgraph.store`) {
			states[row.Name] = row.State
		}
		return states
	}
	inTx(t, db, func(tx pgx.Tx) {
		before := state(tx)
		require.Equal(t, 6, value[int](t, tx, `select count(*) from langgraph.store_get(array_fill('n'::text, '{7}'),
			'{asked,not,forever,unsaid,only expires,both,both}', '{t,f,t,null,t,f,t}') g where g.prefix = 'n' and g.item_position <> 7`))
		after := state(tx)
		for _, refreshed := range []string{"n asked", "n both"} {
			require.Contains(t, after[refreshed], " 00:01:30 t", "%s: a refresh is no update", refreshed)
			delete(before, refreshed)
			delete(after, refreshed)
		}
		require.Equal(t, before, after, "the other rows are the very same versions")
	})
}

func TestReadsWithoutRefreshWorkInAReadOnlyTransaction(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	putItems(t, db, itemPut{"n", "ttl", `{}`, 1.0}, itemPut{"n", "forever", `{}`, nil})
	inTx(t, db, func(tx pgx.Tx) {
		exec(t, tx, "set transaction read only")
		require.Len(t, getItems(t, tx, false, "ttl", "forever"), 2)
		require.Len(t, getItems(t, tx, true, "forever", "missing"), 1, "nothing with a TTL, so nothing to refresh")
		require.Equal(t, []string{"n"}, column[string](t, tx, "select langgraph.store_list_namespaces()"))
		require.Empty(t, column[int](t, tx, `select langgraph.store_unchanged('{n}', '{ttl}', '{f}', '{h}')`))
		requireState(t, "25006", attempt(t.Context(), tx, `select langgraph.store_get('{n}', '{ttl}', '{t}')`))
	})
}

func TestARefreshNeverWaitsForAWriter(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	putItems(t, db, itemPut{"n", "held", `{}`, 1.0}, itemPut{"n", "free", `{}`, 1.0})
	exec(t, db, "update langgraph.store set expires_at = now() + interval '10 seconds'")
	inTx(t, db, func(writer pgx.Tx) {
		putItems(t, writer, itemPut{"n", "held", `{"v": 2}`, 1.0})
		inTx(t, db, func(reader pgx.Tx) {
			exec(t, reader, "set local lock_timeout = '5s'")
			got := getItems(t, reader, true, "held", "free")
			require.Len(t, got, 2)
			require.JSONEq(t, `{}`, got[0].Value, "what is not committed is not seen")
			require.Equal(t, []string{"free"}, column[string](t, reader, "select key from langgraph.store where expires_at > now() + interval '30 seconds'"))
		})
	})
}

func TestTheVectorsOfAnItemAreThoseOfItsLastPut(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	enableVectors(t, db)
	one := []itemPut{{"n", "k", `{}`, nil}}
	putVectors(t, db, append(one, itemPut{"n", "other", `{}`, nil}),
		vectorPut{1, "a", "h1", []float32{1, 2}}, vectorPut{2, "a", "h1", []float32{3, 4}}, vectorPut{1, "b", "h2", []float32{5, 6}})
	require.Equal(t, []string{"n k a [1,2] h1", "n k b [5,6] h2", "n other a [3,4] h1"}, storedVectors(t, db))

	putVectors(t, db, one, vectorPut{1, "c", "h3", []float32{7, 8}}, vectorPut{1, "b", "h2", nil})
	require.Equal(t, []string{"n k b [5,6] h2", "n k c [7,8] h3", "n other a [3,4] h1"}, storedVectors(t, db), "a is gone, b is kept, c is new")

	putVectors(t, db, one, vectorPut{1, "b", "h4", []float32{9, 9}}, vectorPut{1, "c", "", []float32{8, 7}})
	require.Equal(t, []string{"n k b [9,9] h4", "n k c [8,7] -", "n other a [3,4] h1"}, storedVectors(t, db))

	putVectors(t, db, []itemPut{{"n", "k", `{}`, nil}, {"n", "other", `{}`, nil}, {"n", "k", `{"v": 2}`, nil}},
		vectorPut{1, "b", "not there", nil}, vectorPut{1, "x", "h5", []float32{1, 1}}, vectorPut{2, "z", "h6", []float32{2, 2}}, vectorPut{3, "y", "h7", []float32{3, 3}})
	require.Equal(t, []string{"n k y [3,3] h7", "n other z [2,2] h6"}, storedVectors(t, db),
		"the vectors of an earlier put count as little as the put, and do not shift those after them")

	putItems(t, db, one...)
	require.Equal(t, []string{"n other z [2,2] h6"}, storedVectors(t, db), "a put without vectors leaves none")
}

func TestAVectorToKeepThatIsNotThereRefusesThePutAndNothingIsWritten(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	enableVectors(t, db)
	putVectors(t, db, []itemPut{{"n", "k", `{"v": 1}`, nil}}, vectorPut{1, "a", "h1", []float32{1, 2}}, vectorPut{1, "b", "", []float32{3, 4}})
	items := []itemPut{{"n", "new", `{"v": 2}`, nil}, {"n", "k", `{"v": 2}`, nil}}
	for name, c := range map[string]struct {
		vector vectorPut
		detail string
	}{
		"another hash":        {vectorPut{2, "a", "h2", nil}, "Field 'a' of item 'k' in 'n'."},
		"another field":       {vectorPut{2, "c", "h1", nil}, "Field 'c' of item 'k' in 'n'."},
		"a vector of no hash": {vectorPut{2, "b", "h1", nil}, "Field 'b' of item 'k' in 'n'."},
		"a new item":          {vectorPut{1, "a", "h1", nil}, "Field 'a' of item 'new' in 'n'."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := vectorArgs(items, vectorPut{1, "z", "h", []float32{1, 1}}, c.vector)
			requireRefused(t, refusal{"LG008", "a vector to keep is not stored with that hash", c.detail, "Embed the text"},
				attempt(t.Context(), db, putVectorsSQL, args...))
			require.Equal(t, []string{`n k {"v": 1}`}, storedItems(t, db))
			require.Equal(t, []string{"n k a [1,2] h1", "n k b [3,4] -"}, storedVectors(t, db))
		})
	}
}

func TestVectorsThatCannotBePutAreRefused(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	enableVectors(t, db)
	for name, c := range map[string]struct {
		args string
		want refusal
	}{
		"arrays of different lengths": {`'{1}', '{f,g}', '{h}', '{t}', '{1,2}'`, refusal{"LG002", "invalid vectors", "1 items, 2 fields, 1 hashes and 1 marks", "one length"}},
		"null arrays":                 {`null, '{f}', '{h}', '{t}', '{1,2}'`, refusal{"LG002", "invalid vectors", "null items", "one length"}},
		"an item before the first":    {`'{0}', '{f}', '{h}', '{t}', '{1,2}'`, refusal{"LG002", "invalid vector", "Vector 1: item 0 of 2", "position"}},
		"an item after the last":      {`'{3}', '{f}', '{h}', '{t}', '{1,2}'`, refusal{"LG002", "invalid vector", "item 3 of 2", "position"}},
		"a null item":                 {`'{null}', '{f}', '{h}', '{t}', '{1,2}'`, refusal{"LG002", "invalid vector", "Vector 1", "position"}},
		"an item that is removed":     {`'{2}', '{f}', '{h}', '{t}', '{1,2}'`, refusal{"LG002", "invalid vector", "item 2 of 2", "is not removed"}},
		"a null field":                {`'{1}', '{null}', '{h}', '{t}', '{1,2}'`, refusal{"LG002", "invalid vector", "field NULL", "position"}},
		"a null mark":                 {`'{1}', '{f}', '{h}', '{null}', '{1,2}'`, refusal{"LG002", "invalid vector", "Vector 1", "position"}},
		"a vector to keep of no hash": {`'{1,1}', '{e,f}', '{h,null}', '{t,f}', '{1,2}'`, refusal{"LG002", "invalid vector", "Vector 2: item 1 of 2, field 'f', hash null", "only the hash of a new vector"}},
		"a field twice":               {`'{1,1}', '{f,f}', '{h,i}', '{t,t}', '{1,2,3,4}'`, refusal{"LG002", "invalid vector", "Vector 2", "a field comes once"}},
		"too few numbers":             {`'{1}', '{f}', '{h}', '{t}', '{1}'`, refusal{"LG002", "invalid vectors", "1 numbers for 1 new vectors of 2 dimensions", "store_info"}},
		"too many numbers":            {`'{1}', '{f}', '{h}', '{t}', '{1,2,3}'`, refusal{"LG002", "invalid vectors", "3 numbers for 1 new vectors of 2 dimensions", "store_info"}},
		"numbers of what is kept":     {`'{1}', '{f}', '{h}', '{f}', '{1,2}'`, refusal{"LG002", "invalid vectors", "2 numbers for 0 new vectors", "store_info"}},
		"no numbers":                  {`'{1}', '{f}', '{h}', '{t}', null`, refusal{"LG002", "invalid vectors", "null numbers", "store_info"}},
		"NaN":                         {`'{1}', '{f}', '{h}', '{t}', '{1,NaN}'`, refusal{"LG002", "invalid vectors", "a NaN", "finite"}},
		"infinity":                    {`'{1}', '{f}', '{h}', '{t}', '{-Infinity,1}'`, refusal{"LG002", "invalid vectors", "infinite", "finite"}},
		"a null number":               {`'{1}', '{f}', '{h}', '{t}', '{1,null}'`, refusal{"LG002", "invalid vectors", "a null", "finite"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireRefused(t, c.want, attempt(t.Context(), db,
				`select langgraph.store_put('{n,n}', '{k,removed}', '{"{}",null}', '{null,null}', `+c.args+`)`))
		})
	}
	require.Empty(t, storedItems(t, db))
}

func TestUnchangedNamesTheTextsWhoseVectorIsStoredWithTheirHash(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	unchanged := func() []int {
		return column[int](t, db, `select langgraph.store_unchanged('{n,n,n,n,n,m}', '{old,k,k,k,x,k}', '{a,b,a,a,a,a}',
			array['\x6831', '\x6831', '\x6832', '\x6831', '\x6831', '\x6831']::bytea[])`)
	}
	require.Empty(t, unchanged(), "without an index there are no vectors")
	enableVectors(t, db)
	require.Empty(t, unchanged())
	putVectors(t, db, []itemPut{{"n", "k", `{}`, nil}, {"n", "old", `{}`, 1.0}},
		vectorPut{1, "a", "h1", []float32{1, 2}}, vectorPut{1, "b", "", []float32{1, 2}}, vectorPut{2, "a", "h1", []float32{1, 2}})
	require.Equal(t, []int{1, 4}, unchanged())
	exec(t, db, "update langgraph.store set expires_at = now() where key = 'old'")
	require.Equal(t, []int{4}, unchanged(), "an expired item counts as absent")
}

func TestAnotherClientsVectorHasNoHash(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	enableVectors(t, db)
	putVectors(t, db, []itemPut{{"n", "k", `{}`, nil}}, vectorPut{1, "a", "h1", []float32{1, 2}}, vectorPut{1, "b", "h2", []float32{3, 4}})
	exec(t, db, `insert into langgraph.store_vectors (prefix, key, field_name, embedding) values ('n', 'k', 'a', '[9,9]'), ('n', 'k', 'c', '[8,8]')
		on conflict (prefix, key, field_name) do update set embedding = excluded.embedding, updated_at = now()`)
	exec(t, db, "update langgraph.store_vectors set updated_at = now() where field_name = 'b'")
	require.Equal(t, []string{"n k a [9,9] -", "n k b [3,4] h2", "n k c [8,8] -"}, storedVectors(t, db))
	require.Equal(t, []int{2}, column[int](t, db, `select langgraph.store_unchanged('{n,n}', '{k,k}', '{a,b}', array['\x6831', '\x6832']::bytea[])`))
	putVectors(t, db, []itemPut{{"n", "k", `{}`, nil}}, vectorPut{1, "a", "h1", []float32{1, 2}}, vectorPut{1, "b", "h2", nil})
	require.Equal(t, []string{"n k a [1,2] h1", "n k b [3,4] h2"}, storedVectors(t, db), "our next put writes the vector again")
}

// waitUntilBlocked waits until so many sessions of the test's database wait for another.
func waitUntilBlocked(t *testing.T, db *pgxpool.Pool, sessions int) {
	t.Helper()
	require.Eventually(t, func() bool {
		return value[int](t, db, `select count(*) from pg_stat_activity
			where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0`) == sessions
	}, time.Minute, time.Millisecond)
}

// Each of the two writers is stopped between its first and its last key, so that without one order of locking they would
// hold what the other waits for.
func TestTwoWritersOfTheSameKeysInOppositeOrderDoNotDeadlock(t *testing.T) {
	t.Parallel()
	const (
		forth       = `select langgraph.store_put('{n,n,n}', '{a,m,z}', '{"{\"v\":\"forth\"}","{}","{\"v\":\"forth\"}"}', '{null,null,null}')`
		back        = `select langgraph.store_put('{n,n,n}', '{z,m,a}', '{"{\"v\":\"back\"}","{}","{\"v\":\"back\"}"}', '{null,null,null}')`
		removeForth = `select langgraph.store_put('{n,n,n}', '{a,m,z}', '{null,null,null}', '{null,null,null}')`
		deleteBack  = `select langgraph.store_delete('{n,n,n}', '{z,m,a}')`
	)
	for name, c := range map[string]struct {
		there         bool
		first, second string
		want          []string
	}{
		"items that are there":              {true, forth, back, []string{`n a {"v": "back"}`, `n m {}`, `n z {"v": "back"}`}},
		"new items":                         {false, forth, back, []string{`n a {"v": "back"}`, `n m {}`, `n z {"v": "back"}`}},
		"a put and a delete":                {true, forth, deleteBack, []string{}},
		"a delete and a put":                {true, deleteBack, forth, []string{`n a {"v": "forth"}`, `n m {}`, `n z {"v": "forth"}`}},
		"puts that remove and a delete":     {true, removeForth, deleteBack, []string{}},
		"puts that remove and those of new": {true, removeForth, back, []string{`n a {"v": "back"}`, `n m {}`, `n z {"v": "back"}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newDatabase(t)
			if c.there {
				exec(t, db, forth)
			}
			gate, err := db.Begin(t.Context())
			require.NoError(t, err)
			putItems(t, gate, itemPut{"n", "m", `{}`, nil})
			done := make(chan error, 2)
			for i, sql := range []string{c.first, c.second} {
				go func() {
					_, err := db.Exec(t.Context(), sql)
					done <- err
				}()
				waitUntilBlocked(t, db, i+1)
			}
			require.NoError(t, gate.Commit(t.Context()))
			require.NoError(t, <-done)
			require.NoError(t, <-done)
			require.Equal(t, c.want, append([]string{}, storedItems(t, db)...))
		})
	}
}
