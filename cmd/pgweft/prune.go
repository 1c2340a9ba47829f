package main

import (
	"github.com/spf13/cobra"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/cmd/internal/cli"
)

func newPrune(o *options) *cobra.Command {
	var r removal
	var keep int
	var keepHeads, everything bool
	cmd := &cobra.Command{
		Use:   "prune THREAD...",
		Short: "Remove old checkpoints of threads, or whole threads",
		Long: `Remove the checkpoints of threads except the newest, together with the values and writes nothing else needs. In each
namespace the newest N (--keep) stay, and branches that wait for a human; with --keep-heads the end of every branch, so that
each can be resumed. Whatever stays reads back as before: what is pinned, and what a delta channel is rebuilt from, stays
too, and is counted as kept. --delete removes everything that is not pinned.

It first counts what would go, and asks; --yes answers. Without a terminal it refuses unless --yes is given.`,
		Example: `  pgweft prune support-42 --dry-run
  pgweft prune support-42 support-43 --keep 10 --keep-heads
  pgweft prune support-42 --delete --yes`,
		Args: cli.Usage(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			strategy := checkpoint.KeepLatest
			if everything {
				strategy = checkpoint.PruneAll
				if cmd.Flags().Changed("keep") || keepHeads {
					return cli.Usagef("--delete keeps nothing; leave --keep and --keep-heads out")
				}
			}
			ctx := cmd.Context()
			return r.run(ctx, o, func(db querier, q *queries, dry bool) ([]removed, error) {
				return collect[removed](ctx, db, q.prune, args, string(strategy), keep, dry, keepHeads)
			})
		},
	}
	cmd.Flags().IntVar(&keep, "keep", 1, "how many of the newest checkpoints of each namespace stay")
	cmd.Flags().BoolVar(&keepHeads, "keep-heads", false, "keep the end of every branch too")
	cmd.Flags().BoolVar(&everything, "delete", false, "remove the threads whole, except what is pinned")
	r.addFlags(cmd)
	return cmd
}

func newDeleteRuns(o *options) *cobra.Command {
	var r removal
	cmd := &cobra.Command{
		Use:   "delete-runs RUN_ID...",
		Short: "Remove what runs saved, in every thread",
		Long: `Remove the checkpoints that runs made (run_id in their metadata), in every thread and namespace, with their writes. What
is pinned, and what checkpoints of other runs need to read back as before, stays and is counted as kept.

It first counts what would go, and asks; --yes answers. Without a terminal it refuses unless --yes is given.`,
		Example: `  pgweft delete-runs 1f0c2d3e-0000-6000-8000-000000000000 --dry-run`,
		Args:    cli.Usage(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return r.run(ctx, o, func(db querier, q *queries, dry bool) ([]removed, error) {
				return collect[removed](ctx, db, q.deleteForRuns, args, dry)
			})
		},
	}
	r.addFlags(cmd)
	return cmd
}
