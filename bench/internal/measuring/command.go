package measuring

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/pgweft/pgweft/testcontainers"
)

// Main runs a command until it is done or interrupted, and exits with 1 where it failed.
func Main(name string, run func(ctx context.Context, args []string, out io.Writer, p *Progress) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the process at once
	err := run(ctx, os.Args[1:], os.Stdout, NewProgress(os.Stderr))
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// StartPostgres finds or starts a Postgres with these settings. A server of DATABASE_URL is taken as it is. The caller calls
// StopPostgres.
func StartPostgres(ctx context.Context, p *Progress, settings map[string]string) (*testcontainers.Postgres, error) {
	p.Stage("start Postgres")
	var opts []testcontainers.Option
	if os.Getenv("DATABASE_URL") == "" {
		opts = append(opts, testcontainers.WithSettings(settings))
	}
	return testcontainers.Run(ctx, opts...)
}

// StopPostgres removes what StartPostgres started, after an interrupt as well.
func StopPostgres(ctx context.Context, postgres *testcontainers.Postgres) error {
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	return postgres.Close(closing)
}
