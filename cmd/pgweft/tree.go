package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/pgweft/pgweft/cmd/internal/cli"
)

// node is a row of thread_tree, with what the checkpoint's tasks wrote.
type node struct {
	Namespace    string    `db:"checkpoint_ns" json:"checkpoint_ns"`
	Ordinal      int       `db:"ordinal" json:"ordinal"`
	Depth        int       `db:"depth" json:"depth"`
	CheckpointID string    `db:"checkpoint_id" json:"checkpoint_id"`
	ParentID     *string   `db:"parent_checkpoint_id" json:"parent_checkpoint_id"`
	ChildCount   int       `db:"child_count" json:"child_count"`
	Branch       string    `db:"branch" json:"branch"`
	IsHead       bool      `db:"is_head" json:"is_head"`
	IsLatest     bool      `db:"is_latest" json:"is_latest"`
	Source       *string   `db:"source" json:"source"`
	Step         *int      `db:"step" json:"step"`
	CreatedAt    time.Time `db:"created_at" json:"created_at"`
	Drawing      string    `db:"drawing" json:"drawing"`
	Problem      *string   `db:"problem" json:"problem"`
	Writes       int64     `db:"writes" json:"writes"`
	Interrupts   int64     `db:"interrupts" json:"interrupts"`
	Errors       int64     `db:"errors" json:"errors"`
	Pinned       bool      `db:"pinned" json:"pinned"`
}

type namespace struct {
	Name        string `db:"checkpoint_ns"`
	Checkpoints int64  `db:"checkpoints"`
}

func newTree(o *options) *cobra.Command {
	var ns string
	var all bool
	cmd := &cobra.Command{
		Use:   "tree THREAD",
		Short: "Draw the checkpoints of a thread and its branches",
		Long: `Draw the checkpoints of a thread: each below its parent, a fork where one has several children. Writes are what nodes
wrote at that checkpoint. Marked are the latest checkpoint (from which the thread goes on), pins, interrupts, errors, and
parents that are missing or run in a circle.`,
		Example: `  pgweft tree support-42
  pgweft tree support-42 --namespace "researcher:5f3c..."
  pgweft tree support-42 --all --json`,
		Args: cli.Usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if all && cmd.Flags().Changed("namespace") {
				return cli.Usagef("--all and --namespace do not go together")
			}
			var nodes []node
			var namespaces []namespace
			err := o.read(cmd.Context(), func(tx pgx.Tx, q *queries) error {
				var err error
				if namespaces, err = collect[namespace](cmd.Context(), tx, q.namespaces, args[0]); err != nil {
					return err
				}
				nodes, err = drawn(cmd.Context(), tx, q, args[0], namesToDraw(namespaces, ns, all))
				return err
			})
			if err != nil {
				return err
			}
			if o.json {
				return o.writeJSON(nodes)
			}
			o.writeTrees(nodes)
			if !all && !cmd.Flags().Changed("namespace") {
				o.noteOthers(namespaces)
			}
			return nil
		},
	}
	namespaceFlag(cmd, &ns)
	cmd.Flags().BoolVar(&all, "all", false, "draw every namespace, one after the other")
	return cmd
}

func namesToDraw(namespaces []namespace, name string, all bool) []string {
	if !all || len(namespaces) == 0 {
		return []string{name}
	}
	names := make([]string, len(namespaces))
	for i, ns := range namespaces {
		names[i] = ns.Name
	}
	return names
}

func drawn(ctx context.Context, tx pgx.Tx, q *queries, threadID string, namespaces []string) ([]node, error) {
	nodes := []node{}
	for _, ns := range namespaces {
		found, err := collect[node](ctx, tx, q.tree, threadID, ns)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, missing(ctx, tx, q, threadID, ns, "")
		}
		nodes = append(nodes, found...)
	}
	for i := range nodes {
		inUTC(&nodes[i].CreatedAt)
	}
	return nodes, nil
}

// missing is the error about a checkpoint that is not there, in the words of the database; an empty id is any checkpoint.
func missing(ctx context.Context, tx pgx.Tx, q *queries, threadID, ns, checkpointID string) error {
	_, err := tx.Exec(ctx, q.rejectMissing, threadID, ns, orNull(checkpointID))
	if err == nil {
		return fmt.Errorf("thread %q has no such checkpoint", threadID)
	}
	return err
}

func (o *options) writeTrees(nodes []node) {
	for len(nodes) > 0 {
		n := 1
		for n < len(nodes) && nodes[n].Namespace == nodes[0].Namespace {
			n++
		}
		if ns := nodes[0].Namespace; ns != "" {
			o.printf("%s\n", o.colour(bold, "namespace "+cell(ns)))
		}
		o.writeTree(nodes[:n])
		nodes = nodes[n:]
		if len(nodes) > 0 {
			o.printf("\n")
		}
	}
}

func (o *options) writeTree(nodes []node) {
	t := newTable(o.env.Stdout, table.Row{"checkpoint", "step", "source", "saved", "writes", "notes"}, "step", "writes")
	for _, n := range nodes {
		step := "-"
		if n.Step != nil {
			step = fmt.Sprint(*n.Step)
		}
		t.AppendRow(table.Row{cell(n.Drawing), step, orDash(n.Source), o.exactly(n.CreatedAt) + n.CreatedAt.Format(".000"), n.Writes, o.notes(&n)})
	}
	t.Render()
}

// notes is what stands out about a checkpoint.
func (o *options) notes(n *node) string {
	var notes []string
	if n.IsLatest {
		notes = append(notes, o.colour(bold, "← latest"))
	}
	if n.Pinned {
		notes = append(notes, "pinned")
	}
	if n.Interrupts > 0 {
		notes = append(notes, "interrupt")
	}
	if n.Errors > 0 {
		notes = append(notes, o.colour(red, "error"))
	}
	if n.Problem != nil {
		problem := *n.Problem
		if n.ParentID != nil {
			problem += " " + cell(*n.ParentID)
		}
		notes = append(notes, o.colour(red, problem))
	}
	return strings.Join(notes, ", ")
}

func (o *options) noteOthers(namespaces []namespace) {
	var others []namespace
	for _, ns := range namespaces {
		if ns.Name != "" {
			others = append(others, ns)
		}
	}
	if len(others) == 0 {
		return
	}
	const shown = 10
	o.printf("\n%s below (--namespace draws one, --all draws all):\n", count(int64(len(others)), "subgraph namespace"))
	for _, ns := range others[:min(shown, len(others))] {
		o.printf("  %s  %s\n", cell(ns.Name), o.colour(faint, count(ns.Checkpoints, "checkpoint")))
	}
	if len(others) > shown {
		o.printf("  … and %d more\n", len(others)-shown)
	}
}
