package main

import (
	"github.com/spf13/cobra"

	"github.com/pgweft/pgweft/cmd/internal/cli"
)

func newDown(o *options) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "down [N]",
		Short: "Undo the last N migrations (1 unless given)",
		Long: `Undo the last N migrations, 1 unless given. Undoing a migration that made tables removes every row in them:
take a backup. Both schemas and the version table remain, even at version 0.

It asks first; --yes answers. Without a terminal it refuses unless --yes is given.`,
		Args: cli.Usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			n := 1
			if len(args) == 1 {
				var err error
				if n, err = cli.Number("N", args[0], 1); err != nil {
					return err
				}
			}
			m, err := o.migrator()
			if err != nil {
				return err
			}
			v, err := m.Version(cmd.Context())
			if err != nil {
				return err
			}
			if n <= v.Number {
				if err := o.confirmLoss(cmd.Context(), yes, v.Number, v.Number-n); err != nil {
					return err
				}
			}
			if err := m.Down(cmd.Context(), n); err != nil {
				return err
			}
			return o.report(cmd.Context(), m)
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}
