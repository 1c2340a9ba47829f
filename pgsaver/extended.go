package pgsaver

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/serde"
)

var (
	_ checkpoint.RunDeleter     = (*Saver)(nil)
	_ checkpoint.ThreadCopier   = (*Saver)(nil)
	_ checkpoint.Pruner         = (*Saver)(nil)
	_ checkpoint.DeltaHistorian = (*Saver)(nil)
)

// removedRow is a row of prune, delete_for_runs and sweep_preview, by name.
type removedRow struct {
	ThreadID    string `db:"thread_id"`
	Checkpoints int64  `db:"checkpoints"`
	Blobs       int64  `db:"checkpoint_blobs"`
	Writes      int64  `db:"checkpoint_writes"`
	Bytes       int64  `db:"bytes"`
	Kept        int64  `db:"kept"`
}

// DeleteForRuns removes what runs saved, by delete_for_runs. What others need, and what is pinned, stays.
func (s *Saver) DeleteForRuns(ctx context.Context, runIDs []string) ([]checkpoint.Removed, error) {
	return s.removed(ctx, "delete for runs", s.sql.deleteForRuns, orEmpty(runIDs))
}

// Prune prunes threads, by prune. Nothing that stays reads back differently.
func (s *Saver) Prune(ctx context.Context, threadIDs []string,
	options checkpoint.PruneOptions,
) ([]checkpoint.Removed, error) {
	strategy, keep := options.Strategy, options.Keep
	if strategy == "" {
		strategy = checkpoint.KeepLatest
	}
	if keep == 0 {
		keep = 1
	}
	return s.removed(ctx, "prune", s.sql.prune, orEmpty(threadIDs), string(strategy), keep, options.DryRun,
		options.KeepHeads)
}

// SweepPreview says what Sweep would remove from each thread now, by sweep_preview.
func (s *Saver) SweepPreview(ctx context.Context) ([]checkpoint.Removed, error) {
	return s.removed(ctx, "sweep preview", s.sql.sweepPreview)
}

func (s *Saver) removed(ctx context.Context, operation, sql string, args ...any) ([]checkpoint.Removed, error) {
	if err := s.ready(ctx, s.db); err != nil {
		return nil, err
	}
	rows, err := s.db.Query(ctx, sql, args...)
	if err != nil {
		return nil, wrapError(operation, err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[removedRow])
	if err != nil {
		return nil, wrapError(operation, err)
	}
	removed := make([]checkpoint.Removed, len(found))
	for i, row := range found {
		removed[i] = checkpoint.Removed(row)
	}
	return removed, nil
}

// CopyThread copies a thread to an empty one, by copy_thread.
func (s *Saver) CopyThread(ctx context.Context, sourceThreadID, targetThreadID string) error {
	if err := s.ready(ctx, s.db); err != nil {
		return err
	}
	_, err := s.db.Exec(ctx, s.sql.copyThread, sourceThreadID, targetThreadID)
	return wrapError("copy thread", err)
}

// ForkThread makes a new thread from one checkpoint of the root graph, by fork_thread: with exactly the ancestors, values,
// writes and subgraph namespaces that it needs to read back the same. An empty CheckpointID means the newest.
func (s *Saver) ForkThread(ctx context.Context, config checkpoint.Config, targetThreadID string) error {
	if config.Namespace != "" {
		return fmt.Errorf("pgsaver: fork thread: %w: a thread is forked from its root graph, not from namespace %q",
			checkpoint.ErrInvalidArgument, config.Namespace)
	}
	if err := s.ready(ctx, s.db); err != nil {
		return err
	}
	_, err := s.db.Exec(ctx, s.sql.forkThread, config.ThreadID, orNull(config.CheckpointID), targetThreadID)
	return wrapError("fork thread", err)
}

// historyRow is the row of delta_channel_history that is being read, of a few or of many thousands: each is read into the same
// row, from which only its blob and its value are kept.
type historyRow struct {
	channel, kind, taskID, taskPath, tag repeatedText
	idx                                  pgtype.Int4
	blob, value                          []byte
}

// columns are where the columns of queries.deltaHistory go, in their order.
func (r *historyRow) columns() []any {
	return []any{&r.channel, &r.kind, &r.taskID, &r.taskPath, &r.idx, &r.tag, &r.blob, &r.value}
}

// DeltaHistory reads what rebuilds delta channels, by delta_channel_history: one walk for each of them. It occupies a connection
// while it decodes what was written.
func (s *Saver) DeltaHistory(ctx context.Context, config checkpoint.Config,
	channels []string,
) (map[string]checkpoint.DeltaHistory, error) {
	if err := s.ready(ctx, s.reader); err != nil {
		return nil, err
	}
	rows, err := s.reader.Query(ctx, s.sql.deltaHistory, config.ThreadID, config.Namespace, orNull(config.CheckpointID),
		orEmpty(channels))
	if err != nil {
		return nil, wrapError("delta history", err)
	}
	defer rows.Close()
	histories := make(map[string]checkpoint.DeltaHistory, len(channels))
	for _, channel := range channels {
		histories[channel] = checkpoint.DeltaHistory{}
	}
	var row historyRow
	columns := row.columns()
	for rows.Next() {
		if err := rows.Scan(columns...); err != nil {
			return nil, wrapError("delta history", err)
		}
		history := histories[row.channel.text]
		if err := s.addHistory(&history, &row); err != nil {
			return nil, fmt.Errorf("pgsaver: delta history: channel %q: %w", row.channel.text, err)
		}
		histories[row.channel.text] = history
	}
	if err := rows.Err(); err != nil {
		return nil, wrapError("delta history", err)
	}
	return histories, nil
}

func (s *Saver) addHistory(history *checkpoint.DeltaHistory, row *historyRow) error {
	if row.kind.text == "seed" && !row.tag.valid {
		value, err := checkpoint.DecodeValue(row.value)
		if err != nil {
			return fmt.Errorf("%w: %w", checkpoint.ErrCorrupt, err)
		}
		history.Seed, history.HasSeed = value, true
		return nil
	}
	value, err := s.load(serde.Typed{Type: row.tag.text, Data: row.blob})
	if err != nil {
		return err
	}
	if row.kind.text == "seed" {
		history.Seed, history.HasSeed = value, true
		return nil
	}
	history.Writes = append(history.Writes, checkpoint.Write{
		TaskID: row.taskID.text, TaskPath: row.taskPath.text, Channel: row.channel.text, Index: int(row.idx.Int32), Value: value,
	})
	return nil
}

// SetThreadTTL lets Sweep remove a thread once nothing was put for so long, by set_thread_ttl; 0 takes the TTL away.
func (s *Saver) SetThreadTTL(ctx context.Context, threadID string, idle time.Duration) error {
	if err := s.ready(ctx, s.db); err != nil {
		return err
	}
	var interval *time.Duration
	if idle != 0 {
		interval = &idle
	}
	_, err := s.db.Exec(ctx, s.sql.setThreadTTL, threadID, interval)
	return wrapError("set thread TTL", err)
}

// Pin keeps a checkpoint, and what it needs, from every retention and deletion until Unpin, by pin_checkpoint.
func (s *Saver) Pin(ctx context.Context, config checkpoint.Config, reason string) error {
	if err := s.ready(ctx, s.db); err != nil {
		return err
	}
	_, err := s.db.Exec(ctx, s.sql.pin, config.ThreadID, config.Namespace, config.CheckpointID, orNull(reason))
	return wrapError("pin", err)
}

// Unpin takes a pin away, by unpin_checkpoint. A checkpoint that is not pinned is no error.
func (s *Saver) Unpin(ctx context.Context, config checkpoint.Config) error {
	if err := s.ready(ctx, s.db); err != nil {
		return err
	}
	_, err := s.db.Exec(ctx, s.sql.unpin, config.ThreadID, config.Namespace, config.CheckpointID)
	return wrapError("unpin", err)
}

// orEmpty keeps a nil list from becoming a null, which the functions refuse.
func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
