package sql_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// infoOf is the row of store_info as text, its nulls included.
func infoOf(t *testing.T, db querier, schema string) string {
	t.Helper()
	return value[string](t, db, quoted(`select concat_ws(' ', coalesce(dims::text, '-'), coalesce(vector_type, '-'), coalesce(distance, '-'), coalesce(method, '-'),
		coalesce(text_config, '-'), coalesce(text_fields::text, '-'), coalesce(vector_schema, '-')) from @.store_info()`, schema))
}

func TestInfoOfASchemaWithoutIndexes(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	require.Equal(t, "- - - - - - public", infoOf(t, db, "langgraph"))
	installed := value[string](t, db, "select extversion from pg_extension where extname = 'vector'")
	require.Equal(t, installed, value[string](t, db, "select vector_version from langgraph.store_info()"))
}

func TestAVectorIndexOfEveryKind(t *testing.T) {
	t.Parallel()
	for _, vectorType := range []string{"vector", "halfvec"} {
		for distance, operators := range map[string]string{"cosine": "cosine", "l2": "l2", "inner_product": "ip"} {
			for _, method := range []string{"hnsw", "ivfflat", "flat"} {
				t.Run(vectorType+" "+distance+" "+method, func(t *testing.T) {
					t.Parallel()
					db := newDatabase(t)
					call := fmt.Sprintf("select langgraph.enable_vector_index(2, '%s', '%s', '%s')", vectorType, distance, method)
					exec(t, db, call)
					exec(t, db, call)
					require.Equal(t, fmt.Sprintf("2 %s %s %s - - public", vectorType, distance, method), infoOf(t, db, "langgraph"))
					require.Equal(t, vectorType+"(2)", value[string](t, db, `select format_type(atttypid, atttypmod) from pg_attribute
						where attrelid = 'langgraph.store_vectors'::regclass and attname = 'embedding'`))
					classes := column[string](t, db, `select concat_ws(' ', m.amname, o.opcname) from pg_index i
						join pg_opclass o on o.oid = i.indclass[0] join pg_am m on m.oid = o.opcmethod
						where i.indexrelid = to_regclass('langgraph.store_vectors_embedding_idx')`)
					if method == "flat" {
						require.Empty(t, classes)
					} else {
						require.Equal(t, []string{fmt.Sprintf("%s %s_%s_ops", method, vectorType, operators)}, classes)
					}
					putVectors(t, db, []itemPut{{"n", "k", `{}`, nil}}, vectorPut{1, "f", "h", []float32{0.5, -2}})
					require.Equal(t, []string{"n k f [0.5,-2] h"}, storedVectors(t, db))
				})
			}
		}
	}
}

func TestAVectorIndexThatCannotBeMadeIsRefused(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	for args, want := range map[string]refusal{
		`null`:                            {"LG002", "invalid dims", "1 to 2000 dimensions, not null", "halfvec has room for 4000"},
		`2, null`:                         {"LG002", "invalid vector index", "vector_type NULL", "The type is vector or halfvec"},
		`2, 'bit'`:                        {"LG002", "invalid vector index", "vector_type 'bit'", "The type is vector or halfvec"},
		`2, 'vector', 'l1'`:               {"LG002", "invalid vector index", "distance 'l1'", "the distance cosine, l2 or inner_product"},
		`2, 'vector', null`:               {"LG002", "invalid vector index", "distance NULL", "the distance cosine, l2 or inner_product"},
		`2, 'vector', 'l2', 'gin'`:        {"LG002", "invalid vector index", "method 'gin'", "the method hnsw, ivfflat or flat"},
		`2, 'vector', 'l2', null`:         {"LG002", "invalid vector index", "method NULL", "the method hnsw, ivfflat or flat"},
		`0`:                               {"LG002", "invalid dims", "dimensions, not 0", "halfvec has room for 4000"},
		`2001`:                            {"LG002", "invalid dims", "dimensions, not 2001", "halfvec has room for 4000"},
		`4001, 'halfvec'`:                 {"LG002", "invalid dims", "dimensions, not 4001", "halfvec has room for 4000"},
		`16001, 'vector', 'l2', 'flat'`:   {"LG002", "invalid dims", "dimensions, not 16001", "halfvec has room for 4000"},
		`2, p_options => null`:            {"LG002", "invalid options", "null for method hnsw", "each a whole number"},
		`2, p_options => '{"m": "16"}'`:   {"LG002", "invalid options", `{"m": "16"} for method hnsw`, "each a whole number"},
		`2, p_options => '[]'`:            {"LG002", "invalid options", "[]", "each a whole number"},
		`2, p_options => '{"lists": 10}'`: {"LG002", "invalid options", `{"lists": 10} for method hnsw`, "each a whole number"},
		`2, p_options => '{"m": "16) where (1"}'`:            {"LG002", "invalid options", "", "each a whole number"},
		`2, p_options => '{"m": 1.5}'`:                       {"LG002", "invalid options", "", "each a whole number"},
		`2, p_options => '{"m": null}'`:                      {"LG002", "invalid options", "", "each a whole number"},
		`2, p_options => '{"fillfactor": 10}'`:               {"LG002", "invalid options", "", "each a whole number"},
		`2, p_method => 'ivfflat', p_options => '{"m": 10}'`: {"LG002", "invalid options", "for method ivfflat", "each a whole number"},
		`2, p_method => 'flat', p_options => '{"m": 10}'`:    {"LG002", "invalid options", "for method flat", "each a whole number"},
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			requireRefused(t, want, attempt(t.Context(), db, "select langgraph.enable_vector_index("+args+")"))
		})
	}
	t.Run("an option that pgvector refuses leaves nothing", func(t *testing.T) {
		t.Parallel()
		requireState(t, "22023", attempt(t.Context(), db, `select langgraph.enable_vector_index(2, p_options => '{"m": 99999}')`))
		require.True(t, value[bool](t, db, "select to_regclass('langgraph.store_vectors') is null"))
	})
}

func TestOptionsOfAVectorIndexAreThoseAskedFor(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		`2, p_options => '{"m": 8, "ef_construction": 40}'`:     "{ef_construction=40,m=8}",
		`2, p_method => 'ivfflat', p_options => '{"lists": 7}'`: "{lists=7}",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			db := newDatabase(t)
			options := func() string {
				return value[string](t, db, `select array(select unnest(reloptions) order by 1)::text from pg_class where relname = 'store_vectors_embedding_idx'`)
			}
			exec(t, db, "select langgraph.enable_vector_index("+args+")")
			require.Equal(t, want, options())
			exec(t, db, "select langgraph.enable_vector_index("+args+")")
			require.Equal(t, want, options())
		})
	}
}

func TestAnotherVectorIndexThanTheOneThereIsRefused(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	exec(t, db, "select langgraph.enable_vector_index(2)")
	putVectors(t, db, []itemPut{{"n", "k", `{}`, nil}}, vectorPut{1, "f", "h", []float32{1, 2}})
	vectors := refusal{"LG002", "invalid vector index", "There are vectors of 2 dimensions, type vector, distance cosine already.", "drop the table store_vectors"}
	index := refusal{"LG002", "invalid vector index", "There is an index already: method hnsw", "drop the index store_vectors_embedding_idx"}
	for args, want := range map[string]refusal{
		`3`:                                vectors,
		`2, 'halfvec'`:                     vectors,
		`2, 'vector', 'l2'`:                vectors,
		`2, p_distance => 'inner_product'`: vectors,
		`2, p_method => 'ivfflat'`:         index,
		`2, p_method => 'flat'`:            index,
		`2, p_options => '{"m": 8}'`:       index,
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			requireRefused(t, want, attempt(t.Context(), db, "select langgraph.enable_vector_index("+args+")"))
			require.Equal(t, []string{"n k f [1,2] h"}, storedVectors(t, db), "the vectors are still there")
			require.Equal(t, "2 vector cosine hnsw - - public", infoOf(t, db, "langgraph"))
		})
	}
}

func TestATableOfVectorsWithoutAnIndexGetsOne(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	exec(t, db, "select langgraph.enable_vector_index(2, 'vector', 'l2', 'flat')")
	putVectors(t, db, []itemPut{{"n", "k", `{}`, nil}}, vectorPut{1, "f", "h", []float32{1, 2}})
	requireRefused(t, refusal{"LG002", "invalid vector index", "There are vectors of 2 dimensions, type vector, distance l2 already.", "drop the table"},
		attempt(t.Context(), db, "select langgraph.enable_vector_index(2)"))
	exec(t, db, "select langgraph.enable_vector_index(2, 'vector', 'l2')")
	require.Equal(t, "2 vector l2 hnsw - - public", infoOf(t, db, "langgraph"))
	require.Equal(t, []string{"n k f [1,2] h"}, storedVectors(t, db))

	exec(t, db, "drop table langgraph.store_vectors")
	require.Equal(t, "- - - - - - public", infoOf(t, db, "langgraph"), "the hint to begin anew is true: distance and all are forgotten")
	exec(t, db, "select langgraph.enable_vector_index(3)")
	require.Equal(t, "3 vector cosine hnsw - - public", infoOf(t, db, "langgraph"))
	require.Equal(t, "trigger", value[string](t, db, "select case when count(*) = 1 then 'trigger' end from pg_trigger where tgname = 'store_vectors_touch'"))
}

func TestATableOfVectorsThatLangGraphMadeIsCompleted(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	exec(t, db, `
		create table langgraph.store_vectors (prefix text not null, key text not null, field_name text not null, embedding vector(2),
			created_at timestamptz default now(), updated_at timestamptz default now(), primary key (prefix, key, field_name),
			foreign key (prefix, key) references langgraph.store (prefix, key) on delete cascade);
		create index store_vectors_embedding_idx on langgraph.store_vectors using hnsw (embedding vector_l2_ops);
		insert into langgraph.store (prefix, key, value) values ('n', 'k', '{}');
		insert into langgraph.store_vectors (prefix, key, field_name, embedding) values ('n', 'k', 'f', '[1,2]')`)
	require.Equal(t, "2 vector l2 hnsw - - public", infoOf(t, db, "langgraph"), "the catalogs say it")
	exec(t, db, "select langgraph.enable_vector_index(2, 'vector', 'l2')")
	require.Equal(t, []string{"n k f [1,2] -"}, storedVectors(t, db))
	putVectors(t, db, []itemPut{{"n", "k", `{}`, nil}}, vectorPut{1, "f", "h", []float32{3, 4}})
	require.Equal(t, []string{"n k f [3,4] h"}, storedVectors(t, db))
	exec(t, db, "update langgraph.store_vectors set embedding = '[5,6]'")
	require.Equal(t, []string{"n k f [5,6] -"}, storedVectors(t, db))
}

func TestVectorsHaveTheRightsOfTheStore(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	role := newRole(t, db)
	exec(t, db, "grant usage on schema langgraph to "+role+"; grant select, delete on langgraph.store to "+role)
	enableVectors(t, db)
	require.Equal(t, []string{"DELETE", "SELECT"}, column[string](t, db,
		"select privilege_type from information_schema.role_table_grants where grantee = $1 and table_name = 'store_vectors' order by 1", role))
	as(t, db, role, func(tx pgx.Tx) {
		require.Empty(t, storedVectors(t, tx))
		requireState(t, "42501", attempt(t.Context(), tx, "update langgraph.store_vectors set text_hash = null"))
	})
}

func TestConcurrentCallsMakeOneIndex(t *testing.T) {
	t.Parallel()
	for name, sql := range map[string]string{
		"of vectors": "select langgraph.enable_vector_index(2)",
		"of texts":   "select langgraph.enable_text_index('english', '{a}')",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newDatabase(t)
			first, err := db.Begin(t.Context())
			require.NoError(t, err)
			exec(t, first, sql)
			done := make(chan error, 2)
			for i := range cap(done) {
				go func() {
					_, err := db.Exec(t.Context(), sql)
					done <- err
				}()
				waitUntilBlocked(t, db, i+1)
			}
			require.NoError(t, first.Commit(t.Context()))
			for range cap(done) {
				require.NoError(t, <-done)
			}
			require.Equal(t, 1, value[int](t, db, `select count(*) from pg_indexes where indexname in ('store_vectors_embedding_idx', 'store_text_search_idx')`))
		})
	}
}

func TestWithoutPgvectorOnlyVectorsAreMissing(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	exec(t, db, "drop extension vector")
	requireRefused(t, refusal{"LG004", "pgvector is not installed", `the extension "vector"`, "create extension vector"},
		attempt(t.Context(), db, "select langgraph.enable_vector_index(2)"))
	requireRefused(t, refusal{"LG004", "vector search is not enabled", "enable_vector_index has not been called", "call enable_vector_index"},
		attempt(t.Context(), db, putVectorsSQL, vectorArgs([]itemPut{{"n", "k", `{}`, nil}}, vectorPut{1, "f", "h", []float32{1, 2}})...))
	putItems(t, db, itemPut{"n", "k", `{"text": "two words"}`, 1.0}, itemPut{"n.m", "l", `{}`, nil})
	require.Len(t, getItems(t, db, true, "k"), 1)
	exec(t, db, "select langgraph.enable_text_index()")
	require.Equal(t, []string{"k"}, column[string](t, db, "select key from langgraph.store_search('n', p_query_text => 'words')"))
	require.Equal(t, []string{"n", "n.m"}, column[string](t, db, "select langgraph.store_list_namespaces()"))
	require.Empty(t, column[int](t, db, "select langgraph.store_unchanged('{n}', '{k}', '{f}', '{h}')"))
	require.Equal(t, "- - - - simple {$} -", infoOf(t, db, "langgraph"))
	require.Equal(t, int64(1), value[int64](t, db, "select langgraph.store_delete('{n}', '{k}')"))
	require.Equal(t, int64(0), value[int64](t, db, "select langgraph.store_sweep()"))
}

func TestPgvectorMayLiveInAnySchema(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	exec(t, db, `drop extension vector; create schema "Ext""s"; create extension vector schema "Ext""s"`)
	for i, vectorType := range []string{"vector", "halfvec"} {
		exec(t, db, "drop table if exists langgraph.store_vectors")
		exec(t, db, "select langgraph.enable_vector_index(2, $1, 'l2')", vectorType)
		require.Equal(t, fmt.Sprintf(`2 %s l2 hnsw - - Ext"s`, vectorType), infoOf(t, db, "langgraph"))
		putVectors(t, db, []itemPut{{"n", "k", fmt.Sprintf(`{"v": %d}`, i), nil}}, vectorPut{1, "f", "h", []float32{3, 4}})
		require.Equal(t, []string{"n k f [3,4] h"}, storedVectors(t, db))
		require.Equal(t, []float64{-5}, column[float64](t, db, "select score from langgraph.store_search('n', p_query_vector => '{0,0}')"))
	}
}

func TestAnOwnerWithoutSuperuserRightsEnablesIndexesInASchemaOfAnyName(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{oddSchema, `back\slash`, "Select"} {
		t.Run(schema, func(t *testing.T) {
			t.Parallel()
			conn := installed(t, schema)
			for range 2 {
				exec(t, conn, quoted("select @.enable_vector_index(2, 'halfvec', 'inner_product')", schema))
				exec(t, conn, quoted("select @.enable_text_index('english', '{notes[*].text, it''s}')", schema))
			}
			require.Equal(t, "2 halfvec inner_product hnsw english {notes[*].text,it's} public", infoOf(t, conn, schema))
			exec(t, conn, quoted(`select @.store_put('{n}', '{k}', '{"{\"notes\": [{\"text\": \"running dogs\"}]}"}', '{1}', '{1}', '{f}', '{h}', '{t}', '{3,4}')`, schema))
			require.Equal(t, []int{1}, column[int](t, conn, quoted(`select @.store_unchanged('{n}', '{k}', '{f}', '{h}')`, schema)))
			require.Equal(t, []string{"k"}, column[string](t, conn, quoted(`select key from @.store_get('{n}', '{k}', '{t}')`, schema)))
			require.Equal(t, []string{"n"}, column[string](t, conn, quoted(`select namespace from @.store_list_namespaces('{prefix}', '{n}')`, schema)))
			require.Equal(t, []float64{11}, column[float64](t, conn, quoted(`select score from @.store_search('n', '{"notes": {"$exists": true}}', p_query_vector => '{1,2}')`, schema)))
			require.Equal(t, []string{"k"}, column[string](t, conn, quoted(`select key from @.store_search('', p_query_text => 'dog')`, schema)))
			require.Equal(t, int64(1), value[int64](t, conn, quoted(`select @.store_delete('{n}', '{k}')`, schema)))
		})
	}
}

func TestATextIndexThatCannotBeMadeIsRefused(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	for args, want := range map[string]refusal{
		`null`:                  {"LG002", "invalid text search configuration", "NULL does not exist", "pg_ts_config"},
		`'klingon'`:             {"LG002", "invalid text search configuration", "'klingon' does not exist", "pg_ts_config"},
		`'a.b.c.d'`:             {"LG002", "invalid text search configuration", "'a.b.c.d' does not exist", "pg_ts_config"},
		`'no_schema.simple'`:    {"LG002", "invalid text search configuration", "'no_schema.simple' does not exist", "pg_ts_config"},
		`''`:                    {"LG002", "invalid text search configuration", "'' does not exist", "pg_ts_config"},
		`'"'`:                   {"LG002", "invalid text search configuration", "does not exist", "pg_ts_config"},
		`'-'`:                   {"LG002", "invalid text search configuration", "'-' does not exist", "pg_ts_config"},
		`'999999999'`:           {"LG002", "invalid text search configuration", "'999999999' does not exist", "pg_ts_config"},
		`'simple', null`:        {"LG002", "invalid fields", "There are none", "or {$}"},
		`'simple', '{}'`:        {"LG002", "invalid fields", "There are none", "or {$}"},
		`'simple', '{a,null}'`:  {"LG002", "invalid field", "NULL is not a path", "Write paths as"},
		`'simple', '{a..b}'`:    {"LG002", "invalid field", "'a..b' is not a path", "Write paths as"},
		`'simple', '{a[x]}'`:    {"LG002", "invalid field", "'a[x]' is not a path", "Write paths as"},
		`'simple', '{""}'`:      {"LG002", "invalid field", "'' is not a path", "Write paths as"},
		`'simple', '{"{a,b}"}'`: {"LG002", "invalid field", "is not a path", "Write paths as"},
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			requireRefused(t, want, attempt(t.Context(), db, "select langgraph.enable_text_index("+args+")"))
		})
	}
}

func TestATextIndexIsMadeOnceAndAnotherIsRefused(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	putItems(t, db, itemPut{"n", "k", `{"a": {"b": ["Running", 42]}, "c": "hidden"}`, nil})
	exec(t, db, `select langgraph.enable_text_index('pg_catalog.english', '{a.b[*]}')`)
	exec(t, db, `select langgraph.enable_text_index('english', '{a.b[*]}')`)
	require.Equal(t, "- - - - english {a.b[*]} public", infoOf(t, db, "langgraph"))
	for words, found := range map[string]bool{"run": true, "42": true, "hidden": false} {
		require.Equal(t, found, value[bool](t, db, "select text_search @@ $1::tsquery from langgraph.store", words), "items that were there have their words: %s", words)
	}
	for _, args := range []string{`'simple', '{a.b[*]}'`, `'english'`, `'english', '{a.b}'`, `'english', '{a.b[*],c}'`} {
		requireRefused(t, refusal{"LG002", "invalid text index", "There is one already: configuration english, fields {a.b[*]}.", "drop the column text_search"},
			attempt(t.Context(), db, "select langgraph.enable_text_index("+args+")"))
	}
	exec(t, db, "alter table langgraph.store drop column text_search")
	exec(t, db, "select langgraph.enable_text_index()")
	require.Equal(t, "- - - - simple {$} public", infoOf(t, db, "langgraph"), "the hint to begin anew is true")
}

// The name that another session would resolve differently must not be what the index remembers.
func TestATextSearchConfigurationOfOnesOwnIsTheSameForEverySearchPath(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	exec(t, db, `create schema "Own"; create text search configuration "Own"."Words" (copy = pg_catalog.english)`)
	inTx(t, db, func(tx pgx.Tx) {
		exec(t, tx, `set local search_path = "Own"`)
		exec(t, tx, `select langgraph.enable_text_index('Words')`)
		require.Equal(t, `- - - - "Own"."Words" {$} public`, infoOf(t, tx, "langgraph"))
		exec(t, tx, "set local search_path = ''")
		exec(t, tx, `select langgraph.enable_text_index('"Own"."Words"')`)
		putItems(t, tx, itemPut{"n", "k", `{"t": "running"}`, nil})
		require.Equal(t, []string{"k"}, column[string](t, tx, "select key from langgraph.store_search('', p_query_text => 'runs')"))
	})
}
