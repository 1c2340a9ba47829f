package main

import (
	"github.com/spf13/cobra"

	"github.com/pgweft/pgweft/cmd/internal/cli"
)

func newUp(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "up",
		Short: "Run every migration that is missing",
		Long: `Run every migration that is missing, each in a transaction of its own. Both schemas are created where missing.
Running it on an up-to-date schema changes nothing and succeeds.`,
		Args: cli.Usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := o.migrator()
			if err != nil {
				return err
			}
			if err := m.Up(cmd.Context()); err != nil {
				return err
			}
			return o.report(cmd.Context(), m)
		},
	}
}
