package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/pgweft/pgweft/cmd/internal/cli"
)

// retention is everything that decides what stays: a policy, TTLs of single threads, and pins.
type retention struct {
	Policies []policy    `json:"retention_policies"`
	TTLs     []threadTTL `json:"thread_ttls"`
	Pins     []pin       `json:"checkpoint_pins"`
}

type policy struct {
	Name           string          `db:"name" json:"name"`
	ThreadPattern  *string         `db:"thread_pattern" json:"thread_pattern"`
	MetadataFilter json.RawMessage `db:"metadata_filter" json:"metadata_filter"`
	IdleTTL        *string         `db:"idle_ttl" json:"idle_ttl"`
	MaxAge         *string         `db:"max_age" json:"max_age"`
	KeepLast       *int            `db:"keep_last" json:"keep_last"`
	Enabled        bool            `db:"enabled" json:"enabled"`
	CreatedAt      time.Time       `db:"created_at" json:"created_at"`
}

type threadTTL struct {
	ThreadID  string    `db:"thread_id" json:"thread_id"`
	IdleTTL   string    `db:"idle_ttl" json:"idle_ttl"`
	CreatedAt time.Time `db:"created_at" json:"created_at"`
}

type pin struct {
	ThreadID     string    `db:"thread_id" json:"thread_id"`
	Namespace    string    `db:"checkpoint_ns" json:"checkpoint_ns"`
	CheckpointID string    `db:"checkpoint_id" json:"checkpoint_id"`
	Reason       *string   `db:"reason" json:"reason"`
	PinnedBy     string    `db:"pinned_by" json:"pinned_by"`
	CreatedAt    time.Time `db:"created_at" json:"created_at"`
}

func newPolicy(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "List, set and drop retention policies",
		Long: `List, set and drop the retention policies that "pgweft sweep" applies. Where several match a thread, the strictest counts;
the TTL of a single thread ("pgweft ttl") stands above them, and what is pinned ("pgweft pin") always stays.`,
	}
	cli.AsGroup(cmd)
	cmd.AddCommand(newPolicyList(o), newPolicySet(o), newPolicyDrop(o))
	return cmd
}

func newPolicyList(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List everything that decides what stays: policies, thread TTLs and pins",
		Args:  cli.Usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			var r retention
			err := o.read(ctx, func(tx pgx.Tx, q *queries) (err error) {
				if r.Policies, err = collect[policy](ctx, tx, q.policies); err != nil {
					return err
				}
				if r.TTLs, err = collect[threadTTL](ctx, tx, q.ttls); err != nil {
					return err
				}
				r.Pins, err = collect[pin](ctx, tx, q.pins)
				return err
			})
			if err != nil {
				return err
			}
			return o.writeRetention(&r)
		},
	}
}

func (o *options) writeRetention(r *retention) error {
	for i := range r.Policies {
		inUTC(&r.Policies[i].CreatedAt)
	}
	for i := range r.TTLs {
		inUTC(&r.TTLs[i].CreatedAt)
	}
	for i := range r.Pins {
		inUTC(&r.Pins[i].CreatedAt)
	}
	if o.json {
		return o.writeJSON(r)
	}
	if len(r.Policies) == 0 {
		o.note(`no retention policies: "pgweft policy set" makes one`)
	} else {
		o.writePolicies(r.Policies)
	}
	if len(r.TTLs) > 0 {
		o.printf("\n")
		t := newTable(o.env.Stdout, table.Row{"thread", "idle ttl", "since"})
		for _, row := range r.TTLs {
			t.AppendRow(table.Row{cell(row.ThreadID), row.IdleTTL, o.exactly(row.CreatedAt)})
		}
		t.Render()
	}
	if len(r.Pins) > 0 {
		o.printf("\n")
		t := newTable(o.env.Stdout, table.Row{"pinned thread", "namespace", "checkpoint", "reason", "by", "since"})
		for _, row := range r.Pins {
			t.AppendRow(table.Row{
				cell(row.ThreadID), orDash(&row.Namespace), cell(row.CheckpointID), orDash(row.Reason), cell(row.PinnedBy),
				o.exactly(row.CreatedAt),
			})
		}
		t.Render()
	}
	return nil
}

func (o *options) writePolicies(policies []policy) {
	t := newTable(o.env.Stdout, table.Row{"policy", "threads", "metadata", "idle ttl", "max age", "keep last", "enabled"}, "keep last")
	for _, p := range policies {
		threads, metadata, keepLast, enabled := "all", "any", "-", "yes"
		if p.ThreadPattern != nil {
			threads = cell(*p.ThreadPattern)
		}
		if p.MetadataFilter != nil {
			metadata = cell(string(p.MetadataFilter))
		}
		if p.KeepLast != nil {
			keepLast = fmt.Sprint(*p.KeepLast)
		}
		if !p.Enabled {
			enabled = "no"
		}
		t.AppendRow(table.Row{cell(p.Name), threads, metadata, orDash(p.IdleTTL), orDash(p.MaxAge), keepLast, enabled})
	}
	t.Render()
}

func newPolicySet(o *options) *cobra.Command {
	var pattern, filter, idleTTL, maxAge string
	var keepLast int
	var disabled bool
	cmd := &cobra.Command{
		Use:   "set NAME",
		Short: "Make or replace a retention policy",
		Long: `Make a retention policy, or replace the one of that name whole. It needs at least one of --idle-ttl, --max-age and
--keep-last; --thread-pattern and --metadata-filter select the threads it is for, and all threads without them.
Nothing is removed before the next sweep: "pgweft sweep --dry-run" shows what that would be.`,
		Example: `  pgweft policy set trial --thread-pattern 'trial-%' --idle-ttl "14 days"
  pgweft policy set default --max-age "90 days" --keep-last 50`,
		Args: cli.Usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			filterArgument, err := jsonArgument("--metadata-filter", filter)
			if err != nil {
				return err
			}
			var keepLastArgument *int
			if cmd.Flags().Changed("keep-last") {
				keepLastArgument = &keepLast
			}
			return o.set(cmd, func(conn *pgx.Conn, q *queries) error {
				_, err := conn.Exec(cmd.Context(), q.setPolicy, args[0], orNull(pattern), filterArgument, orNull(idleTTL),
					orNull(maxAge), keepLastArgument, !disabled)
				return err
			}, fmt.Sprintf("policy %s is set; \"pgweft sweep --dry-run\" shows what would go", cell(args[0])))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&pattern, "thread-pattern", "", "LIKE pattern on thread ids")
	flags.StringVar(&filter, "metadata-filter", "", "JSON object that the metadata of a thread's newest checkpoint contains")
	flags.StringVar(&idleTTL, "idle-ttl", "", "a thread goes when nothing was put for this long")
	flags.StringVar(&maxAge, "max-age", "", "a checkpoint goes at this age, unless it is the newest of its namespace")
	flags.IntVar(&keepLast, "keep-last", 0, "so many newest checkpoints of each namespace stay")
	flags.BoolVar(&disabled, "disabled", false, "set the policy without applying it")
	return cmd
}

func newPolicyDrop(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "drop NAME",
		Short: "Take a retention policy away",
		Args:  cli.Usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.set(cmd, func(conn *pgx.Conn, q *queries) error {
				found, err := call[bool](cmd.Context(), conn, q.dropPolicy, args[0])
				if err == nil && !found {
					return fmt.Errorf("there is no policy %q; \"pgweft policy list\" shows those there are", args[0])
				}
				return err
			}, fmt.Sprintf("policy %s is dropped", cell(args[0])))
		},
	}
}

// set changes a setting and says so.
func (o *options) set(cmd *cobra.Command, change func(*pgx.Conn, *queries) error, done string) error {
	if err := o.write(cmd.Context(), change); err != nil {
		return err
	}
	if o.json {
		return o.writeJSON(map[string]string{"result": done})
	}
	o.printf("%s\n", done)
	return nil
}

func newTTL(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "ttl THREAD DURATION|none",
		Short: "Let a thread go once it was idle for so long",
		Long: `Let "pgweft sweep" remove a thread once nothing was put for this long, whatever the policies say of idle threads; "none"
takes the TTL away. The thread need not exist yet.`,
		Example: `  pgweft ttl support-42 "7 days"
  pgweft ttl support-42 none`,
		Args: cli.Usage(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			duration, done := &args[1], fmt.Sprintf("thread %s goes after %s without activity", cell(args[0]), cell(args[1]))
			if args[1] == "none" {
				duration, done = nil, fmt.Sprintf("thread %s has no TTL of its own", cell(args[0]))
			}
			return o.set(cmd, func(conn *pgx.Conn, q *queries) error {
				_, err := conn.Exec(cmd.Context(), q.setTTL, args[0], duration)
				return err
			}, done)
		},
	}
}

func newPin(o *options) *cobra.Command {
	var ns, reason string
	cmd := &cobra.Command{
		Use:   "pin THREAD CHECKPOINT",
		Short: "Keep a checkpoint from every removal",
		Long: `Keep a checkpoint, and what it needs to be read, from every removal: sweep, prune, deletion of runs and of the thread. Pinning
again changes the reason. "pgweft policy list" shows all pins, "pgweft tree" marks those of a thread.`,
		Example: `  pgweft pin support-42 1f0c2d3e-... --reason "complaint 2026-117"`,
		Args:    cli.Usage(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.set(cmd, func(conn *pgx.Conn, q *queries) error {
				_, err := conn.Exec(cmd.Context(), q.pin, args[0], ns, args[1], orNull(reason))
				return err
			}, fmt.Sprintf("checkpoint %s of thread %s is pinned", cell(args[1]), cell(args[0])))
		},
	}
	namespaceFlag(cmd, &ns)
	cmd.Flags().StringVar(&reason, "reason", "", "why it has to stay, for those who find the pin")
	return cmd
}

func newUnpin(o *options) *cobra.Command {
	var ns string
	cmd := &cobra.Command{
		Use:   "unpin THREAD CHECKPOINT",
		Short: "Take a pin away",
		Args:  cli.Usage(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.set(cmd, func(conn *pgx.Conn, q *queries) error {
				found, err := call[bool](cmd.Context(), conn, q.unpin, args[0], ns, args[1])
				if err == nil && !found {
					return fmt.Errorf("checkpoint %q of thread %q is not pinned; \"pgweft policy list\" shows all pins", args[1], args[0])
				}
				return err
			}, fmt.Sprintf("checkpoint %s of thread %s is no longer pinned", cell(args[1]), cell(args[0])))
		},
	}
	namespaceFlag(cmd, &ns)
	return cmd
}
