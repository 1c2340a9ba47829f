// Package pgschema is what the packages that call pgweft's SQL functions share: the check that the schema suits them, and the
// one place where errors of the database become Go's.
package pgschema

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
)

// Version is the version of the schema whose functions this module calls.
const Version = 4

// DefaultName is where pgweft is installed unless someone chose another schema.
const DefaultName = "langgraph"

// Errors about the schema, for errors.Is. Each says which command mends it.
var (
	ErrMissing  = errors.New("schema is missing")
	ErrOutdated = errors.New("schema is outdated")
	ErrNewer    = errors.New("schema is too new")
)

// Querier is what a check needs of a connection.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Check remembers that a schema was found suitable. A failed check is made again at the next call, so that a process need
// not restart after the DBA has migrated.
type Check struct {
	name     string
	sql      string
	errors   Errors
	suitable atomic.Bool
}

// NewCheck checks the schema of that name, for the package whose errors these are.
func NewCheck(name string, errs Errors) *Check {
	return &Check{
		name:   name,
		sql:    `select schema_version, minimum_client, dirty from ` + pgx.Identifier{name}.Sanitize() + `.schema_info()`,
		errors: errs,
	}
}

type infoRow struct {
	SchemaVersion int  `db:"schema_version"`
	MinimumClient int  `db:"minimum_client"`
	Dirty         bool `db:"dirty"`
}

// Ready returns nil where the schema suits this module; that costs one round trip until it has succeeded, and nothing after.
func (c *Check) Ready(ctx context.Context, db Querier) error {
	if c.suitable.Load() {
		return nil
	}
	rows, err := db.Query(ctx, c.sql)
	if err != nil {
		return c.explain(c.errors.Wrap("check schema", err))
	}
	info, err := pgx.CollectOneRow(rows, pgx.RowToStructByName[infoRow])
	if errors.Is(err, pgx.ErrNoRows) {
		return c.explain(ErrMissing)
	}
	if err != nil {
		return c.explain(c.errors.Wrap("check schema", err))
	}
	if err := c.suits(info); err != nil {
		return err
	}
	c.suitable.Store(true)
	return nil
}

func (c *Check) suits(info infoRow) error {
	switch {
	case info.Dirty:
		return fmt.Errorf("%s: %w: schema %q was left half-migrated at version %d; \"migrate version\" says how to recover",
			c.errors.Package, ErrOutdated, c.name, info.SchemaVersion)
	case info.SchemaVersion < Version:
		return fmt.Errorf("%s: %w: schema %q is at version %d, and this client needs %d; run \"migrate up --schema %s\"",
			c.errors.Package, ErrOutdated, c.name, info.SchemaVersion, Version, c.name)
	case info.MinimumClient > Version:
		return fmt.Errorf("%s: %w: schema %q is at version %d and serves clients from version %d on, and this one is %d; "+
			"upgrade github.com/pgweft/pgweft", c.errors.Package, ErrNewer, c.name, info.SchemaVersion, info.MinimumClient,
			Version)
	}
	return nil
}

func (c *Check) explain(err error) error {
	if errors.Is(err, ErrMissing) {
		return fmt.Errorf("%s: schema %q: %w; install it with \"migrate up --schema %s\", or name the right one in "+
			"Config.Schema", c.errors.Package, c.name, err, c.name)
	}
	return err
}
