package pgsaver

import (
	"errors"
	"fmt"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/internal/pglimits"
	"github.com/pgweft/pgweft/internal/pgschema"
)

// Errors about the schema, for errors.Is. Each says which command mends it.
var (
	// ErrSchemaMissing says that pgweft is not installed in the schema, or not visible to this role.
	ErrSchemaMissing = pgschema.ErrMissing
	// ErrSchemaOutdated says that the schema is older than this package needs.
	ErrSchemaOutdated = pgschema.ErrOutdated
	// ErrSchemaNewer says that the schema no longer serves clients as old as this package.
	ErrSchemaNewer = pgschema.ErrNewer
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

// databaseErrors map the SQLSTATEs of pgweft's functions, and those by which Postgres itself refuses an argument.
var databaseErrors = pgschema.Errors{
	Package: "pgsaver",
	Sentinels: map[string]error{
		"LG001": checkpoint.ErrNotFound,
		"LG002": checkpoint.ErrInvalidArgument,
		"LG003": checkpoint.ErrVersionCollision,
		"LG004": checkpoint.ErrNotEnabled,
		"LG005": checkpoint.ErrPinned,
		"LG006": checkpoint.ErrCorrupt,
		"LG007": checkpoint.ErrTenant,

		// NUL or broken UTF-8 in an identifier or in metadata.
		pgerrcode.CharacterNotInRepertoire: checkpoint.ErrInvalidArgument,
		pgerrcode.UntranslatableCharacter:  checkpoint.ErrInvalidArgument,
		// An identifier too long for the index that finds it.
		pgerrcode.ProgramLimitExceeded: checkpoint.ErrInvalidArgument,
	},
}

// wrapError is the one place where errors of the database become errors of this package. The *pgconn.PgError stays
// reachable with errors.As.
func wrapError(operation string, err error) error { return databaseErrors.Wrap(operation, err) }

// notFound says which checkpoint a query without a row was about.
func notFound(err error, config checkpoint.Config) error {
	if !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	if config.CheckpointID == "" {
		return fmt.Errorf("%w: thread %q has no checkpoint in namespace %q", checkpoint.ErrNotFound, config.ThreadID,
			config.Namespace)
	}
	return fmt.Errorf("%w: thread %q has no checkpoint %q in namespace %q", checkpoint.ErrNotFound, config.ThreadID,
		config.CheckpointID, config.Namespace)
}
