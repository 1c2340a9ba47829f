package main

import (
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/pgweft/pgweft/cmd/internal/cli"
)

// thread is a row of list_threads.
type thread struct {
	ThreadID           string          `db:"thread_id" json:"thread_id"`
	Status             string          `db:"status" json:"status"`
	Namespaces         int64           `db:"namespaces" json:"namespaces"`
	Checkpoints        int64           `db:"checkpoints" json:"checkpoints"`
	FirstActivity      time.Time       `db:"first_activity" json:"first_activity"`
	LastActivity       time.Time       `db:"last_activity" json:"last_activity"`
	NewestCheckpointID string          `db:"newest_checkpoint_id" json:"newest_checkpoint_id"`
	Metadata           json.RawMessage `db:"metadata" json:"metadata"`
}

func newThreads(o *options) *cobra.Command {
	var limit int64
	var filter, before string
	cmd := &cobra.Command{
		Use:   "threads",
		Short: "List threads, the most recently active first",
		Long: `List threads, the most recently active first. The status is that of the newest checkpoint of the root graph: interrupted
when a task waits for a human, error when one failed, otherwise idle.`,
		Example: `  pgweft threads --limit 100
  pgweft threads --filter '{"user_id": "u-17"}'
  pgweft threads --before "2026-04-01" --json | jq -r '.[].thread_id'`,
		Args: cli.Usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			filterArgument, err := jsonArgument("--filter", filter)
			if err != nil {
				return err
			}
			var threads []thread
			err = o.read(cmd.Context(), func(tx pgx.Tx, q *queries) error {
				threads, err = collect[thread](cmd.Context(), tx, q.threads, filterArgument, orNull(before), limit)
				return err
			})
			if err != nil {
				return err
			}
			return o.writeThreads(threads, limit)
		},
	}
	cmd.Flags().Int64Var(&limit, "limit", 20, "at most so many")
	cmd.Flags().StringVar(&filter, "filter", "", "JSON object that the metadata of the newest checkpoint contains")
	cmd.Flags().StringVar(&before, "before", "", "last active before this time, for the next page")
	return cmd
}

func (o *options) writeThreads(threads []thread, limit int64) error {
	for i := range threads {
		inUTC(&threads[i].FirstActivity, &threads[i].LastActivity)
	}
	if o.json {
		return o.writeJSON(threads)
	}
	if len(threads) == 0 {
		o.note("no threads")
		return nil
	}
	t := newTable(o.env.Stdout, table.Row{"thread", "status", "namespaces", "checkpoints", "first activity", "last activity"},
		"namespaces", "checkpoints")
	for _, row := range threads {
		status := row.Status
		if status == "error" {
			status = o.colour(red, status)
		}
		t.AppendRow(table.Row{
			cell(row.ThreadID), status, row.Namespaces, row.Checkpoints, o.ago(row.FirstActivity), o.ago(row.LastActivity),
		})
	}
	t.Render()
	if int64(len(threads)) == limit {
		o.note("There may be more: --before %q is the next page.", threads[len(threads)-1].LastActivity.Format(time.RFC3339Nano))
	}
	return nil
}

// jsonArgument is a JSON object on the command line, or null where there is none. The shell often takes its quotes away, so
// that is said before the database complains about the rest.
func jsonArgument(flag, text string) (*string, error) {
	if text == "" {
		return nil, nil
	}
	if !json.Valid([]byte(text)) {
		return nil, cli.Usagef(`%s is not JSON: %s; put it in single quotes: '{"key": "value"}'`, flag, text)
	}
	return &text, nil
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
