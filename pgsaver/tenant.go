package pgsaver

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/pgweft/pgweft/internal/pgtenant"
)

// BatchDB is a DB that can send several statements at once. *pgxpool.Pool, *pgx.Conn and pgx.Tx have it.
type BatchDB interface {
	DB
	SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults
}

// ForTenant is db on behalf of one tenant of a schema that enable_tenancy('setting') divided: each statement runs in a
// transaction of its own that names the tenant first, in the same round trip. That is safe behind a pooler in transaction
// mode, and no connection keeps the tenant. It is cheap to make: one for each request is fine.
//
// In a pgx.Tx the tenant is named for the rest of the transaction.
func ForTenant(db BatchDB, tenant string) DB { return pgtenant.New(db, tenant) }
