package pgschema

import (
	"errors"
	"fmt"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgweft/pgweft/internal/pglimits"
)

// Errors turn errors of the database into those of one package.
type Errors struct {
	// Package begins every error.
	Package string
	// Sentinels are the package's errors by SQLSTATE. Those that say that the schema is missing are known already.
	Sentinels map[string]error
}

// missing are the SQLSTATEs of a call where pgweft is not installed, or not visible to the role.
var missing = map[string]bool{
	pgerrcode.UndefinedFunction: true,
	pgerrcode.InvalidSchemaName: true,
}

// Wrap names the package and the operation, joins what the database says besides its message, and makes the sentinel of
// the SQLSTATE reachable with errors.Is. The *pgconn.PgError stays reachable with errors.As. It returns nil for nil.
func (e Errors) Wrap(operation string, err error) error {
	if err == nil {
		return nil
	}
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) {
		return fmt.Errorf("%s: %s: %w", e.Package, operation, err)
	}
	explained := err
	if pgErr.Detail != "" {
		explained = fmt.Errorf("%w. %s", explained, pgErr.Detail)
	}
	if pgErr.Hint != "" {
		explained = fmt.Errorf("%w %s", explained, pgErr.Hint)
	}
	if limit, ok := pglimits.Of(err); ok {
		return fmt.Errorf("%s: %s: %w: %w. %s", e.Package, operation, limit.Kind, explained, limit.Hint)
	}
	sentinel, known := e.Sentinels[pgErr.Code]
	if missing[pgErr.Code] {
		sentinel, known = ErrMissing, true
	}
	if known {
		return fmt.Errorf("%s: %s: %w: %w", e.Package, operation, sentinel, explained)
	}
	return fmt.Errorf("%s: %s: %w", e.Package, operation, explained)
}
