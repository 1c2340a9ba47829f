package testcontainers

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
)

// externalServer is the server that DATABASE_URL names. It is used, never changed.
type externalServer struct{ dsn string }

func newExternalServer(cfg config) (server, error) {
	if cfg.databaseURL == "" {
		return nil, errors.New("DATABASE_URL is not set: set it to a connection URL of a server, such as " +
			"postgres://user:password@localhost:5432/postgres")
	}
	if len(cfg.settings) > 0 {
		return nil, errors.New("WithSettings cannot change the server that DATABASE_URL names: unset DATABASE_URL, " +
			"or pass WithBackend(Local) or WithBackend(Docker)")
	}
	if _, err := pgx.ParseConfig(cfg.databaseURL); err != nil {
		return nil, fmt.Errorf("DATABASE_URL: %w", err) // the error does not show the password
	}
	const probe = "pgweft_probe"
	if other, err := pgx.ParseConfig(withDatabase(cfg.databaseURL, probe)); err != nil || other.Database != probe {
		return nil, errors.New("DATABASE_URL has a form in which another database cannot be named: use " +
			"postgres://user:password@host:port/database")
	}
	return &externalServer{dsn: cfg.databaseURL}, nil
}

func (s *externalServer) connString(database string) string { return withDatabase(s.dsn, database) }

func (s *externalServer) tcpConnString(database string) string { return withDatabase(s.dsn, database) }

func (s *externalServer) start(context.Context) error { return ErrNotManaged }

func (s *externalServer) stop(context.Context, shutdown) error { return ErrNotManaged }

func (s *externalServer) close(context.Context) error { return nil }

func (s *externalServer) String() string { return "the server at DATABASE_URL" }

// withDatabase changes the database in a connection string of either form, URL or keywords and values. An empty name
// changes nothing.
func withDatabase(dsn, database string) string {
	if database == "" {
		return dsn
	}
	u, err := url.Parse(dsn)
	if err != nil || (u.Scheme != "postgres" && u.Scheme != "postgresql") {
		value := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(database)
		return dsn + " dbname='" + value + "'" // the last one counts
	}
	query := u.Query()
	query.Del("dbname")
	u.RawQuery = query.Encode()
	u.Path = "/" + database
	u.RawPath = ""
	return u.String()
}
