package main

import (
	"github.com/spf13/cobra"

	"github.com/pgweft/pgweft/cmd/internal/cli"
)

func newForce(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "force V",
		Short: "Set the version row without running any migration",
		Long: `Set the version row to V and clear the dirty mark, without running any migration. It is the way out when another tool
was interrupted and left the schema dirty; every command says then what to check first. Prove the result with "migrate verify".`,
		Args: cli.Usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			version, err := cli.Number("V", args[0], 0)
			if err != nil {
				return err
			}
			m, err := o.migrator()
			if err != nil {
				return err
			}
			if err := m.Force(cmd.Context(), version); err != nil {
				return err
			}
			return o.report(cmd.Context(), m)
		},
	}
}
