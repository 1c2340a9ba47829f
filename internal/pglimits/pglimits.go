// Package pglimits names the errors by which a server or a pooler says that a limit was reached, and what to do about each.
package pglimits

import (
	"errors"
	"strings"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5/pgconn"
)

// Errors about limits, for errors.Is.
var (
	// ErrTimeout says that the server or a pooler ended a statement, a wait for a lock, or a transaction that lay idle.
	ErrTimeout = errors.New("a time limit was reached")
	// ErrTooBusy says that no connection was to be had, from the server or from a pooler.
	ErrTooBusy = errors.New("no connection is free")
	// ErrPreparedStatement says that the connection lost a prepared statement, or found one of somebody else's: there is a
	// pooler in transaction mode that does not keep them.
	ErrPreparedStatement = errors.New("prepared statements do not work on this connection")
)

// Limit is what is known about one error: what it is, and what to do.
type Limit struct {
	Kind error
	Hint string
}

var limits = map[string]Limit{
	pgerrcode.QueryCanceled: {ErrTimeout, "The server ended the statement: statement_timeout of the role, the database or the " +
		"connection is too short for it, or somebody cancelled it (pg_cancel_backend)."},
	pgerrcode.LockNotAvailable: {ErrTimeout, "Another transaction holds a row or table for longer than lock_timeout; " +
		"pg_blocking_pids(pid) says which. Try again."},
	pgerrcode.IdleInTransactionSessionTimeout: {ErrTimeout, "The transaction lay idle for longer than " +
		"idle_in_transaction_session_timeout and was rolled back with its connection; keep model calls out of transactions, " +
		"then try again."},
	"25P04": {ErrTimeout, "The transaction took longer than transaction_timeout and was rolled back with its connection."},
	pgerrcode.TooManyConnections: {ErrTooBusy, "The server has no connection left: lower the pools' MaxConns, put PgBouncer " +
		"before it, or raise max_connections or the role's connection limit."},
	pgerrcode.InvalidSQLStatementName:    {ErrPreparedStatement, poolerHint},
	pgerrcode.DuplicatePreparedStatement: {ErrPreparedStatement, poolerHint},
}

const poolerHint = "A pooler in transaction mode gives each transaction another connection. Set DefaultQueryExecMode to " +
	"pgx.QueryExecModeExec (in a connection string: default_query_exec_mode=exec), or max_prepared_statements in PgBouncer " +
	"1.21 and later."

// poolerLimits are what PgBouncer says, in English always, under the one SQLSTATE it has (08P01).
var poolerLimits = []struct {
	says string
	Limit
}{
	{"query_wait_timeout", Limit{ErrTooBusy, "PgBouncer found no free server connection within query_wait_timeout: its pool is " +
		"exhausted. Keep transactions short, or raise default_pool_size."}},
	{"no more connections allowed", Limit{ErrTooBusy, "PgBouncer takes no more clients: raise max_client_conn, or lower the pools' " +
		"MaxConns."}},
	{"query_timeout", Limit{ErrTimeout, "PgBouncer ended the statement, which took longer than its query_timeout."}},
	{"idle transaction timeout", Limit{ErrTimeout, "PgBouncer ended a transaction that lay idle for longer than its " +
		"idle_transaction_timeout; keep model calls out of transactions, then try again."}},
	{"idle_transaction_timeout", Limit{ErrTimeout, "PgBouncer ended a transaction that lay idle for longer than its " +
		"idle_transaction_timeout; keep model calls out of transactions, then try again."}},
}

// Of tells whether an error says that a limit was reached, and which.
func Of(err error) (Limit, bool) {
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) {
		return Limit{}, false
	}
	if limit, ok := limits[pgErr.Code]; ok {
		return limit, true
	}
	if pgErr.Code == pgerrcode.ProtocolViolation {
		for _, limit := range poolerLimits {
			if strings.Contains(pgErr.Message, limit.says) {
				return limit.Limit, true
			}
		}
	}
	return Limit{}, false
}
