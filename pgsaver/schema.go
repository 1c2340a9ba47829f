package pgsaver

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
)

// SchemaVersion is the version of the schema whose functions this package calls.
const SchemaVersion = 4

// schemaCheck remembers that the schema was found suitable. A failed check is made again at the next call, so that a
// process need not restart after the DBA has migrated.
type schemaCheck struct {
	name     string
	suitable atomic.Bool
}

type schemaInfoRow struct {
	SchemaVersion int  `db:"schema_version"`
	MinimumClient int  `db:"minimum_client"`
	Dirty         bool `db:"dirty"`
}

func (s *Saver) ready(ctx context.Context, db DB) error {
	if s.schema.suitable.Load() {
		return nil
	}
	rows, err := db.Query(ctx, s.sql.schemaInfo)
	if err != nil {
		return s.explainSchema(wrapError("check schema", err))
	}
	info, err := pgx.CollectOneRow(rows, pgx.RowToStructByName[schemaInfoRow])
	if errors.Is(err, pgx.ErrNoRows) {
		return s.explainSchema(ErrSchemaMissing)
	}
	if err != nil {
		return s.explainSchema(wrapError("check schema", err))
	}
	if err := s.suits(info); err != nil {
		return err
	}
	s.schema.suitable.Store(true)
	return nil
}

func (s *Saver) suits(info schemaInfoRow) error {
	switch {
	case info.Dirty:
		return fmt.Errorf("pgsaver: %w: schema %q was left half-migrated at version %d; \"migrate version\" says how to recover",
			ErrSchemaOutdated, s.schema.name, info.SchemaVersion)
	case info.SchemaVersion < SchemaVersion:
		return fmt.Errorf("pgsaver: %w: schema %q is at version %d, and this client needs %d; run \"migrate up --schema %s\"",
			ErrSchemaOutdated, s.schema.name, info.SchemaVersion, SchemaVersion, s.schema.name)
	case info.MinimumClient > SchemaVersion:
		return fmt.Errorf("pgsaver: %w: schema %q is at version %d and serves clients from version %d on, and this one is %d; "+
			"upgrade github.com/pgweft/pgweft", ErrSchemaNewer, s.schema.name, info.SchemaVersion, info.MinimumClient,
			SchemaVersion)
	}
	return nil
}

func (s *Saver) explainSchema(err error) error {
	if errors.Is(err, ErrSchemaMissing) {
		return fmt.Errorf("pgsaver: schema %q: %w; install it with \"migrate up --schema %s\", or name the right one in "+
			"Config.Schema", s.schema.name, err, s.schema.name)
	}
	return err
}
