// Package pgcrontest starts a server that loads pg_cron, for tests of what pg_cron is to do.
package pgcrontest

import (
	"context"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgweft/pgweft/testcontainers"
)

// stopTimeout bounds the stopping of the server.
const stopTimeout = time.Minute

// Start runs a server of the test's own with pg_cron loaded, until the test ends, with these settings beside. It is of the same
// kind as the one that the package's tests share, or of this machine's binaries where that has no pg_cron or is somebody
// else's. Without pg_cron the test is skipped, which "make test" counts as a failure; scripts/install-pg-cron.sh installs it.
func Start(tb testing.TB, settings map[string]string, options ...testcontainers.Option) *testcontainers.Postgres {
	tb.Helper()
	all := map[string]string{"shared_preload_libraries": "pg_cron"}
	maps.Copy(all, settings)
	options = append(options, testcontainers.WithSettings(all))
	if os.Getenv("DATABASE_URL") != "" || !offered(tb) {
		options = append(options, testcontainers.WithBackend(testcontainers.Local))
	}
	server, err := testcontainers.Run(tb.Context(), options...)
	if err != nil && strings.Contains(err.Error(), `could not access file "pg_cron"`) {
		tb.Skipf("pgcrontest: %v; run scripts/install-pg-cron.sh", err)
	}
	if err != nil {
		tb.Fatalf("pgcrontest: %v", err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), stopTimeout)
		defer cancel()
		if err := server.Close(ctx); err != nil {
			tb.Errorf("pgcrontest: %v", err)
		}
	})
	return server
}

// offered says whether the server that the tests share has pg_cron to load.
func offered(tb testing.TB) bool {
	tb.Helper()
	conn, err := pgx.Connect(tb.Context(), testcontainers.NewDatabase(tb).ConnString())
	if err != nil {
		tb.Fatalf("pgcrontest: %v", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(tb.Context())) }()
	var found bool
	const ask = "select exists (select from pg_available_extensions where name = 'pg_cron')"
	if err := conn.QueryRow(tb.Context(), ask).Scan(&found); err != nil {
		tb.Fatalf("pgcrontest: %v", err)
	}
	return found
}
