package testcontainers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// startTimeout bounds the start of the shared server; pulling an image is the slowest part of it.
const startTimeout = 10 * time.Minute

// shared is the server of the test binary that [Main] runs.
var shared sharedPostgres

type sharedPostgres struct {
	mu       sync.Mutex
	inMain   bool
	opts     []Option
	postgres *Postgres
	err      error
}

// Main runs the tests of a package, for TestMain. The first [NewDatabase] starts one Postgres for the whole test binary,
// with these options; after the tests Main closes it and exits. The exit code is that of the tests, or 1 where they pass
// but leave a database undropped, a goroutine running or something of the server behind.
func Main(m *testing.M, opts ...Option) { os.Exit(runMain(m, opts)) }

func runMain(m interface{ Run() int }, opts []Option) int {
	shared.begin(opts)
	code := m.Run()
	if err := shared.end(); err != nil {
		fmt.Fprintln(os.Stderr, "testcontainers.Main:", err)
		if code == 0 {
			code = 1
		}
	}
	return code
}

// NewDatabase gives a test a database of its own, cloned from the migrated template. At the end of the test its sessions
// are ended; it is dropped together with others, at the latest when [Main] ends. NewDatabase ends the test where there is
// no database to be had. The package's TestMain must call Main.
func NewDatabase(tb testing.TB) *Database {
	tb.Helper()
	postgres, err := shared.get()
	if err != nil {
		tb.Fatalf("testcontainers.NewDatabase: %v", err)
	}
	db, err := postgres.Clone(tb.Context())
	if err != nil {
		tb.Fatalf("testcontainers.NewDatabase: %v", err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), closeTimeout)
		defer cancel()
		if err := postgres.retire(ctx, db); err != nil {
			tb.Errorf("testcontainers.NewDatabase: %v", err)
		}
	})
	return db
}

func (s *sharedPostgres) begin(opts []Option) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inMain, s.opts = true, opts
}

// get starts the server at the first call. A failure is final: every test would wait for the same one again.
func (s *sharedPostgres) get() (*Postgres, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.inMain {
		return nil, errors.New("no Postgres: let TestMain of this package call testcontainers.Main(m)")
	}
	if s.postgres == nil && s.err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		s.postgres, s.err = Run(ctx, s.opts...)
	}
	return s.postgres, s.err
}

// end closes the server, if it was started, and reports what the tests left behind.
func (s *sharedPostgres) end() error {
	s.mu.Lock()
	postgres := s.postgres
	s.inMain, s.postgres, s.err = false, nil, nil
	s.mu.Unlock()
	if postgres == nil {
		return leakedGoroutines(Auto)
	}
	var left error
	if names := postgres.undropped(); len(names) > 0 {
		left = fmt.Errorf("the tests left databases undropped: %s", strings.Join(names, ", "))
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return errors.Join(left, postgres.Close(ctx), leakedGoroutines(postgres.Backend()))
}

// leakedGoroutines is nil for Docker: testcontainers-go keeps a connection to its reaper until the process ends.
func leakedGoroutines(backend Backend) error {
	if backend == Docker {
		return nil
	}
	return goleak.Find()
}
