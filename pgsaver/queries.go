package pgsaver

import (
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// queries are the statements of a Saver, one function call each. Parameters are cast, because without prepared statements
// Postgres could not tell the type of an array, and a null has none.
type queries struct {
	get, list, put, putWrites, putStep, deleteThread, fork     string
	deleteForRuns, prune, copyThread, forkThread, deltaHistory string
	setThreadTTL, pin, unpin, sweep, sweepPreview              string
	clock, swept                                               string

	getRows *rowShape // what get returns
}

const removedColumns = `thread_id, checkpoints, checkpoint_blobs, checkpoint_writes, bytes, kept`

// newQueries makes the statements for a schema. What db prepares is read by checkpoint_tuple, which is cheaper to run, and dearer
// to plan.
func newQueries(schema string, db DB) *queries {
	getFunction, getRows := "get_checkpoint", parallelRows
	if prepares(db) {
		getFunction, getRows = "checkpoint_tuple", packedRows
	}
	in := func(sql string) string {
		return strings.ReplaceAll(sql, "@schema@", pgx.Identifier{schema}.Sanitize())
	}
	return &queries{
		getRows: getRows,

		get: in(`select ` + getRows.selectList + `
			from @schema@.` + getFunction + `($1::text, $2::text, $3::text)`),
		list: in(`select ` + parallelRows.selectList + `
			from @schema@.list_checkpoints($1::text, $2::text, $3::jsonb, $4::text, $5::bigint, $6::boolean, $7::text)`),
		put: in(`select @schema@.put_checkpoint($1::text, $2::text, $3::text, $4::text, $5::jsonb, $6::jsonb,
			$7::text[], $8::text[], $9::text[], $10::bytea[], $11::text, $12::text, $13::text, $14::bytea)`),
		putWrites: in(`select @schema@.put_writes($1::text, $2::text, $3::text, $4::text, $5::text, null,
			$6::text[], $7::text[], $8::bytea[])`),
		putStep: in(`select @schema@.put_step($1::text, $2::text, $3::text, $4::text, $5::jsonb, $6::jsonb,
			$7::text[], $8::text[], $9::text[], $10::bytea[],
			$11::text[], $12::text[], $13::text[], $14::text[], $15::bytea[])`),
		deleteThread: in(`select * from @schema@.delete_thread($1::text)`),
		fork:         in(`select @schema@.fork_checkpoint($1::text, $2::text, $3::text, $4::text, $5::jsonb, $6::boolean)`),
		deleteForRuns: in(`select ` + removedColumns + `
			from @schema@.delete_for_runs($1::text[])`),
		prune: in(`select ` + removedColumns + `
			from @schema@.prune($1::text[], $2::text, $3::integer, $4::boolean, $5::boolean)`),
		copyThread: in(`select * from @schema@.copy_thread($1::text, $2::text)`),
		forkThread: in(`select * from @schema@.fork_thread($1::text, $2::text, $3::text)`),
		deltaHistory: in(`select channel, kind, task_id, task_path, idx, type, blob, value
			from @schema@.delta_channel_history($1::text, $2::text, $3::text, $4::text[])`),
		setThreadTTL: in(`select @schema@.set_thread_ttl($1::text, $2::interval)`),
		pin:          in(`select @schema@.pin_checkpoint($1::text, $2::text, $3::text, $4::text)`),
		unpin:        in(`select @schema@.unpin_checkpoint($1::text, $2::text, $3::text)`),
		sweep:        in(`call @schema@.sweep($1::integer, $2::interval)`),
		sweepPreview: in(`select ` + removedColumns + `
			from @schema@.sweep_preview()`),
		clock: `select clock_timestamp()`,
		swept: in(`select s.value from @schema@.settings s
			where s.key = 'sweep' and (s.value ->> 'started_at')::timestamptz >= $1::timestamptz`),
	}
}

// prepares says whether statements on db are known to be planned once and then kept.
func prepares(db DB) bool {
	var config *pgx.ConnConfig
	switch db := db.(type) {
	case *pgxpool.Pool:
		config = db.Config().ConnConfig
	case *pgx.Conn:
		config = db.Config()
	case pgx.Tx:
		config = db.Conn().Config()
	default:
		return false
	}
	return config.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement
}
