package pgsaver

import (
	"context"

	"github.com/pgweft/pgweft/internal/pgschema"
)

// SchemaVersion is the version of the schema whose functions this package calls.
const SchemaVersion = pgschema.Version

func (s *Saver) ready(ctx context.Context, db DB) error { return s.schema.Ready(ctx, db) }
