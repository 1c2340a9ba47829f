// Command migrate installs, upgrades, removes and checks the pgweft schema in a Postgres database. Run it with --help.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], system())
	stop()
	os.Exit(code)
}
