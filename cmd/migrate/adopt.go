package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/pgweft/pgweft/cmd/internal/cli"
	"github.com/pgweft/pgweft/migrations"
)

func newAdopt(o *options) *cobra.Command {
	var from string
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "adopt --from SCHEMA",
		Short: "Take over the tables of LangGraph's own savers and store",
		Long: `Take over a database that LangGraph's own savers or store made and filled, without copying it. The tables move from
the schema named with --from to the one named with --schema, or stay in place when both are the same; they get the columns,
collations and indexes that "migrate up" would have made, and every row stays. LangGraph's libraries go on working with them.

It prints first what it found, what it will do, which locks it takes and for about how long. --dry-run ends there.

All of it is one transaction, which is rolled back unless the result is, object by object, what "migrate up" makes. The
tables are locked exclusively from its beginning to its end; it gives up when a lock is not to be had within --lock-timeout.
The role must own the tables and have CREATE on the database.

It refuses what it cannot take over, with every reason and nothing changed: tables of LangGraph's JavaScript store or of its
ShallowPostgresSaver, versions newer than this binary knows, partitions, views that keep columns from changing.`,
		Example: "  migrate adopt --from public --dry-run\n" +
			"  migrate adopt --from public                   # to schema langgraph\n" +
			"  migrate adopt --from public --schema public   # in place",
		Args: cli.Usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if from == "" {
				return cli.Usagef("--from is missing; name the schema that LangGraph's tables are in, such as public")
			}
			m, err := o.migrator()
			if err != nil {
				return err
			}
			plan, err := m.PlanAdoption(cmd.Context(), from)
			if err != nil {
				return err
			}
			if err := writePlan(o.env.Stdout, plan); err != nil || dryRun {
				return err
			}
			if _, err := m.Adopt(cmd.Context(), from); err != nil {
				return err
			}
			return o.report(cmd.Context(), m)
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "schema that LangGraph's tables are in")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only print what would be done")
	return cmd
}

// writePlan prints an adoption for people, its statements as they will run.
func writePlan(out io.Writer, plan *migrations.Adoption) error {
	var b strings.Builder
	fmt.Fprintf(&b, "found in schema %q:\n", plan.From)
	for _, d := range plan.Found {
		fmt.Fprintf(&b, "  %s\n", d)
	}
	if plan.From == plan.Schema {
		b.WriteString("\nThe tables stay in place:\n\n")
	} else {
		fmt.Fprintf(&b, "\nThe tables move to schema %q:\n\n", plan.Schema)
	}
	writeTables(&b, plan.Tables)
	fmt.Fprintf(&b, "\nLock: ACCESS EXCLUSIVE on them, from the beginning to the commit, for about %s: nobody reads or writes them then.\n",
		about(plan.Estimate()))
	b.WriteString("\nStatements, in one transaction with the migrations, which make the rest:\n")
	for _, s := range plan.Steps {
		fmt.Fprintf(&b, "\n-- %s\n%s;\n", s.Purpose, s.SQL)
	}
	b.WriteString("\nThe result is compared with what the migrations make in an empty schema; unless it is that, nothing changes.\n")
	for _, note := range plan.Notes {
		fmt.Fprintf(&b, "\nNote: %s\n", note)
	}
	_, err := io.WriteString(out, b.String()+"\n")
	return err
}

func writeTables(out io.Writer, tables []migrations.AdoptedTable) {
	w := table.NewWriter()
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Format.Header = 0
	w.SetStyle(style)
	w.AppendHeader(table.Row{"table", "rows", "size", "", "about"})
	for _, t := range tables {
		what := "every index built anew"
		if t.Rewritten {
			what = "every row written anew, every index built"
		}
		w.AppendRow(table.Row{t.Name, t.Rows, size(t.Bytes), what, about(t.Estimate)})
	}
	fmt.Fprintln(out, w.Render())
}

// about rounds a duration to what can be known of it.
func about(d time.Duration) string {
	switch {
	case d < time.Second:
		return "1s"
	case d < time.Minute:
		return d.Round(time.Second).String()
	}
	return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
}

func size(bytes int64) string {
	units := []string{"bytes", "kB", "MB", "GB", "TB"}
	value, unit := float64(bytes), 0
	for value >= 10240 && unit < len(units)-1 {
		value, unit = value/1024, unit+1
	}
	return fmt.Sprintf("%.0f %s", value, units[unit])
}
