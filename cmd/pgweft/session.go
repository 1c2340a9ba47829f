package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"

	"github.com/pgweft/pgweft/pgsaver"
)

// goodbye is how long a cancelled command waits for the server to confirm it, and how long closing may take.
const goodbye = 5 * time.Second

// querier is a connection or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// connect opens a connection and checks the schema once. notice hears what the server says meanwhile; it may be nil.
func (o *options) connect(ctx context.Context, notice func(string)) (*pgx.Conn, *queries, error) {
	config, err := o.database.ConnConfig()
	if err != nil {
		return nil, nil, err
	}
	// No prepared statements: they are of no use here and trip poolers.
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	// A cancelled command asks the server to stop, instead of leaving a statement running behind a closed connection.
	config.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: goodbye}
	}
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "pgweft"
	}
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		if notice != nil {
			notice(n.Message)
		}
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, nil, err
	}
	q := newQueries(o.database.Schema())
	if err := o.checkSchema(ctx, conn, q); err != nil {
		disconnect(ctx, conn)
		return nil, nil, err
	}
	return conn, q, nil
}

func disconnect(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	// There is nothing to lose with a connection that cannot be closed in good order.
	_ = conn.Close(ctx)
}

// read works in one read-only transaction that sees one moment.
func (o *options) read(ctx context.Context, work func(pgx.Tx, *queries) error) error {
	conn, q, err := o.connect(ctx, nil)
	if err != nil {
		return err
	}
	defer disconnect(ctx, conn)
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	return judged(pgx.BeginTxFunc(ctx, conn, snapshot, func(tx pgx.Tx) error { return work(tx, q) }))
}

// write works without a transaction around it: each function it calls is one.
func (o *options) write(ctx context.Context, work func(*pgx.Conn, *queries) error) error {
	conn, q, err := o.connect(ctx, nil)
	if err != nil {
		return err
	}
	defer disconnect(ctx, conn)
	return judged(work(conn, q))
}

// patiently says on standard error, again and again, that work goes on, with how long it has.
func (o *options) patiently(doing string, work func() error) error {
	done := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		started := time.Now()
		ticker := time.NewTicker(o.env.patience)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				fmt.Fprintf(o.env.Stderr, "still %s (%s)\n", doing, time.Since(started).Round(time.Second))
			}
		}
	}()
	err := work()
	close(done)
	<-stopped
	return err
}

// collect reads all rows by the names of their columns; no rows are an empty list.
func collect[T any](ctx context.Context, db querier, sql string, args ...any) ([]T, error) {
	rows, err := db.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[T])
	if err != nil {
		return nil, err
	}
	if found == nil {
		found = []T{}
	}
	return found, nil
}

// call runs a function for what it does, and gives its single result.
func call[T any](ctx context.Context, db querier, sql string, args ...any) (T, error) {
	rows, err := db.Query(ctx, sql, args...)
	if err != nil {
		var none T
		return none, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowTo[T])
}

type schemaInfo struct {
	SchemaVersion int  `db:"schema_version"`
	MinimumClient int  `db:"minimum_client"`
	Dirty         bool `db:"dirty"`
}

// checkSchema refuses a schema whose functions are not those this command was built for, and says what mends it.
func (o *options) checkSchema(ctx context.Context, db querier, q *queries) error {
	name := o.database.Schema()
	found, err := collect[schemaInfo](ctx, db, q.schemaInfo)
	if isMissing(err) || err == nil && len(found) == 0 {
		return fmt.Errorf("schema %q: %w; install it with \"migrate up --schema %s\", or name the right one with --schema or "+
			"PGWEFT_SCHEMA", name, pgsaver.ErrSchemaMissing, name)
	}
	if err != nil {
		return fmt.Errorf("check schema %q: %w", name, err)
	}
	info := found[0]
	switch {
	case info.Dirty:
		return fmt.Errorf("%w: schema %q was left half-migrated at version %d; \"migrate version --schema %s\" says how to recover",
			pgsaver.ErrSchemaOutdated, name, info.SchemaVersion, name)
	case info.SchemaVersion < pgsaver.SchemaVersion:
		return fmt.Errorf("%w: schema %q is at version %d, and this command needs %d; run \"migrate up --schema %s\"",
			pgsaver.ErrSchemaOutdated, name, info.SchemaVersion, pgsaver.SchemaVersion, name)
	case info.MinimumClient > pgsaver.SchemaVersion:
		return fmt.Errorf("%w: schema %q is at version %d and serves commands from version %d on, and this one is %d; upgrade pgweft",
			pgsaver.ErrSchemaNewer, name, info.SchemaVersion, info.MinimumClient, pgsaver.SchemaVersion)
	}
	return nil
}

func isMissing(err error) bool {
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) && (pgErr.Code == pgerrcode.UndefinedFunction || pgErr.Code == pgerrcode.InvalidSchemaName)
}
