package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/pgweft/pgweft/migrations"
)

// The exit codes, as the help text promises them.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// connectTimeout holds where neither the connection string nor PGCONNECT_TIMEOUT names one.
const connectTimeout = 15 * time.Second

const rootHelp = `Install, upgrade, remove and check the pgweft schema of one Postgres database.

The schema is versioned: each migration is one transaction that also moves the version row
(<schema>.schema_migrations, the table golang-migrate uses). A migration that fails changes nothing.
Any number of "migrate up" may run at once; they wait for each other.

Superuser is not needed. The role needs CREATE on the database, or two schemas made for it beforehand:
  create schema langgraph authorization app_owner;
  create schema langgraph_analytics authorization app_owner;

Connect to the server directly rather than through a pooler: poolers cut off connections that wait long for a lock.

The database is found by, in this order: --database, DATABASE_URL, and the PG* variables that psql reads
(PGHOST, PGPORT, PGDATABASE, PGUSER, PGPASSWORD, PGSERVICE ...).

Results go to standard output, progress and errors to standard error.
Exit codes: 0 done, 1 failed (or verify found drift), 2 wrong usage.`

const rootExample = `  migrate up --database "postgres://app_owner@db.example.com/agents"
  migrate print | less                      # review everything before it happens
  migrate print --from 3 > upgrade.sql      # have a DBA run it: psql -f upgrade.sql
  migrate verify --schema agents            # is it still what was shipped?`

// environment is what a command touches outside the database.
type environment struct {
	getenv      func(string) string
	interactive func() bool
	stdin       io.Reader
	stdout      io.Writer
	stderr      io.Writer
}

func system() environment {
	return environment{
		getenv:      os.Getenv,
		interactive: func() bool { return term.IsTerminal(int(os.Stdin.Fd())) },
		stdin:       os.Stdin,
		stdout:      os.Stdout,
		stderr:      os.Stderr,
	}
}

// options are the flags every command shares.
type options struct {
	database    string
	env         environment
	lockTimeout time.Duration
	schema      string
}

// usageError is a mistake in the command line, as opposed to a failure in the database.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, env environment) int {
	root := newRoot(env)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	fmt.Fprintf(env.stderr, "migrate: %s\n", message(err))
	var usage usageError
	if errors.As(err, &usage) {
		fmt.Fprintf(env.stderr, "Run \"%s --help\" for usage.\n", cmd.CommandPath())
		return exitUsage
	}
	return exitFailed
}

func newRoot(env environment) *cobra.Command {
	o := &options{env: env}
	root := &cobra.Command{
		Use:           "migrate",
		Short:         "The life of the pgweft schema",
		Long:          rootHelp,
		Example:       rootExample,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE:          unknownCommand,
	}
	root.SuggestionsMinimumDistance = 2
	root.SetIn(env.stdin)
	root.SetOut(env.stdout)
	root.SetErr(env.stderr)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	flags := root.PersistentFlags()
	flags.StringVar(&o.database, "database", "", "connection string or URL (default: DATABASE_URL, then the PG* variables)")
	flags.StringVar(&o.schema, "schema", "", "schema to work on (default: PGWEFT_SCHEMA, then \""+migrations.DefaultSchema+"\")")
	flags.DurationVar(&o.lockTimeout, "lock-timeout", migrations.DefaultLockTimeout,
		"how long a statement waits for a lock that other sessions hold before the migration is rolled back")
	root.AddCommand(newUp(o), newDown(o), newGoto(o), newVersion(o), newForce(o), newPrint(o), newVerify(o))
	return root
}

func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return errors.Join(cmd.Help(), usageError{errors.New("a command is missing")})
	}
	problem := fmt.Sprintf("unknown command %q", args[0])
	if similar := cmd.SuggestionsFor(args[0]); len(similar) > 0 {
		problem += "; did you mean " + strings.Join(similar, " or ") + "?"
	}
	return usageError{errors.New(problem)}
}

// usage turns what a cobra validator says about arguments into a usage error.
func usage(validate cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := validate(cmd, args); err != nil {
			return usageError{err}
		}
		return nil
	}
}

// migrator makes the Migrator that the flags and the environment describe.
func (o *options) migrator() (*migrations.Migrator, error) {
	dsn := o.database
	if dsn == "" {
		dsn = o.env.getenv("DATABASE_URL")
	}
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, usageError{err}
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	if o.lockTimeout <= 0 {
		return nil, usageError{fmt.Errorf("--lock-timeout is %s; it must be positive", o.lockTimeout)}
	}
	m, err := migrations.New(config, &migrations.Config{
		LockTimeout: o.lockTimeout,
		Logger:      slog.New(&progress{out: o.env.stderr}),
		Schema:      o.schemaName(),
	})
	if err != nil {
		return nil, usageError{err}
	}
	return m, nil
}

func (o *options) schemaName() string {
	for _, name := range []string{o.schema, o.env.getenv("PGWEFT_SCHEMA")} {
		if name != "" {
			return name
		}
	}
	return migrations.DefaultSchema
}

// report writes where the schema stands after a command.
func (o *options) report(ctx context.Context, m *migrations.Migrator) error {
	v, err := m.Version(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.env.stdout, "schema %q is at version %d of %d\n", o.schemaName(), v.Number, v.Latest)
	return err
}

// message adds to an error what the caller of this command can do about it.
func message(err error) string {
	var connect *pgconn.ConnectError
	switch {
	case errors.Is(err, context.Canceled):
		return "cancelled: " + err.Error()
	case errors.As(err, &connect):
		return err.Error() + "\nCheck --database (or DATABASE_URL, or the PG* variables), and that the server accepts connections there."
	}
	return err.Error()
}
