package pgstore

import "github.com/pgweft/pgweft/internal/pgtenant"

// ForTenant is db on behalf of one tenant of a schema that enable_tenancy('setting') divided: each batch runs in a
// transaction of its own that names the tenant first, in the same round trip. That is safe behind a pooler in transaction
// mode, and no connection keeps the tenant. It is cheap to make: one for each request is fine. For the tenant inside a
// transaction of the application, set langgraph.tenant there and use WithTx.
func ForTenant(db DB, tenant string) DB { return pgtenant.New(db, tenant) }
