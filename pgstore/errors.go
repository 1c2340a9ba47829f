package pgstore

import (
	"errors"
	"fmt"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgweft/pgweft/internal/pglimits"
	"github.com/pgweft/pgweft/internal/pgschema"
	"github.com/pgweft/pgweft/store"
)

// Errors about the schema, for errors.Is. Each says which command mends it.
var (
	// ErrSchemaMissing says that pgweft is not installed in the schema, or not visible to this role.
	ErrSchemaMissing = pgschema.ErrMissing
	// ErrSchemaOutdated says that the schema is older than this package needs.
	ErrSchemaOutdated = pgschema.ErrOutdated
	// ErrSchemaNewer says that the schema no longer serves clients as old as this package.
	ErrSchemaNewer = pgschema.ErrNewer
	// ErrIndexMismatch says that the vector index has other dimensions, another distance or another vector type than
	// Config.Index.
	ErrIndexMismatch = errors.New("vector index does not match")
)

// Errors about limits of the server or of a pooler, for errors.Is. Each says what to do.
var (
	// ErrTimeout says that the server or a pooler ended a statement, a wait for a lock, or a transaction that lay idle.
	ErrTimeout = pglimits.ErrTimeout
	// ErrTooBusy says that no connection was to be had, from the server or from a pooler.
	ErrTooBusy = pglimits.ErrTooBusy
	// ErrPreparedStatement says that prepared statements do not work on this connection: there is a pooler in transaction
	// mode that does not keep them.
	ErrPreparedStatement = pglimits.ErrPreparedStatement
)

// vectorGone is the SQLSTATE by which store_put says that a vector found unchanged is not there any more.
const vectorGone = "LG008"

// databaseErrors map the SQLSTATEs of pgweft's functions, and those by which Postgres itself refuses an argument.
var databaseErrors = pgschema.Errors{
	Package: "pgstore",
	Sentinels: map[string]error{
		"LG002": store.ErrInvalidArgument,
		"LG004": store.ErrNotEnabled,
		"LG007": store.ErrTenant,

		// A key or namespace too long for the index that finds it, or a value too large for jsonb.
		pgerrcode.ProgramLimitExceeded: store.ErrInvalidArgument,
		// A value nested deeper than the server's stack, or a number beyond numeric.
		pgerrcode.StatementTooComplex:    store.ErrInvalidArgument,
		pgerrcode.NumericValueOutOfRange: store.ErrInvalidArgument,
	},
}

// wrapError is the one place where errors of the database become errors of this package. The *pgconn.PgError stays
// reachable with errors.As.
func wrapError(operation string, err error) error {
	if hasState(err, pgerrcode.ReadOnlySQLTransaction) && operation != "put" {
		err = fmt.Errorf("%w; the read starts the items' time to live anew, which writes: set its RefreshTTL, or "+
			"RefreshOnRead of Config.TTL, to false", err)
	}
	return databaseErrors.Wrap(operation, err)
}

func isVectorGone(err error) bool { return hasState(err, vectorGone) }

// isConflict says whether the server gave a transaction up for another's sake.
func isConflict(err error) bool {
	return hasState(err, pgerrcode.DeadlockDetected) || hasState(err, pgerrcode.SerializationFailure)
}

func hasState(err error, state string) bool {
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) && pgErr.Code == state
}
