package main

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/pgweft/pgweft/cmd/internal/cli"
)

// finding is a row of fsck.
type finding struct {
	Problem      string  `db:"problem" json:"problem"`
	ThreadID     string  `db:"thread_id" json:"thread_id"`
	Namespace    string  `db:"checkpoint_ns" json:"checkpoint_ns"`
	CheckpointID *string `db:"checkpoint_id" json:"checkpoint_id"`
	Channel      *string `db:"channel" json:"channel"`
	Detail       string  `db:"detail" json:"detail"`
	Remedy       string  `db:"remedy" json:"remedy"`
}

func newFsck(o *options) *cobra.Command {
	var deep bool
	cmd := &cobra.Command{
		Use:   "fsck [THREAD]",
		Short: "Look for what is broken, and say what mends it",
		Long: `Look for what is broken in one thread, or in all: missing parents and values, circles of parents, severed delta chains,
version collisions, orphans; with --deep also values that cannot be decoded, which reads everything. It changes nothing, and
says for each finding what mends it. Exit code 1 when something is found.`,
		Example: `  pgweft fsck
  pgweft fsck support-42 --deep
  pgweft fsck --json | jq 'group_by(.problem) | map({problem: .[0].problem, found: length})'`,
		Args: cli.Usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			var findings []finding
			err := o.patiently("looking", func() error {
				return o.read(cmd.Context(), func(tx pgx.Tx, q *queries) error {
					var err error
					findings, err = o.check(cmd, tx, q, args, deep)
					return err
				})
			})
			if err != nil {
				return err
			}
			return o.writeFindings(findings)
		},
	}
	cmd.Flags().BoolVar(&deep, "deep", false, "decode every value as well")
	return cmd
}

// check refuses a thread of which there is nothing at all: it would be called sound for a slip of the finger.
func (o *options) check(cmd *cobra.Command, tx pgx.Tx, q *queries, args []string, deep bool) ([]finding, error) {
	var thread *string
	if len(args) == 1 {
		thread = &args[0]
	}
	findings, err := collect[finding](cmd.Context(), tx, q.fsck, thread, deep)
	if err != nil || thread == nil || len(findings) > 0 {
		return findings, err
	}
	namespaces, err := collect[namespace](cmd.Context(), tx, q.namespaces, *thread)
	if err == nil && len(namespaces) == 0 {
		return nil, missing(cmd.Context(), tx, q, *thread, "", "")
	}
	return findings, err
}

func (o *options) writeFindings(findings []finding) error {
	if o.json {
		if err := o.writeJSON(findings); err != nil {
			return err
		}
	}
	if len(findings) == 0 {
		if !o.json {
			o.printf("nothing wrong found\n")
		}
		return nil
	}
	if !o.json {
		o.renderFindings(findings)
	}
	return fmt.Errorf("%s found", count(int64(len(findings)), "problem"))
}

func (o *options) renderFindings(findings []finding) {
	t := newTable(o.env.Stdout, table.Row{"problem", "where", "what, and what mends it"})
	places := make([]string, len(findings))
	taken := 0
	for i := range findings {
		places[i] = findings[i].place()
		taken = max(taken, text.LongestLineLen(places[i]))
	}
	// The last column has what the others leave of a terminal's width.
	const problemWidth, gaps, least = 19, 6, 40
	width := 0
	if columns := o.env.Columns(); columns > 0 {
		width = max(columns-problemWidth-taken-gaps, least)
	}
	for i, f := range findings {
		what := wrapped(cell(f.Detail), width) + "\n" + wrapped(cell(f.Remedy), width)
		if i > 0 {
			t.AppendRow(table.Row{""})
		}
		t.AppendRow(table.Row{o.colour(red, cell(f.Problem)), places[i], what})
	}
	t.Render()
}

// wrapped breaks a line between words, so that what is to be copied stays whole where it can. Width 0 does not wrap.
func wrapped(line string, width int) string {
	if width == 0 {
		return line
	}
	return text.WrapSoft(line, width)
}

// place is what a finding is about, from the thread inwards.
func (f *finding) place() string {
	lines := []string{"thread " + cell(f.ThreadID)}
	if f.Namespace != "" {
		lines = append(lines, "namespace "+cell(f.Namespace))
	}
	if f.CheckpointID != nil {
		lines = append(lines, "checkpoint "+cell(*f.CheckpointID))
	}
	if f.Channel != nil {
		lines = append(lines, "channel "+cell(*f.Channel))
	}
	return strings.Join(lines, "\n")
}
