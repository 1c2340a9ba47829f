package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pgweft/pgweft/cmd/internal/cli"
)

func newVersion(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the version the schema is at",
		Long: `Show the version the schema is at: a number on standard output, 0 for a schema that does not exist, and on standard
error what to do when that is not the latest. It changes nothing and needs only SELECT on schema_migrations.`,
		Args: cli.Usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := o.migrator()
			if err != nil {
				return err
			}
			v, err := m.Version(cmd.Context())
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintln(o.env.Stdout, v.Number); err != nil {
				return err
			}
			if problem := m.Usable(v); problem != nil {
				fmt.Fprintln(o.env.Stderr, problem)
			} else if v.Number < v.Latest {
				fmt.Fprintf(o.env.Stderr, "the latest version is %d; run \"migrate up\"\n", v.Latest)
			}
			return nil
		},
	}
}
