package main

import (
	"github.com/spf13/cobra"

	"github.com/pgweft/pgweft/cmd/internal/cli"
)

func newPrint(o *options) *cobra.Command {
	var from, to int
	cmd := &cobra.Command{
		Use:   "print",
		Short: "Write the migrations as one script for psql",
		Long: `Write the migrations from one version to another as one script for psql, to review or to have a DBA run. The script is
one transaction, takes the lock that "migrate" takes, stops before changing anything unless the schema is at the version
it starts from, and leaves the version row as "migrate" would. It goes downwards when --from is greater than --to.
No database is needed to print.`,
		Example: "  migrate print --schema agents > install.sql && psql --no-psqlrc -f install.sql \"$DATABASE_URL\"\n" +
			"  migrate print --from 3 --to 4",
		Args: cli.Usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := o.migrator()
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("to") {
				to = m.Latest()
			}
			return m.Print(o.env.Stdout, from, to)
		},
	}
	cmd.Flags().IntVar(&from, "from", 0, "version the schema is at")
	cmd.Flags().IntVar(&to, "to", 0, "version to go to (default: the latest)")
	return cmd
}
