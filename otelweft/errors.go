package otelweft

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/pgsaver"
)

// errorTypes are the values of error.type, few enough for a label. What the caller has done to its context comes first: the
// database then only says that a statement was cancelled.
var errorTypes = []struct {
	err  error
	name string
}{
	{context.Canceled, "canceled"},
	{context.DeadlineExceeded, "deadline_exceeded"},
	{checkpoint.ErrNotFound, "not_found"},
	{checkpoint.ErrInvalidArgument, "invalid_argument"},
	{checkpoint.ErrVersionCollision, "version_collision"},
	{checkpoint.ErrPinned, "pinned"},
	{checkpoint.ErrCorrupt, "corrupt"},
	{checkpoint.ErrNotEnabled, "not_enabled"},
	{checkpoint.ErrTenant, "tenant"},
	{pgsaver.ErrSchemaMissing, "schema_missing"},
	{pgsaver.ErrSchemaOutdated, "schema_outdated"},
	{pgsaver.ErrSchemaNewer, "schema_newer"},
	{pgsaver.ErrTimeout, "timeout"},
	{pgsaver.ErrTooBusy, "too_busy"},
	{pgsaver.ErrPreparedStatement, "prepared_statement"},
}

// errorType is the name of an error, or its SQLSTATE, or that it is another.
func errorType(err error) string {
	for _, known := range errorTypes {
		if errors.Is(err, known.err) {
			return known.name
		}
	}
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return pgErr.Code
	}
	return semconv.ErrorTypeOther.Value.AsString()
}
