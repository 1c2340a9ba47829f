package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/pgweft/pgweft/cmd/internal/cli"
	"github.com/pgweft/pgweft/migrations"
)

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
  migrate adopt --from public --dry-run     # a database that LangGraph's own library made
  migrate verify --schema agents            # is it still what was shipped?`

// options are the flags every command shares.
type options struct {
	database    *cli.Database
	env         cli.Environment
	lockTimeout time.Duration
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, env cli.Environment) int {
	return cli.Run(ctx, newRoot(env), args, env, nil)
}

func newRoot(env cli.Environment) *cobra.Command {
	root := cli.NewRoot(env, &cobra.Command{
		Use:     "migrate",
		Short:   "The life of the pgweft schema",
		Long:    rootHelp,
		Example: rootExample,
	})
	flags := root.PersistentFlags()
	o := &options{env: env, database: cli.NewDatabase(root, env)}
	flags.DurationVar(&o.lockTimeout, "lock-timeout", migrations.DefaultLockTimeout,
		"how long a statement waits for a lock that other sessions hold before the migration is rolled back")
	root.AddCommand(newUp(o), newDown(o), newGoto(o), newVersion(o), newForce(o), newPrint(o), newVerify(o), newRoles(o), newAdopt(o))
	return root
}

// migrator makes the Migrator that the flags and the environment describe.
func (o *options) migrator() (*migrations.Migrator, error) {
	config, err := o.database.ConnConfig()
	if err != nil {
		return nil, err
	}
	if o.lockTimeout <= 0 {
		return nil, cli.Usagef("--lock-timeout is %s; it must be positive", o.lockTimeout)
	}
	m, err := migrations.New(config, &migrations.Config{
		LockTimeout: o.lockTimeout,
		Logger:      slog.New(&progress{out: o.env.Stderr}),
		Schema:      o.database.Schema(),
	})
	if err != nil {
		return nil, cli.AsUsageError(err)
	}
	return m, nil
}

// report writes where the schema stands after a command.
func (o *options) report(ctx context.Context, m *migrations.Migrator) error {
	v, err := m.Version(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.env.Stdout, "schema %q is at version %d of %d\n", o.database.Schema(), v.Number, v.Latest)
	return err
}
