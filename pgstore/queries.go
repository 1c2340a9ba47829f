package pgstore

import (
	"strings"

	"github.com/jackc/pgx/v5"
)

// queries are the statements of a Store, one function call each. Parameters are cast, because without prepared statements
// Postgres could not tell the type of an array, and a null has none. JSON travels as text, which every exec mode sends.
type queries struct {
	get, put, search, listNamespaces, unchanged, info, sweep string
}

func newQueries(schema string) *queries {
	in := func(sql string) string {
		return strings.ReplaceAll(sql, "@schema@", pgx.Identifier{schema}.Sanitize())
	}
	return &queries{
		get: in(`select item_position, prefix, key, value, created_at, updated_at
			from @schema@.store_get($1::text[], $2::text[], $3::boolean[])`),
		put: in(`select @schema@.store_put($1::text[], $2::text[], $3::text[]::jsonb[], $4::double precision[],
			$5::integer[], $6::text[], $7::bytea[], $8::boolean[], $9::real[])`),
		search: in(`select prefix, key, value, created_at, updated_at, score
			from @schema@.store_search($1::text, $2::text::jsonb, $3::integer, $4::integer, $5::boolean, $6::real[],
				$7::text, $8::text)`),
		listNamespaces: in(`select namespace
			from @schema@.store_list_namespaces($1::text[], $2::text[], $3::integer, $4::integer, $5::integer)`),
		unchanged: in(`select item_position
			from @schema@.store_unchanged($1::text[], $2::text[], $3::text[], $4::bytea[])`),
		info:  in(`select dims, vector_type, distance from @schema@.store_info()`),
		sweep: in(`select @schema@.store_sweep($1::integer)`),
	}
}

// Inside a transaction, a batch that may have to be sent again is sent after a savepoint.
const (
	savepoint           = "savepoint pgstore_batch"
	releaseSavepoint    = "release savepoint pgstore_batch"
	rollbackToSavepoint = "rollback to savepoint pgstore_batch"
)
