// Package pgtenant runs statements on behalf of one tenant of a schema that enable_tenancy('setting') divided.
package pgtenant

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Sender is what a DB needs of a connection. *pgxpool.Pool, *pgx.Conn and pgx.Tx all have it.
type Sender interface {
	SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults
}

// DB runs each statement or batch in a transaction that names the tenant first, in the same round trip. That is safe behind
// a pooler in transaction mode, and no connection keeps the tenant.
type DB struct {
	db     Sender
	tenant string
}

// New is db on behalf of a tenant.
func New(db Sender, tenant string) *DB { return &DB{db: db, tenant: tenant} }

const nameTenant = `select set_config('langgraph.tenant', $1::text, true)`

// SendBatch sends a batch on behalf of the tenant.
func (t *DB) SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults {
	results, err := t.send(ctx, batch.QueuedQueries)
	if err != nil {
		return pgx.FailedBatchResults(batch, err)
	}
	return results
}

// send gives the results of the statements, after those of naming the tenant.
func (t *DB) send(ctx context.Context, statements []*pgx.QueuedQuery) (pgx.BatchResults, error) {
	if t.tenant == "" {
		return nil, errors.New("ForTenant: the tenant has no name")
	}
	batch := &pgx.Batch{}
	batch.Queue(nameTenant, t.tenant)
	batch.QueuedQueries = append(batch.QueuedQueries, statements...)
	results := t.db.SendBatch(ctx, batch)
	if _, err := results.Exec(); err != nil {
		return nil, errors.Join(err, ignoreSame(err, results.Close()))
	}
	return results, nil
}

func one(sql string, args []any) []*pgx.QueuedQuery {
	return []*pgx.QueuedQuery{{SQL: sql, Arguments: args}}
}

// ignoreSame leaves out what closing repeats.
func ignoreSame(first, second error) error {
	if second != nil && first.Error() == second.Error() {
		return nil
	}
	return second
}

// Exec runs a statement on behalf of the tenant.
func (t *DB) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	results, err := t.send(ctx, one(sql, args))
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	tag, err := results.Exec()
	if closeErr := results.Close(); err == nil {
		err = closeErr
	}
	return tag, err
}

// Query runs a query on behalf of the tenant.
func (t *DB) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	results, err := t.send(ctx, one(sql, args))
	if err != nil {
		return nil, err
	}
	rows, err := results.Query()
	if err != nil {
		return nil, errors.Join(err, ignoreSame(err, results.Close()))
	}
	return &tenantRows{Rows: rows, results: results}, nil
}

// tenantRows end the transaction when the rows are closed, as rows always are in the end.
type tenantRows struct {
	pgx.Rows
	results pgx.BatchResults
	closed  bool
	err     error
}

// Close ends the rows and the transaction around them.
func (r *tenantRows) Close() {
	r.Rows.Close()
	if !r.closed {
		r.closed = true
		r.err = r.results.Close()
	}
}

// Next closes after the last row, so that what the end of the transaction says is in Err.
func (r *tenantRows) Next() bool {
	if r.Rows.Next() {
		return true
	}
	r.Close()
	return false
}

// Err is the first error of the rows or of the end of the transaction.
func (r *tenantRows) Err() error {
	if err := r.Rows.Err(); err != nil {
		return err
	}
	return r.err
}
