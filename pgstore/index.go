package pgstore

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"github.com/pgweft/pgweft/store"
)

// vectorCheck remembers that the vector index was found to be what the configuration describes. A failed check is made
// again at the next call.
type vectorCheck struct {
	schema   string
	suitable atomic.Bool
}

// infoRow is the row of store_info, by name; null where there is no vector index.
type infoRow struct {
	Dims       *int32  `db:"dims"`
	VectorType *string `db:"vector_type"`
	Distance   *string `db:"distance"`
}

func (c *vectorCheck) ready(ctx context.Context, db DB, sql *queries, index *store.IndexConfig) error {
	if c.suitable.Load() {
		return nil
	}
	rows, err := db.Query(ctx, sql.info)
	if err != nil {
		return wrapError("check vector index", err)
	}
	info, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[infoRow])
	if err != nil {
		return wrapError("check vector index", err)
	}
	if err := c.suits(&info, index); err != nil {
		return fmt.Errorf("pgstore: check vector index: %w", err)
	}
	c.suitable.Store(true)
	return nil
}

func (c *vectorCheck) suits(info *infoRow, index *store.IndexConfig) error {
	if info.Dims == nil {
		return fmt.Errorf("%w: schema %q has no vector index, and Config.Index needs one; make it with: %s", store.ErrNotEnabled,
			c.schema, c.enable(index))
	}
	for _, property := range []struct{ name, has, wants string }{
		{"dimensions", fmt.Sprint(*info.Dims), fmt.Sprint(index.Dims)},
		{"distance", orNone(info.Distance), string(index.Distance)},
		{"vector type", orNone(info.VectorType), string(index.VectorType)},
	} {
		if property.wants == "" || property.has == property.wants {
			continue
		}
		return fmt.Errorf("%w: the one in schema %q has %s %s, and Config.Index %s; change Config.Index (and its embedder), or, "+
			"to embed every item anew, drop the table store_vectors and run: %s", ErrIndexMismatch, c.schema, property.name,
			property.has, property.wants, c.enable(index))
	}
	return nil
}

// enable is the call that makes the index which the configuration describes.
func (c *vectorCheck) enable(index *store.IndexConfig) string {
	var call strings.Builder
	fmt.Fprintf(&call, "select %s.enable_vector_index(%d", pgx.Identifier{c.schema}.Sanitize(), index.Dims)
	if index.VectorType != "" {
		fmt.Fprintf(&call, ", p_vector_type => '%s'", index.VectorType)
	}
	if index.Distance != "" {
		fmt.Fprintf(&call, ", p_distance => '%s'", index.Distance)
	}
	call.WriteString(")")
	return call.String()
}

func orNone(text *string) string {
	if text == nil {
		return "none"
	}
	return *text
}
