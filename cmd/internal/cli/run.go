package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/spf13/cobra"
)

// The exit codes of every command.
const (
	ExitOK     = 0
	ExitFailed = 1
	ExitUsage  = 2
)

// UsageError is a mistake in the command line, as opposed to a failure in the database.
type UsageError struct{ err error }

func (e UsageError) Error() string { return e.err.Error() }

// Unwrap gives the cause.
func (e UsageError) Unwrap() error { return e.err }

// AsUsageError makes a UsageError of an error.
func AsUsageError(err error) error { return UsageError{err} }

// Usagef is fmt.Errorf for a UsageError.
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// Usage turns what a cobra validator says about arguments into a usage error.
func Usage(validate cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := validate(cmd, args); err != nil {
			return UsageError{err}
		}
		return nil
	}
}

// NewRoot is a root command that reports usage errors through [Run], and names what an unknown command may have meant.
func NewRoot(env Environment, root *cobra.Command) *cobra.Command {
	root.SilenceErrors = true
	root.SilenceUsage = true
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return UsageError{err} })
	AsGroup(root)
	return root
}

// AsGroup lets a command that only holds others say which of them is missing or unknown.
func AsGroup(cmd *cobra.Command) {
	cmd.Args = cobra.ArbitraryArgs
	cmd.SuggestionsMinimumDistance = 2
	cmd.RunE = unknownCommand
}

func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return errors.Join(cmd.Help(), Usagef("a command is missing"))
	}
	problem := fmt.Sprintf("unknown command %q", args[0])
	if similar := cmd.SuggestionsFor(args[0]); len(similar) > 0 {
		problem += "; did you mean " + strings.Join(similar, " or ") + "?"
	}
	return UsageError{errors.New(problem)}
}

// Run executes one command line and returns the exit code. Errors are written to Stderr, as explain puts them; nil takes
// their own text.
func Run(ctx context.Context, root *cobra.Command, args []string, env Environment, explain func(error) string) int {
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return ExitOK
	}
	if explain == nil {
		explain = error.Error
	}
	fmt.Fprintf(env.Stderr, "%s: %s\n", root.Name(), message(err, explain, ctx.Err() != nil))
	var usage UsageError
	if errors.As(err, &usage) {
		fmt.Fprintf(env.Stderr, "Run \"%s --help\" for usage.\n", cmd.CommandPath())
		return ExitUsage
	}
	return ExitFailed
}

// message adds to an error what the caller of a command can do about it.
func message(err error, explain func(error) string, cancelled bool) string {
	var connect *pgconn.ConnectError
	switch {
	case cancelled || errors.Is(err, context.Canceled):
		return "cancelled: " + explain(err)
	case errors.As(err, &connect):
		return explain(err) +
			"\nCheck --database (or DATABASE_URL, or the PG* variables), and that the server accepts connections there."
	}
	return explain(err)
}

// Main runs the command line of this process and ends it. The first interrupt cancels the context, so that a command can
// stop in good order; the second ends the process.
func Main(run func(context.Context, []string, Environment) int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	code := run(ctx, os.Args[1:], System())
	stop()
	os.Exit(code)
}
