// Command pgweft shows and tends what lives in the pgweft schema of a Postgres database: threads, their checkpoints and
// branches, retention, and what is broken. Run it with --help.
package main

import (
	"context"
	"time"

	"github.com/pgweft/pgweft/cmd/internal/cli"
)

// patience is how long a command works before it says that it still does.
const patience = 10 * time.Second

func main() {
	cli.Main(func(ctx context.Context, args []string, env cli.Environment) int {
		return run(ctx, args, environment{Environment: env, now: time.Now, patience: patience})
	})
}
