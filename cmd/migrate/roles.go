package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pgweft/pgweft/cmd/internal/cli"
	"github.com/pgweft/pgweft/migrations"
)

func newRoles(o *options) *cobra.Command {
	var readerValues, printOnly bool
	cmd := &cobra.Command{
		Use:   "roles",
		Short: "Make the roles of the schema, and grant them exactly what they need",
		Long: `Make three roles where they are missing, and grant them exactly what they need:

  <schema>_app     agents and applications: they save, read and delete threads and store items
  <schema>_reader  people and reports: which threads and checkpoints there are; values only with --reader-values
  <schema>_ops     retention, pins, repair, fsck

They are groups that cannot log in; grant them to the roles that do:
  grant langgraph_app to my_service;

What they may do is decided in one place, the SQL function role_rights(). Whatever else they were granted on the two schemas
is taken back, so give rights of your own choosing to roles of your own. "migrate up" grants them what is new.

Making roles needs CREATEROLE, granting needs the owner of the schema. With --print the statements are written and not run,
for a DBA to review and run.`,
		Example: "  migrate roles\n  migrate roles --print | psql --single-transaction \"$DBA_DATABASE_URL\"",
		Args:    cli.Usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := o.migrator()
			if err != nil {
				return err
			}
			choice := migrations.RolesOptions{DryRun: printOnly}
			if cmd.Flags().Changed("reader-values") {
				choice.ReaderValues = &readerValues
			}
			statements, err := m.Roles(cmd.Context(), choice)
			if err != nil {
				return err
			}
			return o.reportRoles(statements, printOnly)
		},
	}
	cmd.Flags().BoolVar(&printOnly, "print", false, "write the statements, and run none of them")
	cmd.Flags().BoolVar(&readerValues, "reader-values", false,
		"let the reader see what agents saved, raw and decoded; --reader-values=false takes that back (default: as it is)")
	return cmd
}

func (o *options) reportRoles(statements []string, printOnly bool) error {
	if printOnly {
		for _, statement := range statements {
			if _, err := fmt.Fprintf(o.env.Stdout, "%s;\n", statement); err != nil {
				return err
			}
		}
		return nil
	}
	schema := o.database.Schema()
	_, err := fmt.Fprintf(o.env.Stdout, "roles %q, %q and %q have their rights\n", schema+"_app", schema+"_reader", schema+"_ops")
	return err
}
