package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/cmd/internal/cli"
)

// savedCheckpoint is a row of list_checkpoints without its values, and then all that belongs to it.
type savedCheckpoint struct {
	ThreadID     string          `db:"thread_id" json:"thread_id"`
	Namespace    string          `db:"checkpoint_ns" json:"checkpoint_ns"`
	CheckpointID string          `db:"checkpoint_id" json:"checkpoint_id"`
	ParentID     *string         `db:"parent_checkpoint_id" json:"parent_checkpoint_id"`
	CreatedAt    time.Time       `db:"created_at" json:"created_at"`
	Metadata     json.RawMessage `db:"metadata" json:"metadata"`
	Checkpoint   json.RawMessage `db:"checkpoint" json:"checkpoint"`

	// Next are the nodes to run; null where that cannot be told, for the reason in nextUnknown.
	Next   []string       `db:"-" json:"next"`
	Values []channelValue `db:"-" json:"values"`
	Delta  []deltaValue   `db:"-" json:"delta"`
	Writes []pendingWrite `db:"-" json:"writes"`

	nextUnknown error
}

// channelValue is a row of checkpoint_values, decoded.
type channelValue struct {
	Channel string          `db:"channel" json:"channel"`
	Version json.RawMessage `db:"version" json:"version"`
	stored
}

// deltaValue is a row of delta_channel_history, decoded.
type deltaValue struct {
	Channel      string  `db:"channel" json:"channel"`
	Kind         string  `db:"kind" json:"kind"`
	CheckpointID string  `db:"checkpoint_id" json:"checkpoint_id"`
	TaskID       *string `db:"task_id" json:"task_id"`
	TaskPath     *string `db:"task_path" json:"task_path"`
	Idx          *int    `db:"idx" json:"idx"`
	stored
}

// pendingWrite is an element of pending_writes, decoded.
type pendingWrite struct {
	TaskID   string `db:"task_id" json:"task_id"`
	TaskPath string `db:"task_path" json:"task_path"`
	Idx      int    `db:"idx" json:"idx"`
	Channel  string `db:"channel" json:"channel"`
	// Node is the node whose task wrote it; empty where that cannot be told.
	Node string `db:"-" json:"node"`
	stored
}

func newShow(o *options) *cobra.Command {
	var ns string
	var full bool
	cmd := &cobra.Command{
		Use:   "show THREAD [CHECKPOINT]",
		Short: "Show one checkpoint: its state decoded, its writes, what runs next",
		Long: `Show one checkpoint, the newest unless given: where it comes from, which nodes run next, the value of every channel, and
what the tasks of the superstep after it wrote. A delta channel, which is not stored as a whole, is shown as the stored
value it starts from and the writes since.

Values are decoded: messages as who said what, everything else as JSON. Encrypted and pickled values cannot be, and say
so. Long ones are cut; --full and --json leave nothing out.`,
		Example: `  pgweft show support-42
  pgweft show support-42 1f0c2d3e-... --full
  pgweft show support-42 --json | jq '.values[] | select(.channel == "messages").value'`,
		Args: cli.Usage(cobra.RangeArgs(1, 2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			id := ""
			if len(args) == 2 {
				id = args[1]
			}
			var saved *savedCheckpoint
			err := o.read(cmd.Context(), func(tx pgx.Tx, q *queries) error {
				var err error
				saved, err = o.loadCheckpoint(cmd.Context(), tx, q, args[0], ns, id)
				return err
			})
			if err != nil {
				return err
			}
			if o.json {
				return o.writeJSON(saved)
			}
			o.writeCheckpoint(saved, full)
			return nil
		},
	}
	namespaceFlag(cmd, &ns)
	cmd.Flags().BoolVar(&full, "full", false, "show long values whole")
	return cmd
}

func (o *options) loadCheckpoint(ctx context.Context, tx pgx.Tx, q *queries, threadID, ns, id string) (*savedCheckpoint, error) {
	found, err := collect[savedCheckpoint](ctx, tx, q.checkpoint, threadID, ns, orNull(id))
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, missing(ctx, tx, q, threadID, ns, id)
	}
	saved := &found[0]
	inUTC(&saved.CreatedAt)
	saved.Values, err = decoded[channelValue](ctx, tx, q, q.values, threadID, ns, string(saved.Checkpoint))
	if err != nil {
		return nil, err
	}
	stored := make([]string, len(saved.Values))
	for i, v := range saved.Values {
		stored[i] = v.Channel
	}
	saved.Delta, err = decoded[deltaValue](ctx, tx, q, q.delta, threadID, ns, saved.CheckpointID, stored)
	if err != nil {
		return nil, err
	}
	saved.Writes, err = decoded[pendingWrite](ctx, tx, q, q.writes, threadID, ns, saved.CheckpointID)
	if err != nil {
		return nil, err
	}
	// The newest is asked for as such: then tasks that are done already are not next.
	return saved, o.addState(ctx, tx, saved, checkpoint.Config{ThreadID: threadID, Namespace: ns, CheckpointID: id})
}

// addState adds what follows from the rest. If that cannot be told, the rest is shown all the same.
func (o *options) addState(ctx context.Context, tx pgx.Tx, saved *savedCheckpoint, config checkpoint.Config) error {
	state, err := o.stateOf(ctx, tx, config)
	if err != nil {
		saved.nextUnknown = err
		return ctx.Err()
	}
	saved.Next = append([]string{}, state.Next...)
	nodes := map[string]string{}
	for _, task := range state.Tasks {
		nodes[task.ID] = task.Name
	}
	for i := range saved.Writes {
		saved.Writes[i].Node = nodes[saved.Writes[i].TaskID]
	}
	return nil
}

func (o *options) writeCheckpoint(c *savedCheckpoint, full bool) {
	var metadata struct {
		Source string          `json:"source"`
		Step   json.RawMessage `json:"step"`
	}
	_ = json.Unmarshal(c.Metadata, &metadata) // what cannot be read is shown below as it is
	o.fact("thread", cell(c.ThreadID))
	if c.Namespace != "" {
		o.fact("namespace", cell(c.Namespace))
	}
	o.fact("checkpoint", cell(c.CheckpointID))
	o.fact("parent", orDash(c.ParentID))
	o.fact("saved", fmt.Sprintf("%s (%s)", o.exactly(c.CreatedAt), o.ago(c.CreatedAt)))
	if metadata.Source != "" {
		o.fact("source", fmt.Sprintf("%s, step %s", cell(metadata.Source), cell(string(metadata.Step))))
	}
	o.fact("next", c.nextText())
	o.section("METADATA")
	o.indentedLines("  ", shown(c.Metadata, full))

	o.section("VALUES")
	if len(c.Values) == 0 {
		o.printf("  (none)\n")
	}
	for _, v := range c.Values {
		o.writeStored("  ", cell(v.Channel), versionText(v.Version), v.stored, full)
	}
	o.writeValueless(c)
	o.writeDelta(c.Delta, full)
	o.writeWrites(c.Writes, full)
}

func (c *savedCheckpoint) nextText() string {
	switch {
	case c.nextUnknown != nil:
		return "? (" + cell(c.nextUnknown.Error()) + ")"
	case len(c.Next) == 0:
		return "- (nothing is left to run)"
	}
	return cell(strings.Join(c.Next, ", "))
}

func (o *options) fact(name, value string) {
	o.printf("%s %s\n", o.colour(faint, fmt.Sprintf("%-11s", name)), value)
}

func (o *options) section(name string) { o.printf("\n%s\n", o.colour(bold, name)) }

func (o *options) indentedLines(indent string, lines []string) {
	for _, line := range lines {
		o.printf("%s\n", strings.TrimRight(indent+line, " "))
	}
}

// writeStored writes a value under a heading with what is known about it.
func (o *options) writeStored(indent, heading, about string, s stored, full bool) {
	facts := []string{}
	if about != "" {
		facts = append(facts, about)
	}
	switch {
	case s.Type != nil && s.Bytes != nil:
		facts = append(facts, cell(*s.Type)+" "+size(*s.Bytes))
	case s.Value != nil:
		facts = append(facts, "inline")
	}
	o.printf("%s%s  %s\n", indent, o.colour(bold, heading), o.colour(faint, strings.Join(facts, ", ")))
	switch {
	case s.Damage != "":
		o.printf("%s  %s\n", indent, o.colour(red, "damaged: "+cell(s.Damage)))
	case s.Value == nil:
		o.printf("%s  (no value)\n", indent)
	default:
		o.indentedLines(indent+"  ", shown(s.Value, full))
	}
}

// versionText is a channel version as people compare it: text versions of Python are a counter, padded, and a random
// fraction.
func versionText(version json.RawMessage) string {
	var s string
	if json.Unmarshal(version, &s) != nil {
		s = string(version)
	}
	if s == "" || s == "null" {
		return ""
	}
	return "version " + shortVersion(s)
}

func shortVersion(s string) string {
	whole, _, found := strings.Cut(s, ".")
	if short := strings.TrimLeft(whole, "0"); found && len(whole) == 32 && short != "" {
		return short
	}
	return cell(s)
}

// writeValueless names the channels that had a value once and have none now.
func (o *options) writeValueless(c *savedCheckpoint) {
	var state struct {
		Versions map[string]json.RawMessage `json:"channel_versions"`
	}
	if json.Unmarshal(c.Checkpoint, &state) != nil {
		return
	}
	for _, v := range c.Values {
		delete(state.Versions, v.Channel)
	}
	for _, d := range c.Delta {
		delete(state.Versions, d.Channel)
	}
	if len(state.Versions) == 0 {
		return
	}
	var names []string
	for _, channel := range slices.Sorted(maps.Keys(state.Versions)) {
		names = append(names, cell(channel)+" "+strings.TrimPrefix(versionText(state.Versions[channel]), "version "))
	}
	o.printf("  %s\n", o.colour(faint, "without a value, with their versions: "+strings.Join(names, ", ")))
}

func (o *options) writeDelta(rows []deltaValue, full bool) {
	channel := ""
	for _, row := range rows {
		if row.Channel != channel {
			channel = row.Channel
			o.section("DELTA CHANNEL " + cell(channel))
		}
		heading := "starts from the value stored at " + cell(row.CheckpointID)
		if row.Kind == "write" {
			heading = fmt.Sprintf("task %s wrote at %s", orDash(row.TaskID), cell(row.CheckpointID))
		}
		o.writeStored("  ", heading, "", row.stored, full)
	}
}

func (o *options) writeWrites(writes []pendingWrite, full bool) {
	if len(writes) == 0 {
		return
	}
	o.section("WRITES")
	for i, w := range writes {
		if i == 0 || writes[i-1].TaskID != w.TaskID || writes[i-1].TaskPath != w.TaskPath {
			path := ""
			if w.TaskPath != "" {
				path = "  " + o.colour(faint, "path "+cell(w.TaskPath))
			}
			node := ""
			if w.Node != "" {
				node = " of " + o.colour(bold, cell(w.Node))
			}
			o.printf("  task %s%s%s\n", cell(w.TaskID), node, path)
		}
		o.writeStored("    ", cell(w.Channel), "", w.stored, full)
	}
}
