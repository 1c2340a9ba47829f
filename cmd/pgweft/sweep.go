package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/pgweft/pgweft/cmd/internal/cli"
)

// swept is what the procedure sweep leaves in the settings after each batch.
type swept struct {
	Done        bool   `json:"done"`
	Threads     int64  `json:"threads"`
	Checkpoints int64  `json:"checkpoints"`
	Rows        int64  `json:"rows"`
	Bytes       int64  `json:"bytes"`
	StoreItems  int64  `json:"store_items"`
	Position    string `json:"position"`
}

func newSweep(o *options) *cobra.Command {
	var dryRun bool
	var batchSize int
	var maxDuration, every string
	cmd := &cobra.Command{
		Use:   "sweep",
		Short: "Remove what retention policies, thread TTLs and store TTLs condemn",
		Long: `Remove what has had its time: expired items of the store, idle threads, and checkpoints that retention policies condemn
("pgweft policy"). It does not ask, because the policies are the decision; --dry-run shows what they would remove now, thread
by thread (expired items of the store are not counted there).

It works in batches, each committed. Interrupt it at any time: the batch under way is rolled back, what earlier batches
removed stays removed, and the next sweep goes on from there. One sweep runs at a time; another leaves the work to it.

With --every it stays and sweeps again and again, with that much time from the end of one sweep to the beginning of the next.
A sweep that fails is reported, and the next one tries again; an interrupt between two ends it with success. Several may
run for one database, on several machines. Where the server has pg_cron, it can sweep by itself: call the function
schedule_sweep.`,
		Example: `  pgweft sweep --dry-run
  pgweft sweep --max-duration "10 minutes"      # from cron, every night
  pgweft sweep --every "1 hour"                 # as a service, where there is neither cron nor pg_cron`,
		Args: cli.Usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			if dryRun && every != "" {
				return cli.Usagef("--dry-run looks once; leave out --every")
			}
			if dryRun {
				preview := removal{dryRun: true}
				return preview.run(ctx, o, func(db querier, q *queries, _ bool) ([]removed, error) {
					return collect[removed](ctx, db, q.sweepPreview)
				})
			}
			once := func() error { return judged(o.sweep(ctx, batchSize, orNull(maxDuration))) }
			if every != "" {
				return judged(o.sweepEvery(ctx, every, once))
			}
			return once()
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show what would go, and remove nothing")
	cmd.Flags().StringVar(&every, "every", "", "stay, and sweep again after this long (default: sweep once)")
	cmd.Flags().IntVar(&batchSize, "batch-size", 100, "threads, and items of the store, in one transaction")
	cmd.Flags().StringVar(&maxDuration, "max-duration", "", "begin no batch after this long (default: go on to the end)")
	return cmd
}

// sweepEvery sweeps until ctx ends. Wrong usage ends it; anything else may be mended by the time of the next sweep.
func (o *options) sweepEvery(ctx context.Context, every string, once func() error) error {
	pause, err := o.duration(ctx, every)
	if err != nil {
		return err
	}
	for {
		err := once()
		var usage cli.UsageError
		switch {
		case ctx.Err() != nil || errors.As(err, &usage):
			return err
		case err != nil:
			o.note("sweep failed, the next one is in %s: %s", every, explain(err))
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

// duration is how long an interval of Postgres is; months count 30 days.
func (o *options) duration(ctx context.Context, interval string) (time.Duration, error) {
	conn, _, err := o.connect(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer disconnect(ctx, conn)
	seconds, err := call[float64](ctx, conn, "select extract(epoch from $1::interval)::float8", interval)
	if err != nil {
		return 0, err
	}
	const longest = 10 * 365 * 24 * time.Hour
	if seconds <= 0 || seconds > longest.Seconds() {
		return 0, cli.Usagef("--every is %q; it must be more than nothing and at most ten years", interval)
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

func (o *options) sweep(ctx context.Context, batchSize int, maxDuration *string) error {
	conn, q, err := o.connect(ctx, func(message string) { o.note("%s", printable(message)) })
	if err != nil {
		return err
	}
	defer disconnect(ctx, conn)
	started, err := call[time.Time](ctx, conn, "select clock_timestamp()")
	if err != nil {
		return err
	}
	_, sweepErr := conn.Exec(ctx, q.sweep, batchSize, maxDuration)
	if sweepErr != nil && ctx.Err() == nil {
		return sweepErr
	}
	reporting, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	return errors.Join(o.reportSweep(reporting, conn, q, started), sweepErr)
}

func (o *options) reportSweep(ctx context.Context, conn *pgx.Conn, q *queries, started time.Time) error {
	row, err := call[json.RawMessage](ctx, conn, q.sweepRow, started)
	if errors.Is(err, pgx.ErrNoRows) {
		row, err = json.RawMessage("null"), nil
	}
	if err != nil {
		return fmt.Errorf("read what the sweep did: %w", err)
	}
	if o.json {
		return o.writeJSON(row)
	}
	var s *swept
	if err := json.Unmarshal(row, &s); err != nil {
		return fmt.Errorf("read what the sweep did: %w", err)
	}
	if s == nil {
		o.printf("no batch was finished; nothing was removed\n")
		return nil
	}
	o.printf("looked at %s; removed %s (%s, %s) and %s\n", count(s.Threads, "thread"), count(s.Checkpoints, "checkpoint"),
		count(s.Rows, "row"), size(s.Bytes), count(s.StoreItems, "store item"))
	if !s.Done {
		where := "the beginning"
		if s.Position != "" {
			where = "thread " + cell(s.Position)
		}
		o.printf("not finished; the next sweep goes on after %s\n", where)
	}
	return nil
}
