package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pgweft/pgweft/cmd/internal/cli"
	"github.com/pgweft/pgweft/migrations"
)

func newVerify(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "verify",
		Short: "Compare the live schema with what this binary ships",
		Long: `Compare the live schema, object by object, with what this binary ships for the version the schema is at: columns,
constraints, indexes, triggers, function bodies and attributes, views, comments and grants.

It builds the shipped schema under a unique name within one transaction that is always rolled back. That needs CREATE on
the database, leaves nothing behind, and keeps migrators waiting for the moment it takes.

Objects of your own in the schema are listed as extra and do no harm, except functions that overload shipped ones and
grants to PUBLIC. What enable_ functions make is not compared. Exit code 1 when something is missing, changed or harmful.`,
		Args: cli.Usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := o.migrator()
			if err != nil {
				return err
			}
			drifts, err := m.Verify(cmd.Context())
			if err != nil {
				return err
			}
			return o.reportDrift(drifts)
		},
	}
}

func (o *options) reportDrift(drifts []migrations.Drift) error {
	harmful := 0
	for _, d := range drifts {
		if !d.Harmless {
			harmful++
		}
		if _, err := fmt.Fprintln(o.env.Stdout, d); err != nil {
			return err
		}
	}
	if harmful > 0 {
		return fmt.Errorf("schema %q differs from what was shipped in %d places", o.database.Schema(), harmful)
	}
	_, err := fmt.Fprintf(o.env.Stdout, "schema %q is what was shipped\n", o.database.Schema())
	return err
}
