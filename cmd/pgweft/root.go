package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/pgweft/pgweft/cmd/internal/cli"
)

const rootHelp = `See and tend what agents remember: the threads, checkpoints and branches in the pgweft schema of one Postgres database,
their retention, and what is broken in them.

Commands that only look ("threads", "tree", "show", "diff", "fsck", "doctor", "policy list" and everything with --dry-run)
do so in one read-only transaction: they change nothing and wait for no application. Commands that remove something say
first how much would go, and ask; --yes answers. What is pinned, and what others need to read back as before, always stays.

The schema itself is installed and upgraded with "migrate". A namespace is empty for the root graph, and "node:task" for a
subgraph. Durations are Postgres intervals: "30 days", "12 hours", "90s".

The database is found by, in this order: --database, DATABASE_URL, and the PG* variables that psql reads
(PGHOST, PGPORT, PGDATABASE, PGUSER, PGPASSWORD, PGSERVICE ...).

Results go to standard output, progress, questions and errors to standard error. With --json the result is one JSON
document whose fields are named as the columns of the SQL functions behind it, with exact times (UTC) and whole values.
Exit codes: 0 done, 1 failed (or fsck or doctor found something wrong), 2 wrong usage.`

const rootExample = `  pgweft threads                               # who talked last, and who waits for a human
  pgweft tree support-42                       # its checkpoints and branches
  pgweft show support-42                       # the newest state, decoded
  pgweft prune support-42 --keep 10 --dry-run  # what would go
  pgweft fsck --json | jq -r '.[].remedy'      # what is broken, and what mends it`

// environment is what a command touches outside the database.
type environment struct {
	cli.Environment
	// now tells the time, in the zone in which times are shown.
	now func() time.Time
	// patience is how long a command works before it says that it still does.
	patience time.Duration
}

// options are the flags every command shares.
type options struct {
	database *cli.Database
	env      environment
	json     bool
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, env environment) int {
	return cli.Run(ctx, newRoot(env), args, env.Environment, explain)
}

func newRoot(env environment) *cobra.Command {
	root := cli.NewRoot(env.Environment, &cobra.Command{
		Use:     "pgweft",
		Short:   "See and tend what agents remember in Postgres",
		Long:    rootHelp,
		Example: rootExample,
	})
	flags := root.PersistentFlags()
	o := &options{env: env, database: cli.NewDatabase(root, env.Environment)}
	flags.BoolVar(&o.json, "json", false, "write the result as one JSON document")

	root.AddGroup(&cobra.Group{ID: looking, Title: "Looking:"}, &cobra.Group{ID: removing, Title: "Removing:"},
		&cobra.Group{ID: keeping, Title: "Deciding what stays:"})
	for _, group := range []struct {
		id       string
		commands []*cobra.Command
	}{
		{looking, []*cobra.Command{newThreads(o), newTree(o), newShow(o), newDiff(o), newFsck(o), newDoctor(o)}},
		{removing, []*cobra.Command{newPrune(o), newDeleteRuns(o), newSweep(o)}},
		{keeping, []*cobra.Command{newPolicy(o), newTTL(o), newPin(o), newUnpin(o)}},
	} {
		for _, cmd := range group.commands {
			cmd.GroupID = group.id
			root.AddCommand(cmd)
		}
	}
	withoutFileCompletion(root)
	return root
}

// The groups of commands in the help text.
const (
	looking  = "looking"
	removing = "removing"
	keeping  = "keeping"
)

// withoutFileCompletion keeps the shell from offering files: no argument is one.
func withoutFileCompletion(cmd *cobra.Command) {
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	for _, child := range cmd.Commands() {
		withoutFileCompletion(child)
	}
}

// namespaceFlag adds --namespace to a command.
func namespaceFlag(cmd *cobra.Command, namespace *string) {
	cmd.Flags().StringVar(namespace, "namespace", "", "namespace of a subgraph (default: the root graph)")
}
