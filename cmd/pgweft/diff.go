package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/pgweft/pgweft/cmd/internal/cli"
)

// change is a row of diff_checkpoints.
type change struct {
	Channel  string          `db:"channel" json:"channel"`
	Change   string          `db:"change" json:"change"`
	AVersion *string         `db:"a_version" json:"a_version"`
	BVersion *string         `db:"b_version" json:"b_version"`
	ABytes   *int64          `db:"a_bytes" json:"a_bytes"`
	BBytes   *int64          `db:"b_bytes" json:"b_bytes"`
	AValue   json.RawMessage `db:"a_value" json:"a_value"`
	BValue   json.RawMessage `db:"b_value" json:"b_value"`
}

func newDiff(o *options) *cobra.Command {
	var ns string
	var full bool
	cmd := &cobra.Command{
		Use:   "diff THREAD A B",
		Short: "Compare the state of two checkpoints, channel by channel",
		Long: `Compare the state of two checkpoints of a thread, channel by channel: what B has that A has not (+), the other way round
(-), and what changed (~), with the lines that differ. They need not be ancestors of each other.`,
		Example: `  pgweft diff support-42 1f0c2d3e-... 1f0c2d40-...`,
		Args:    cli.Usage(cobra.ExactArgs(3)),
		RunE: func(cmd *cobra.Command, args []string) error {
			var changes []change
			err := o.read(cmd.Context(), func(tx pgx.Tx, q *queries) error {
				var err error
				changes, err = collect[change](cmd.Context(), tx, q.diff, args[0], ns, args[1], args[2])
				return err
			})
			if err != nil {
				return err
			}
			for i := range changes {
				changes[i].onlyWhatIsThere()
			}
			if o.json {
				return o.writeJSON(changes)
			}
			if len(changes) == 0 {
				o.note("no difference in the values of the channels")
			}
			for i := range changes {
				o.writeChange(&changes[i], full)
			}
			return nil
		},
	}
	namespaceFlag(cmd, &ns)
	cmd.Flags().BoolVar(&full, "full", false, "show long differences whole")
	return cmd
}

// onlyWhatIsThere leaves no value on the side where the channel has none.
func (c *change) onlyWhatIsThere() {
	switch c.Change {
	case "added":
		c.AValue, c.ABytes = nil, nil
	case "removed":
		c.BValue, c.BBytes = nil, nil
	}
}

func (o *options) writeChange(c *change, full bool) {
	sign := map[string]string{"added": o.colour(green, "+"), "removed": o.colour(red, "-"), "changed": "~"}[c.Change]
	o.printf("%s %s  %s\n", sign, o.colour(bold, cell(c.Channel)), o.colour(faint, c.Change+c.versions()+c.sizes()))
	for _, line := range cut(c.lines(), full) {
		switch {
		case strings.HasPrefix(line, "+"):
			line = o.colour(green, line)
		case strings.HasPrefix(line, "-"):
			line = o.colour(red, line)
		}
		o.printf("    %s\n", line)
	}
}

func (c *change) versions() string {
	return between(", version ", c.AVersion, c.BVersion, shortVersion)
}

func (c *change) sizes() string {
	return between(", ", c.ABytes, c.BBytes, size)
}

// between is what two things are, those that are.
func between[T any](intro string, a, b *T, text func(T) string) string {
	switch {
	case a == nil && b == nil:
		return ""
	case a == nil:
		return intro + text(*b)
	case b == nil:
		return intro + text(*a)
	}
	return intro + text(*a) + " → " + text(*b)
}

// lines are the lines that differ, with a sign, and those around them.
func (c *change) lines() []string {
	a, b := readableOrNothing(c.AValue), readableOrNothing(c.BValue)
	if slices.Equal(a, b) && c.AValue != nil && c.BValue != nil {
		// What differs is left out for people: the id of a message, say.
		a, b = indented(c.AValue), indented(c.BValue)
	}
	if slices.Equal(a, b) {
		return []string{"(the same value, stored in another way)"}
	}
	return signed(a, b)
}

func readableOrNothing(value json.RawMessage) []string {
	if value == nil {
		return nil
	}
	return readable(value)
}

func signed(a, b []string) []string {
	before, after := joined(a), joined(b)
	const around = 2
	diff, err := udiff.ToUnifiedDiff("", "", before, udiff.Lines(before, after), around)
	if err != nil {
		return []string{fmt.Sprintf("(the difference cannot be shown: %v)", err)}
	}
	var lines []string
	for i, hunk := range diff.Hunks {
		if i > 0 || hunk.FromLine > 1 {
			lines = append(lines, "  …")
		}
		for _, line := range hunk.Lines {
			sign := map[udiff.OpKind]string{udiff.Delete: "- ", udiff.Insert: "+ ", udiff.Equal: "  "}[line.Kind]
			lines = append(lines, sign+strings.TrimSuffix(line.Content, "\n"))
		}
	}
	return lines
}

func joined(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}
