// Command migrate installs, upgrades, removes and checks the pgweft schema in a Postgres database. Run it with --help.
package main

import "github.com/pgweft/pgweft/cmd/internal/cli"

func main() { cli.Main(run) }
