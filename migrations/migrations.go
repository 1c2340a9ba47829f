// Package migrations installs and upgrades the schema: tables, functions and views of checkpoints, store and analytics.
//
// The migrations are golang-migrate files, embedded, with the schema's name as a token ([Render]). A [Migrator] runs them
// with golang-migrate's engine and keeps golang-migrate's version table, "<schema>".schema_migrations, so its stock tool
// reads the same version. What it adds:
//
//   - A migration and its version row are one transaction. Whatever happens, either both are there or neither, and no
//     failure of ours leaves the schema dirty.
//   - Concurrent migrators of one schema wait for each other on a transaction-scoped advisory lock. Nothing depends on
//     session state, so a pooler in transaction mode does no harm; a direct connection is still what a DBA wants here,
//     because poolers drop connections that wait long.
//   - The whole life of the schema can be reviewed before it happens ([Migrator.Print]) and proven afterwards
//     ([Migrator.Verify]).
//
// Nothing here needs superuser. The migrating role needs CREATE on the database, or the schema and its "_analytics"
// companion created for it beforehand with CREATE on both.
package migrations

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/golang-migrate/migrate/v4"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
)

const (
	// DefaultSchema is the schema used when Config.Schema is empty.
	DefaultSchema = "langgraph"

	// DefaultLockTimeout is the lock timeout used when Config.LockTimeout is zero.
	DefaultLockTimeout = 10 * time.Second
)

// Config holds what can be chosen about a [Migrator]. A nil Config takes every default.
type Config struct {
	// Files are the migrations to run, in the form of the package variable Files, which nil means. For tools that work on
	// migrations not built in yet.
	Files fs.FS

	// LockTimeout is how long one statement of a migration waits for a lock that other sessions hold (Postgres's
	// lock_timeout) before the migration fails and is rolled back. It does not limit the wait for another migrator; the
	// context does. Whole milliseconds count. Zero means DefaultLockTimeout; negative is an error.
	LockTimeout time.Duration

	// Logger receives one Info record for each migration with its duration, for waits, and for notices that migrations
	// raise. Nil logs nothing.
	Logger *slog.Logger

	// Schema to install into; the views for people go to the schema of that name with "_analytics" appended. Empty means
	// DefaultSchema. Any name is possible that is valid UTF-8 without control characters, at most 53 bytes long, not
	// reserved by Postgres (pg_..., information_schema), and free of "%" and of dollar-quote tags such as "$fn$".
	Schema string
}

func (c *Config) withDefaults() (Config, error) {
	filled := Config{}
	if c != nil {
		filled = *c
	}
	if filled.LockTimeout < 0 {
		return Config{}, fmt.Errorf("lock timeout is %s; it must not be negative", filled.LockTimeout)
	}
	if filled.Files == nil {
		filled.Files = Files
	}
	if filled.LockTimeout == 0 {
		filled.LockTimeout = DefaultLockTimeout
	}
	// Postgres counts in milliseconds and takes 0 for "no timeout".
	filled.LockTimeout = max(filled.LockTimeout, time.Millisecond)
	if filled.Logger == nil {
		filled.Logger = slog.New(slog.DiscardHandler)
	}
	if filled.Schema == "" {
		filled.Schema = DefaultSchema
	}
	return filled, validateSchema(filled.Schema)
}

// Migrator installs, upgrades, removes and checks one schema of one database. Each method opens a connection of its own
// and closes it; a Migrator may be used by several goroutines.
type Migrator struct {
	config     Config
	connConfig *pgx.ConnConfig
	list       []migration
}

// New returns a Migrator for the database of connConfig, which must come from [pgx.ParseConfig]. It does not connect yet.
func New(connConfig *pgx.ConnConfig, cfg *Config) (*Migrator, error) {
	if connConfig == nil {
		return nil, errors.New("connConfig is nil; make one with pgx.ParseConfig")
	}
	config, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	list, err := load(config.Files, config.Schema)
	if err != nil {
		return nil, err
	}
	m := &Migrator{config: config, list: list}
	m.connConfig = m.connectionSettings(connConfig)
	return m, nil
}

func (m *Migrator) connectionSettings(given *pgx.ConnConfig) *pgx.ConnConfig {
	c := given.Copy()
	// No prepared statements: they are of no use here and trip poolers.
	c.DefaultQueryExecMode = pgx.QueryExecModeExec
	// A cancelled context asks the server to cancel, instead of leaving a statement running behind a closed connection.
	c.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: goodbye}
	}
	c.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { m.notice(n) }
	return c
}

// Version says where a schema stands.
type Version struct {
	// Number of the last migration that ran; 0 before the first.
	Number int
	// Dirty is set when another tool was interrupted in the middle of a migration to Number (see ErrDirty).
	Dirty bool
	// Latest is the newest version this binary knows.
	Latest int
}

// Usable is ErrDirty or ErrNewerSchema, with what to do about it, when nothing may be run at this version; otherwise nil.
func (m *Migrator) Usable(v Version) error {
	switch {
	case v.Dirty:
		return dirtyError(m.config.Schema, v.Number, v.Latest)
	case v.Number > v.Latest:
		return newerError(m.config.Schema, v.Number, v.Latest)
	}
	return nil
}

// Latest is the newest version this binary knows.
func (m *Migrator) Latest() int { return len(m.list) }

// Version reads where the schema stands. It writes nothing and waits for nobody; it needs only SELECT on
// schema_migrations. A schema that does not exist is at version 0.
func (m *Migrator) Version(ctx context.Context) (Version, error) {
	conn, err := m.connect(ctx)
	if err != nil {
		return Version{}, err
	}
	defer m.disconnect(ctx, conn)
	v, err := m.readVersion(ctx, conn)
	if err != nil {
		return Version{}, fmt.Errorf("read the version of schema %q: %w", m.config.Schema, err)
	}
	return v, nil
}

// Up runs every migration the schema lacks, each in a transaction of its own. It creates both schemas where missing. Any
// number of processes may call it at once; all succeed. Being up to date already is no error. Where the schema has its roles
// (see [Migrator.Roles]), they get their rights on what is new.
//
// Errors: ErrDirty, ErrNewerSchema, *MigrationError.
func (m *Migrator) Up(ctx context.Context) error {
	if err := m.migrateTo(ctx, func(int) (int, error) { return m.Latest(), nil }); err != nil {
		return err
	}
	return m.regrant(ctx)
}

// Down undoes the last n migrations. Undoing the tables removes the data in them. At version 0 both schemas and the
// version table remain: dropping a schema is for whoever granted it.
//
// Errors: ErrNoSuchVersion when fewer than n migrations have run or n is below 1, ErrDirty, ErrNewerSchema, *MigrationError.
func (m *Migrator) Down(ctx context.Context, n int) error {
	if n < 1 {
		return fmt.Errorf("%w: cannot go down by %d; the number of migrations must be at least 1", ErrNoSuchVersion, n)
	}
	return m.migrateTo(ctx, func(current int) (int, error) {
		if n > current {
			return 0, fmt.Errorf("%w: schema %q is at version %d, so at most %d migrations can be undone, not %d",
				ErrNoSuchVersion, m.config.Schema, current, current, n)
		}
		return current - n, nil
	})
}

// Goto runs migrations up or down until the schema is at version; 0 undoes everything (see Down for what that means).
//
// Errors: ErrNoSuchVersion, ErrDirty, ErrNewerSchema, *MigrationError.
func (m *Migrator) Goto(ctx context.Context, version int) error {
	if err := m.knownVersion(version); err != nil {
		return err
	}
	return m.migrateTo(ctx, func(int) (int, error) { return version, nil })
}

// Force sets the version row and clears the dirty mark without running any migration. It is the way out of ErrDirty, and
// wrong everywhere else: Verify proves whether the version told is true.
func (m *Migrator) Force(ctx context.Context, version int) error {
	if err := m.knownVersion(version); err != nil {
		return err
	}
	conn, err := m.connect(ctx)
	if err != nil {
		return err
	}
	defer m.disconnect(ctx, conn)
	return m.locked(ctx, conn, func(tx pgx.Tx) error {
		if err := m.prepare(ctx, tx); err != nil {
			return err
		}
		if err := m.writeVersion(ctx, tx, version, false); err != nil {
			return err
		}
		m.config.Logger.InfoContext(ctx, "forced", "version", version)
		return nil
	})
}

func (m *Migrator) knownVersion(version int) error {
	if version < 0 || version > m.Latest() {
		return fmt.Errorf("%w: %d; this binary knows versions 0 to %d", ErrNoSuchVersion, version, m.Latest())
	}
	return nil
}

// migrateTo walks one migration at a time to the goal that choose names once it knows where the schema stands.
func (m *Migrator) migrateTo(ctx context.Context, choose func(current int) (int, error)) error {
	conn, err := m.connect(ctx)
	if err != nil {
		return err
	}
	defer m.disconnect(ctx, conn)
	w := &walk{choose: choose, schema: m.config.Schema}
	for !w.done {
		if err := m.step(ctx, conn, w); err != nil {
			return err
		}
	}
	return nil
}

// step runs the next migration of a walk, or finds that there is none.
func (m *Migrator) step(ctx context.Context, conn *pgx.Conn, w *walk) error {
	var run *migration
	started := time.Now()
	err := m.locked(ctx, conn, func(tx pgx.Tx) error {
		if err := m.prepare(ctx, tx); err != nil {
			return err
		}
		current, err := m.usableVersion(ctx, tx)
		if err != nil {
			return err
		}
		if err := w.plan(current); err != nil || w.done {
			return err
		}
		started = time.Now()
		run = m.nextOf(current, w.direction)
		return m.run(ctx, tx, current, w.direction)
	})
	if err != nil {
		return m.explain(ctx, err, run, w)
	}
	if run != nil {
		w.moved()
		m.config.Logger.InfoContext(ctx, "migrated "+string(w.direction), "migration", run.name, "duration", time.Since(started))
	}
	return nil
}

func (m *Migrator) nextOf(current int, d Direction) *migration {
	if d == DirectionUp {
		return &m.list[current]
	}
	return &m.list[current-1]
}

// run lets golang-migrate take one step within our transaction.
func (m *Migrator) run(ctx context.Context, tx pgx.Tx, current int, d Direction) error {
	engine, err := migrate.NewWithInstance("pgweft", rendered(m.list), "pgx5", &driver{ctx: ctx, current: current, migrator: m, tx: tx})
	if err != nil {
		return err
	}
	if d == DirectionUp {
		return engine.Steps(1)
	}
	return engine.Steps(-1)
}

// explain puts a failure of a migration's statement or commit into a MigrationError.
func (m *Migrator) explain(ctx context.Context, err error, run *migration, w *walk) error {
	var commit *commitError
	if run == nil {
		return err
	}
	if errors.As(err, &commit) && commit.lost {
		return fmt.Errorf("the connection was lost while migration %s (%s) was being committed; the migration and its version row "+
			"are one transaction, so read the version to see whether it arrived: %w", run.name, w.direction, err)
	}
	failure := &MigrationError{
		Direction: w.direction, Err: err, Migration: run.name, Schema: m.config.Schema, Version: w.at,
	}
	var statement *statementError
	if errors.As(err, &statement) {
		failure.Line, failure.Err = statement.line, m.withCause(ctx, statement.err)
	}
	return failure
}

// walk is the way from where a schema stands to a goal, while other migrators may be at work between the steps.
type walk struct {
	at, goal  int
	choose    func(current int) (int, error)
	direction Direction
	done      bool
	planned   bool
	schema    string
}

// plan decides the next step from the version that is there now.
func (w *walk) plan(current int) error {
	if !w.planned {
		if err := w.start(current); err != nil {
			return err
		}
	}
	if w.against(current) {
		return fmt.Errorf("schema %q was at version %d, and another session has moved it to %d meanwhile; stopped on the way %s to version %d",
			w.schema, w.at, current, w.direction, w.goal)
	}
	w.at = current
	w.done = current == w.goal || (current > w.goal) == (w.direction == DirectionUp)
	return nil
}

func (w *walk) start(current int) error {
	goal, err := w.choose(current)
	if err != nil {
		return err
	}
	w.goal, w.at, w.planned, w.direction = goal, current, true, DirectionUp
	if goal < current {
		w.direction = DirectionDown
	}
	return nil
}

// against reports whether somebody has moved the schema opposite to our direction.
func (w *walk) against(current int) bool {
	if w.direction == DirectionUp {
		return current < w.at
	}
	return current > w.at
}

func (w *walk) moved() {
	if w.direction == DirectionUp {
		w.at++
	} else {
		w.at--
	}
}
