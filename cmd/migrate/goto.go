package main

import (
	"github.com/spf13/cobra"

	"github.com/pgweft/pgweft/cmd/internal/cli"
)

func newGoto(o *options) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "goto V",
		Short: "Migrate up or down to version V",
		Long: `Migrate up or down until the schema is at version V; 0 undoes everything.
Going down loses data as "migrate down" does, and asks in the same way; --yes answers.`,
		Example: "  migrate goto 3\n  migrate goto 0 --yes",
		Args:    cli.Usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			version, err := cli.Number("V", args[0], 0)
			if err != nil {
				return err
			}
			m, err := o.migrator()
			if err != nil {
				return err
			}
			v, err := m.Version(cmd.Context())
			if err != nil {
				return err
			}
			if version < v.Number {
				if err := o.confirmLoss(cmd.Context(), yes, v.Number, version); err != nil {
					return err
				}
			}
			if err := m.Goto(cmd.Context(), version); err != nil {
				return err
			}
			return o.report(cmd.Context(), m)
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask before going down")
	return cmd
}
