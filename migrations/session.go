package migrations

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/golang-migrate/migrate/v4/database"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgweft/pgweft/migrations/internal/sqltext"
)

// goodbye limits how long a cancelled migrator still talks to the server to end in good order.
const goodbye = 5 * time.Second

func (m *Migrator) connect(ctx context.Context) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, m.connConfig)
	if err != nil {
		return nil, err
	}
	return conn, nil
}

func (m *Migrator) disconnect(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	if err := conn.Close(ctx); err != nil {
		m.config.Logger.DebugContext(ctx, "connection did not close in good order", "error", err)
	}
}

func (m *Migrator) notice(n *pgconn.Notice) {
	// "... does not exist, skipping" is what "if exists" is there for.
	if !strings.HasSuffix(n.Message, "skipping") {
		m.config.Logger.Info("server says", "message", n.Message)
	}
}

// locked runs do in a transaction that no other migrator of this schema shares its time with, and commits unless do fails.
func (m *Migrator) locked(ctx context.Context, conn *pgx.Conn, do func(pgx.Tx) error) error {
	tx, err := m.begin(ctx, conn)
	if err != nil {
		return m.withCause(ctx, err)
	}
	defer m.rollback(ctx, tx)
	if err := do(tx); err != nil {
		return m.withCause(ctx, err)
	}
	if err := tx.Commit(ctx); err != nil {
		return m.withCause(ctx, &commitError{err: err, lost: conn.IsClosed()})
	}
	return nil
}

// withCause names the cancellation as what it is, where the server only says that a statement was cancelled.
func (m *Migrator) withCause(ctx context.Context, err error) error {
	if ctx.Err() == nil || errors.Is(err, ctx.Err()) {
		return err
	}
	return fmt.Errorf("%w: %w", context.Cause(ctx), err)
}

func (m *Migrator) rollback(ctx context.Context, tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	if err := tx.Rollback(ctx); err != nil && !errors.Is(err, pgx.ErrTxClosed) {
		// The server rolls back by itself when the connection goes.
		m.config.Logger.DebugContext(ctx, "rollback was not acknowledged", "error", err)
	}
}

// begin opens a transaction, makes it independent of the role's and database's settings, and takes the lock.
func (m *Migrator) begin(ctx context.Context, conn *pgx.Conn) (pgx.Tx, error) {
	var replica bool
	if err := conn.QueryRow(ctx, `select pg_is_in_recovery()`).Scan(&replica); err != nil {
		return nil, err
	}
	if replica {
		return nil, errors.New("the server is a read-only replica; connect to the primary")
	}
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{AccessMode: pgx.ReadWrite, IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return nil, err
	}
	if err := m.settle(ctx, tx); err != nil {
		m.rollback(ctx, tx)
		return nil, err
	}
	return tx, nil
}

// transactionSettings are what a migration must not inherit. A statement timeout of the role would end a long index build,
// or the wait for another migrator; some settings belong to newer servers only.
var transactionSettings = []struct{ name, value string }{
	{"check_function_bodies", "on"},
	{"client_encoding", "UTF8"},
	{"idle_in_transaction_session_timeout", "0"},
	{"lock_timeout", "0"},
	{"search_path", ""},
	{"standard_conforming_strings", "on"},
	{"statement_timeout", "0"},
	{"transaction_timeout", "0"},
}

func (m *Migrator) settle(ctx context.Context, tx pgx.Tx) error {
	names, values := make([]string, 0, len(transactionSettings)), make([]string, 0, len(transactionSettings))
	for _, s := range transactionSettings {
		names, values = append(names, s.name), append(values, s.value)
	}
	_, err := tx.Exec(ctx, `select set_config(s.name, v.value, true)
		from unnest($1::text[], $2::text[]) v (name, value) join pg_settings s on s.name = v.name`, names, values)
	if err != nil {
		return err
	}
	// Row-level security binds the owner as well; a migration works on all tenants' rows. See enable_tenancy.
	if _, err := tx.Exec(ctx, `select set_config('langgraph.across_tenants', 'on', true)`); err != nil {
		return err
	}
	if err := m.lock(ctx, tx); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `select set_config('lock_timeout', $1, true)`, m.lockTimeout())
	return err
}

func (m *Migrator) lockTimeout() string {
	return fmt.Sprintf("%dms", m.config.LockTimeout.Milliseconds())
}

// lockName is what the advisory lock's key is a hash of. Advisory locks are per database, so the schema suffices.
func lockName(schema string) string { return "pgweft migrate " + schema }

func (m *Migrator) lock(ctx context.Context, tx pgx.Tx) error {
	var free bool
	err := tx.QueryRow(ctx, `select pg_try_advisory_xact_lock(hashtextextended($1, 0))`, lockName(m.config.Schema)).Scan(&free)
	if err != nil || free {
		return err
	}
	m.config.Logger.InfoContext(ctx, "waiting for another migrator of this schema")
	_, err = tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended($1, 0))`, lockName(m.config.Schema))
	return err
}

// prepare makes sure that both schemas and the version table are there and that we may create objects.
func (m *Migrator) prepare(ctx context.Context, tx pgx.Tx) error {
	for _, schema := range []string{m.config.Schema, m.config.Schema + analyticsSuffix} {
		if err := m.prepareSchema(ctx, tx, schema); err != nil {
			return err
		}
	}
	return m.prepareVersionTable(ctx, tx)
}

func (m *Migrator) prepareSchema(ctx context.Context, tx pgx.Tx, schema string) error {
	var exists, mayUse, mayCreate bool
	var role, databaseName string
	err := tx.QueryRow(ctx, `
		select n.oid is not null,
		       coalesce(has_schema_privilege(n.oid, 'usage'), false)
		         and coalesce(has_schema_privilege(n.oid, 'create'), false),
		       has_database_privilege(current_database(), 'create'), current_user, current_database()
		from (select) one left join pg_namespace n on n.nspname = $1`, schema).Scan(&exists, &mayUse, &mayCreate, &role, &databaseName)
	switch {
	case err != nil:
		return err
	case exists && !mayUse:
		return fmt.Errorf("role %q may not create objects in schema %q; have its owner run: grant usage, create on schema %s to %s",
			role, schema, quoteIdentifier(schema), quoteIdentifier(role))
	case exists:
		return nil
	case !mayCreate:
		return fmt.Errorf("schema %q does not exist and role %q may not create it in database %q; have a DBA run: "+
			"create schema if not exists %s authorization %s; create schema if not exists %s authorization %s;", schema, role, databaseName,
			quoteIdentifier(m.config.Schema), quoteIdentifier(role), quoteIdentifier(m.config.Schema+analyticsSuffix), quoteIdentifier(role))
	}
	_, err = tx.Exec(ctx, `create schema `+quoteIdentifier(schema))
	return err
}

// versionTable is the definition golang-migrate itself uses.
func (m *Migrator) versionTable() string {
	return quoteIdentifier(m.config.Schema) + ".schema_migrations"
}

const versionColumns = `(version bigint not null primary key, dirty boolean not null)`

func (m *Migrator) prepareVersionTable(ctx context.Context, tx pgx.Tx) error {
	var exists bool
	if err := tx.QueryRow(ctx, `select to_regclass($1) is not null`, m.versionTable()).Scan(&exists); err != nil || exists {
		return err
	}
	_, err := tx.Exec(ctx, `create table `+m.versionTable()+` `+versionColumns)
	return err
}

// querier is what a connection and a transaction share.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func (m *Migrator) readVersion(ctx context.Context, q querier) (Version, error) {
	v := Version{Latest: m.Latest()}
	err := q.QueryRow(ctx, `select version, dirty from `+m.versionTable()+` limit 1`).Scan(&v.Number, &v.Dirty)
	var pgErr *pgconn.PgError
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return v, nil
	case errors.As(err, &pgErr) && (pgErr.Code == codeUndefinedTable || pgErr.Code == codeInvalidSchemaName):
		return v, nil
	case err != nil:
		return Version{}, err
	}
	// golang-migrate writes -1 for "dirty, on the way to nothing".
	v.Number = max(v.Number, 0)
	return v, nil
}

// usableVersion refuses the versions that nothing but version, force and print may work on.
func (m *Migrator) usableVersion(ctx context.Context, q querier) (int, error) {
	v, err := m.readVersion(ctx, q)
	if err != nil {
		return 0, err
	}
	return v.Number, m.Usable(v)
}

// writeVersion sets the version row; version 0 is golang-migrate's "no row".
func (m *Migrator) writeVersion(ctx context.Context, tx pgx.Tx, version int, dirty bool) error {
	if _, err := tx.Exec(ctx, `delete from `+m.versionTable()); err != nil {
		return err
	}
	if version == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, `insert into `+m.versionTable()+` (version, dirty) values ($1, $2)`, version, dirty)
	return err
}

// runScript executes a script statement by statement, so that a failure can be placed.
func runScript(ctx context.Context, tx pgx.Tx, script string) error {
	statements, err := sqltext.Split(script)
	if err != nil {
		return err
	}
	for _, s := range statements {
		if _, err := tx.Conn().PgConn().Exec(ctx, s.Text).ReadAll(); err != nil {
			return &statementError{err: err, line: s.Line + linesBefore(s.Text, err)}
		}
	}
	return nil
}

// linesBefore says on which line of the statement, from 0, the server found the error.
func linesBefore(statement string, err error) int {
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) || pgErr.Position <= 1 {
		return 0
	}
	runes := []rune(statement)
	return strings.Count(string(runes[:min(int(pgErr.Position)-1, len(runes))]), "\n")
}

type statementError struct {
	err  error
	line int
}

func (e *statementError) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.err) }
func (e *statementError) Unwrap() error { return e.err }

type commitError struct {
	err  error
	lost bool
}

func (e *commitError) Error() string { return "commit: " + e.err.Error() }
func (e *commitError) Unwrap() error { return e.err }

// driver lets golang-migrate's engine run one migration within a transaction that is already locked. The engine marks the
// version dirty, runs the migration, then marks it clean; as one transaction holds all of it, only the last is written.
type driver struct {
	ctx      context.Context //nolint:containedctx // golang-migrate's interface takes none
	current  int
	migrator *Migrator
	tx       pgx.Tx
}

var _ database.Driver = (*driver)(nil)

func (d *driver) Open(string) (database.Driver, error) {
	return nil, errors.New("this driver is not opened by URL; use migrations.New")
}

func (d *driver) Close() error  { return nil }
func (d *driver) Lock() error   { return nil }
func (d *driver) Unlock() error { return nil }

func (d *driver) Run(r io.Reader) error {
	script, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	return runScript(d.ctx, d.tx, string(script))
}

func (d *driver) SetVersion(version int, dirty bool) error {
	if dirty {
		return nil
	}
	return d.migrator.writeVersion(d.ctx, d.tx, max(version, 0), false)
}

func (d *driver) Version() (int, bool, error) {
	if d.current == 0 {
		return database.NilVersion, false, nil
	}
	return d.current, false, nil
}

func (d *driver) Drop() error {
	return errors.New("dropping everything is not offered; go to version 0")
}
