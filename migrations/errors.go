package migrations

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

var (
	// ErrDirty means that the version row is marked dirty: a tool other than this one was interrupted in the middle of a
	// migration. (This package moves the row in the transaction of the migration, so it never leaves it dirty.) The
	// message says what to check and which call of [Migrator.Force] mends it.
	ErrDirty = errors.New("schema is dirty")

	// ErrNewerSchema means that the database is at a version this build does not know. Upgrade the binary.
	ErrNewerSchema = errors.New("schema is newer than this binary")

	// ErrNotMigrated means that the schema is at version 0: nothing of ours is there.
	ErrNotMigrated = errors.New("schema is not migrated")

	// ErrNoSuchVersion means that a version was asked for that does not exist: below 0 or above the latest.
	ErrNoSuchVersion = errors.New("no such version")
)

// Direction is the way a migration runs.
type Direction string

// The two directions.
const (
	DirectionUp   Direction = "up"
	DirectionDown Direction = "down"
)

// MigrationError says which statement of which migration failed. The migration and its version row are one transaction,
// which was rolled back: the schema is as it was before.
type MigrationError struct {
	// Direction in which the migration ran.
	Direction Direction
	// Err is the cause: a *pgconn.PgError when the server refused the statement.
	Err error
	// Line of the migration file on which the error lies, or on which the statement begins; 0 when not known.
	Line int
	// Migration is the number and name, such as "000001_checkpoint_tables".
	Migration string
	// Schema that was migrated.
	Schema string
	// Version the schema is still at.
	Version int
}

// Error describes the failure with the server's detail, hint and context, over several lines.
func (e *MigrationError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "migration %s (%s) failed and was rolled back; schema %q is still at version %d", e.Migration, e.Direction, e.Schema, e.Version)
	if e.Line > 0 {
		fmt.Fprintf(&b, "\nline %d of %s.%s.sql", e.Line, e.Migration, e.Direction)
	}
	b.WriteString(": " + describe(e.Err))
	return b.String()
}

// Unwrap gives the cause.
func (e *MigrationError) Unwrap() error { return e.Err }

const (
	codeLockNotAvailable      = "55P03"
	codeInsufficientPrivilege = "42501"
	codeUndefinedTable        = "42P01"
	codeInvalidSchemaName     = "3F000"
	codeDependentObjects      = "2BP01"
)

// describe writes a server error with everything the server said and what we know to do about it.
func describe(err error) string {
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) {
		return err.Error()
	}
	var b strings.Builder
	b.WriteString(err.Error())
	appendField(&b, "DETAIL", pgErr.Detail)
	appendField(&b, "HINT", pgErr.Hint)
	appendField(&b, "CONTEXT", pgErr.Where)
	appendField(&b, "HINT", adviceFor(pgErr.Code))
	return b.String()
}

func appendField(b *strings.Builder, name, value string) {
	if value != "" {
		fmt.Fprintf(b, "\n%s: %s", name, value)
	}
}

func adviceFor(code string) string {
	switch code {
	case codeLockNotAvailable:
		return "Another session holds a lock on the object for longer than the lock timeout. Find it with " +
			"\"select pid, query, pg_blocking_pids(pid) from pg_stat_activity\", retry when it is done, or raise the lock timeout."
	case codeInsufficientPrivilege:
		return "Migrate as the role that owns the schema and its tables."
	case codeDependentObjects:
		return "Objects that are not ours depend on it. Drop those first; migrations never cascade."
	}
	return ""
}

func dirtyError(schema string, version, latest int) error {
	applied, before := min(version, latest), max(version-1, 0)
	return fmt.Errorf(`%w: schema %q is marked dirty at version %d, so another tool was interrupted while migrating to it.
Each migration is one transaction: it is there as a whole or not at all. Find out which:
  migrate print --schema %s --from %d --to %d    shows what migration %d creates; look for it in the database
then tell the version row, and check the result:
  migrate force %d --schema %s    if it is there
  migrate force %d --schema %s    if it is not
  migrate verify --schema %s`,
		ErrDirty, schema, version,
		shellQuote(schema), before, applied, version,
		applied, shellQuote(schema), before, shellQuote(schema), shellQuote(schema))
}

func newerError(schema string, version, latest int) error {
	return fmt.Errorf("%w: schema %q is at version %d and this binary knows versions up to %d; upgrade the binary",
		ErrNewerSchema, schema, version, latest)
}

func shellQuote(word string) string {
	const plain = "_-.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	if strings.Trim(word, plain) != "" {
		return `'` + strings.ReplaceAll(word, `'`, `'\''`) + `'`
	}
	return word
}
