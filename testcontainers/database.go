package testcontainers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgweft/pgweft/migrations"
)

// defaultRetiredLimit is how many databases of about 8 MB wait to be dropped together. DROP DATABASE waits for a checkpoint,
// which writes and syncs the files of all other clones: dropping one database a test costs more than the cloning.
const defaultRetiredLimit = 40

// Database is one clone of the migrated template, made by [Postgres.Clone] or [NewDatabase].
type Database struct {
	name     string
	postgres *Postgres
}

// Clone makes a new database with the schema and the extension in it. It takes about 50 ms on a local server with fsync
// on. Clones do not see each other; they share the server, and with it roles and settings.
func (p *Postgres) Clone(ctx context.Context) (*Database, error) {
	db := &Database{name: p.prefix + "_" + randomHex(8), postgres: p}
	if err := p.register(db); err != nil {
		return nil, err
	}
	if err := p.copyTemplate(ctx, db.name); err != nil {
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		return nil, errors.Join(fmt.Errorf("clone the migrated database: %w", err), db.Drop(cleanup))
	}
	return db, nil
}

func (p *Postgres) register(db *Database) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return ErrClosed
	}
	p.databases[db.name] = db
	return nil
}

// Name is the database's name, unique on its server.
func (d *Database) Name() string { return d.name }

// ConnString is a connection URL of the database; see [Postgres.ConnString].
func (d *Database) ConnString() string { return d.postgres.server.connString(d.name) }

// TCPConnString is ConnString through TCP.
func (d *Database) TCPConnString() string { return d.postgres.server.tcpConnString(d.name) }

// Drop removes the database and ends the sessions in it. A database that is gone, alone or with its server, is no error.
func (d *Database) Drop(ctx context.Context) error {
	if d.postgres.isClosed() {
		return nil
	}
	if err := d.postgres.admin(ctx, func(conn *pgx.Conn) error { return drop(ctx, conn, d.name) }); err != nil {
		return fmt.Errorf("drop the test database: %w", err)
	}
	d.postgres.forget(d)
	return nil
}

func (p *Postgres) forget(db *Database) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.databases, db.name)
}

// retire ends the sessions in a database that a test is done with, and drops all retired ones when there are enough of
// them. The rest go with the server.
func (p *Postgres) retire(ctx context.Context, db *Database) error {
	if p.isClosed() {
		return nil
	}
	return p.admin(ctx, func(conn *pgx.Conn) error {
		const terminate = "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1"
		if _, err := conn.Exec(ctx, terminate, db.name); err != nil {
			return err
		}
		p.forget(db)
		var errs []error
		for _, name := range p.dueForDropping(db.name) {
			errs = append(errs, drop(ctx, conn, name))
		}
		return errors.Join(errs...)
	})
}

func (p *Postgres) dueForDropping(name string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.retired = append(p.retired, name)
	if len(p.retired) < p.retiredLimit {
		return nil
	}
	due := p.retired
	p.retired = nil
	return due
}

// prepare makes the template, whose connections are closed for good so that it can be copied at any time, and the
// database that ConnString names.
func (p *Postgres) prepare(ctx context.Context) error {
	if err := p.createTemplate(ctx); err != nil {
		return err
	}
	if err := p.fillTemplate(ctx); err != nil {
		return err
	}
	err := p.admin(ctx, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "alter database "+quote(p.template)+" with allow_connections false")
		return err
	})
	if err != nil {
		return err
	}
	p.database = p.prefix
	return p.copyTemplate(ctx, p.database)
}

func (p *Postgres) createTemplate(ctx context.Context) error {
	return p.admin(ctx, func(conn *pgx.Conn) error {
		if err := conn.QueryRow(ctx, "select current_setting('server_version_num')::int").Scan(&p.version); err != nil {
			return err
		}
		if p.version < oldestVersion {
			return fmt.Errorf("the server is PostgreSQL %d, but %d or later is needed", p.version/10000, oldestVersion/10000)
		}
		// template0 holds nothing that somebody else put there.
		if _, err := conn.Exec(ctx, "create database "+quote(p.template)+" template template0"); err != nil {
			return fmt.Errorf("create the template database: %w", err)
		}
		return nil
	})
}

func (p *Postgres) fillTemplate(ctx context.Context) error {
	connString := p.server.connString(p.template)
	if p.config.vector {
		err := withConn(ctx, connString, func(conn *pgx.Conn) error { return p.createVector(ctx, conn) })
		if err != nil {
			return err
		}
	}
	if !p.config.migrate {
		return nil
	}
	started := time.Now()
	if err := migrate(ctx, connString, p.config.schema); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	p.config.logger.InfoContext(ctx, "migrated", "schema", p.config.schema, "took", time.Since(started))
	return nil
}

func migrate(ctx context.Context, connString, schema string) error {
	connConfig, err := pgx.ParseConfig(connString)
	if err != nil {
		return err
	}
	migrator, err := migrations.New(connConfig, &migrations.Config{Schema: schema})
	if err != nil {
		return err
	}
	return migrator.Up(ctx)
}

func (p *Postgres) createVector(ctx context.Context, conn *pgx.Conn) error {
	var available bool
	const query = "select exists (select from pg_available_extensions where name = 'vector')"
	if err := conn.QueryRow(ctx, query).Scan(&available); err != nil {
		return err
	}
	if !available {
		return errors.New("the server has no pgvector: install it (for this machine's binaries: " +
			"scripts/install-postgres.sh), or pass WithoutVector")
	}
	if _, err := conn.Exec(ctx, "create extension vector schema public"); err != nil {
		return fmt.Errorf("create the extension vector: %w", err)
	}
	return nil
}

// copyTemplate copies through the write-ahead log: copying files makes the server write two checkpoints, which costs
// more the busier it is.
func (p *Postgres) copyTemplate(ctx context.Context, name string) error {
	return p.admin(ctx, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "create database "+quote(name)+" template "+quote(p.template)+" strategy wal_log")
		return err
	})
}

// dropAll drops whatever this Postgres made, also what a cancelled Clone may have left.
func (p *Postgres) dropAll(ctx context.Context) error {
	return p.admin(ctx, func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, "select datname from pg_database where starts_with(datname, $1)", p.prefix)
		if err != nil {
			return err
		}
		names, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		var errs []error
		for _, name := range names {
			errs = append(errs, drop(ctx, conn, name))
		}
		return errors.Join(errs...)
	})
}

func drop(ctx context.Context, conn *pgx.Conn, name string) error {
	_, err := conn.Exec(ctx, "drop database if exists "+quote(name)+" with (force)")
	return err
}

func quote(identifier string) string { return `"` + strings.ReplaceAll(identifier, `"`, `""`) + `"` }
