// Package testcontainers gives tests a throwaway Postgres with pgvector and this module's schema in it.
//
// [Run] takes the first of these that is there:
//
//  1. the server that the environment variable DATABASE_URL names: Run makes databases of its own on it, drops them at
//     the end and touches no other;
//  2. the binaries in the directory that PGWEFT_PG_BIN names;
//  3. a Docker engine, through testcontainers-go: the pgvector image, or the one that PGWEFT_TEST_DOCKER_IMAGE names;
//  4. the Postgres binaries of this machine: a private cluster in a temporary directory, reached through a Unix socket
//     and a loopback port. It works as root too, by running the server as another user. A watchdog process stops the
//     server and removes the directory when the test process ends, however it ends.
//
// Tests then clone a migrated template database, which takes tens of milliseconds. In a package's tests that is
//
//	func TestMain(m *testing.M) { testcontainers.Main(m) }
//
// and in each test
//
//	db := testcontainers.NewDatabase(t)
//	pool, err := pgxpool.New(ctx, db.ConnString())
package testcontainers

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// closeTimeout bounds the cleaning up after a start that failed or was cancelled.
const closeTimeout = time.Minute

// readyInterval is how often a server that starts is asked whether it is ready.
const readyInterval = 20 * time.Millisecond

// oldestVersion is the oldest supported release, as server_version_num has it.
const oldestVersion = 150000

// ErrNotManaged is returned by [Postgres.Stop], [Postgres.Kill] and [Postgres.Start] where the server is the one that
// DATABASE_URL names: it may have other users.
var ErrNotManaged = errors.New("the server at DATABASE_URL is not ours to stop or start: use WithBackend(Local) or WithBackend(Docker)")

// ErrClosed is returned by operations on a [Postgres] that was closed.
var ErrClosed = errors.New("this Postgres was closed")

// Postgres is a running server with a migrated database, made by [Run]. It is safe for concurrent use.
type Postgres struct {
	backend      Backend
	config       config
	database     string
	prefix       string
	retiredLimit int
	server       server
	template     string
	version      int

	mu        sync.Mutex
	closed    bool
	databases map[string]*Database
	retired   []string
}

// server is what the backends differ in.
type server interface {
	// connString names a database, or where it is empty the one to connect to for CREATE DATABASE.
	connString(database string) string
	tcpConnString(database string) string
	start(ctx context.Context) error
	stop(ctx context.Context, how shutdown) error
	// close stops the server and removes what the backend made. It is called once.
	close(ctx context.Context) error
	String() string
}

// shutdown is how a server is stopped.
type shutdown int

const (
	fastShutdown      shutdown = iota // sessions are terminated, a checkpoint is written
	immediateShutdown                 // as in a crash: recovery at the next start
)

// Run starts a Postgres, creates the extension vector and the schema in a database of it, and returns once that can be
// connected to. The first start takes about a second from local binaries, longer where an image has to be pulled.
// The caller calls [Postgres.Close] at the end. A Run that fails or whose context is cancelled leaves nothing behind.
func Run(ctx context.Context, opts ...Option) (*Postgres, error) {
	cfg, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	backend, srv, err := startServer(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("start Postgres for tests: %w", err)
	}
	prefix := "pgweft_" + randomHex(8)
	p := &Postgres{
		backend:      backend,
		config:       cfg,
		databases:    map[string]*Database{},
		prefix:       prefix,
		retiredLimit: defaultRetiredLimit,
		server:       srv,
		template:     prefix + "_template",
	}
	if err := p.prepare(ctx); err != nil {
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		return nil, errors.Join(fmt.Errorf("prepare Postgres for tests on %s: %w", srv, err), p.Close(cleanup))
	}
	return p, nil
}

// Backend tells which backend was taken; never [Auto].
func (p *Postgres) Backend() Backend { return p.backend }

// ServerVersion is the server's version as server_version_num has it: 150020 for 15.20.
func (p *Postgres) ServerVersion() int { return p.version }

// ConnString is a connection URL of the migrated database, for a superuser (for the user that DATABASE_URL names, where
// that is the backend). It goes through the Unix socket where there is one. On [Docker] the port may change with
// [Postgres.Start]: ask again.
func (p *Postgres) ConnString() string { return p.server.connString(p.database) }

// TCPConnString is ConnString through TCP, for proxies and for clients that know no Unix sockets.
func (p *Postgres) TCPConnString() string { return p.server.tcpConnString(p.database) }

// Stop shuts the server down the fast way: sessions are terminated. The data stay, [Postgres.Start] brings it back.
func (p *Postgres) Stop(ctx context.Context) error { return p.stop(ctx, fastShutdown) }

// Kill makes the server go away at once, as in a crash: clients see their connections close in the middle of a call, and
// the next [Postgres.Start] recovers from the write-ahead log.
func (p *Postgres) Kill(ctx context.Context) error { return p.stop(ctx, immediateShutdown) }

func (p *Postgres) stop(ctx context.Context, how shutdown) error {
	if p.isClosed() {
		return ErrClosed
	}
	if err := p.server.stop(ctx, how); err != nil {
		return fmt.Errorf("stop %s: %w", p.server, err)
	}
	return nil
}

// Start starts a server that [Postgres.Stop] or [Postgres.Kill] ended and returns once it accepts connections. It does
// nothing where the server runs.
func (p *Postgres) Start(ctx context.Context) error {
	if p.isClosed() {
		return ErrClosed
	}
	if err := p.server.start(ctx); err != nil {
		return fmt.Errorf("start %s: %w", p.server, err)
	}
	return nil
}

func (p *Postgres) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// Close stops the server and removes it with everything in it; on the server that DATABASE_URL names it drops the
// databases it made. Further calls do nothing.
func (p *Postgres) Close(ctx context.Context) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	p.mu.Unlock()

	var dropped error
	if p.backend == DatabaseURL {
		dropped = p.dropAll(ctx)
	}
	if err := errors.Join(dropped, p.server.close(ctx)); err != nil {
		return fmt.Errorf("close %s: %w", p.server, err)
	}
	return nil
}

// undropped lists the clones that were not dropped, in order of their names.
func (p *Postgres) undropped() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.databases))
}

// admin runs do on a connection for statements about databases. Each use connects anew: nothing is left open that would
// break with a server that tests stop and start.
func (p *Postgres) admin(ctx context.Context, do func(*pgx.Conn) error) error {
	return withConn(ctx, p.server.connString(""), do)
}

func withConn(ctx context.Context, connString string, do func(*pgx.Conn) error) (err error) {
	conn, err := pgx.Connect(ctx, connString)
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		err = errors.Join(err, conn.Close(closing))
	}()
	return do(conn)
}

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
