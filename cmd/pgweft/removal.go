package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
)

// removed is what went from one thread, or would: a row of prune, delete_for_runs and sweep_preview.
type removed struct {
	ThreadID    string `db:"thread_id" json:"thread_id"`
	Checkpoints int64  `db:"checkpoints" json:"checkpoints"`
	Blobs       int64  `db:"checkpoint_blobs" json:"checkpoint_blobs"`
	Writes      int64  `db:"checkpoint_writes" json:"checkpoint_writes"`
	Bytes       int64  `db:"bytes" json:"bytes"`
	Kept        int64  `db:"kept" json:"kept"`
}

func total(rows []removed) removed {
	var sum removed
	for _, r := range rows {
		sum.Checkpoints += r.Checkpoints
		sum.Blobs += r.Blobs
		sum.Writes += r.Writes
		sum.Bytes += r.Bytes
		sum.Kept += r.Kept
	}
	return sum
}

func (r *removed) nothing() bool { return r.Checkpoints+r.Blobs+r.Writes == 0 }

// removal is a command that removes something: it counts first, asks, and only then removes.
type removal struct {
	dryRun, yes bool
}

func (r *removal) addFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&r.dryRun, "dry-run", false, "count what would go, and remove nothing")
	cmd.Flags().BoolVar(&r.yes, "yes", false, "do not ask")
}

// run calls the function through query, which counts only where it is told to be dry.
func (r *removal) run(ctx context.Context, o *options,
	query func(db querier, q *queries, dry bool) ([]removed, error),
) error {
	count := func() (rows []removed, err error) {
		err = o.patiently("counting what would go", func() error {
			return o.read(ctx, func(tx pgx.Tx, q *queries) error {
				rows, err = query(tx, q, true)
				return err
			})
		})
		return rows, err
	}
	if r.dryRun {
		rows, err := count()
		if err != nil {
			return err
		}
		return o.writeRemoved(rows, "dry run: nothing was removed")
	}
	if !r.yes {
		rows, err := count()
		if err != nil {
			return err
		}
		sum := total(rows)
		if sum.nothing() {
			return o.writeRemoved(rows, "nothing to remove")
		}
		if err := o.confirmRemoval(ctx, rows); err != nil {
			return err
		}
	}
	var rows []removed
	err := o.patiently("removing", func() error {
		return o.write(ctx, func(conn *pgx.Conn, q *queries) error {
			var err error
			rows, err = query(conn, q, false)
			return err
		})
	})
	if err != nil {
		return err
	}
	return o.writeRemoved(rows, "")
}

// confirmRemoval shows on standard error what would go, and has the user type how many checkpoints that is.
func (o *options) confirmRemoval(ctx context.Context, rows []removed) error {
	sum := total(rows)
	if o.env.Interactive() {
		renderRemoved(newTable(o.env.Stderr, removedHeader, removedNumbers...), rows)
	}
	consequence := fmt.Sprintf("this removes %s, %s and %s (%s) for good",
		count(sum.Checkpoints, "checkpoint"), count(sum.Blobs, "value"), count(sum.Writes, "write"), size(sum.Bytes))
	return o.env.Confirm(ctx, consequence, "Type the number of checkpoints to go on", fmt.Sprint(sum.Checkpoints))
}

func (o *options) writeRemoved(rows []removed, note string) error {
	if o.json {
		return o.writeJSON(rows)
	}
	if len(rows) > 0 {
		renderRemoved(newTable(o.env.Stdout, removedHeader, removedNumbers...), rows)
	}
	if sum := total(rows); sum.Kept > 0 {
		o.note("kept: %s that were to go and had to stay: they are pinned, or others need them to be read",
			count(sum.Kept, "checkpoint"))
	}
	switch {
	case note != "":
		o.note("%s", note)
	case len(rows) == 0:
		o.note("nothing to remove")
	}
	return nil
}

var (
	removedHeader  = table.Row{"thread", "checkpoints", "values", "writes", "size", "kept"}
	removedNumbers = []string{"checkpoints", "values", "writes", "size", "kept"}
)

func renderRemoved(t table.Writer, rows []removed) {
	cells := func(name string, r removed) table.Row {
		return table.Row{name, r.Checkpoints, r.Blobs, r.Writes, size(r.Bytes), r.Kept}
	}
	for _, r := range rows {
		t.AppendRow(cells(cell(r.ThreadID), r))
	}
	if len(rows) > 1 {
		t.AppendFooter(cells("total", total(rows)))
	}
	t.Render()
}
