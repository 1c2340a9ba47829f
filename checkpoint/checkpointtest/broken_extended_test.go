package checkpointtest_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pgweft/pgweft/checkpoint"
	"github.com/pgweft/pgweft/serde"
)

// brokenExtended are savers whose fault is in what not every saver can do.
var brokenExtended = map[string]fault{
	"tells the newest writes first": {
		told(func(h *checkpoint.DeltaHistory) { slices.Reverse(h.Writes) }),
		history("test_history_returns_writes_oldest_first", "test_history_walk_to_root_no_seed", "more_history_agrees_with_get"),
	},
	"goes back to the first value": {
		walking(func(m *memory, at checkpoint.Config, channel string, _ []string) checkpoint.DeltaHistory {
			path := m.ancestors(at)
			for i, ancestor := range slices.Backward(path) {
				if _, ok := m.stored(ancestor, channel); ok {
					return m.along(path[:i+1], channel, func(key checkpoint.Config, _ any) bool { return key == ancestor })
				}
			}
			return m.along(path, channel, storedAnywhere)
		}),
		history("test_history_seed_is_nearest_snapshot", "test_history_seed_ancestor_own_writes_are_replayed"),
	},
	"tells the target's own writes": {
		walking(func(m *memory, at checkpoint.Config, channel string, _ []string) checkpoint.DeltaHistory {
			told, _ := m.history(at, channel)
			told.Writes = append(told.Writes, m.writesTo(at, channel)...)
			return told
		}),
		history("test_history_excludes_target_pending_writes", "more_history_of_the_first"),
	},
	"starts at the target": {
		walking(func(m *memory, at checkpoint.Config, channel string, _ []string) checkpoint.DeltaHistory {
			return m.along(append([]checkpoint.Config{at}, m.ancestors(at)...), channel, storedAnywhere)
		}),
		history("more_history_of_a_target_with_a_snapshot", "more_history_of_the_first"),
	},
	"ends every walk at the first value": {
		walking(func(m *memory, at checkpoint.Config, channel string, channels []string) checkpoint.DeltaHistory {
			path := m.ancestors(at)
			for i, ancestor := range path {
				if slices.ContainsFunc(channels, func(c string) bool { _, ok := m.stored(ancestor, c); return ok }) {
					path = path[:i+1]
					break
				}
			}
			return m.along(path, channel, storedAnywhere)
		}),
		history("test_history_multi_channel", "more_history_agrees_with_get"),
	},
	"takes no channels for all": {
		func(m *memory) checkpoint.Saver {
			return historian{m, func(ctx context.Context, config checkpoint.Config, channels []string) (histories, error) {
				if len(channels) == 0 {
					channels = m.deltaChannels(config)
				}
				return m.DeltaHistory(ctx, config, channels)
			}}
		},
		history("test_history_empty_channels_returns_empty"),
	},
	"tells nothing without a seed": {
		told(func(h *checkpoint.DeltaHistory) {
			if !h.HasSeed {
				h.Writes = nil
			}
		}),
		history("test_history_walk_to_root_no_seed", "more_history_stays_in_its_thread_and_namespace"),
	},
	"takes null for a seed": {
		told(func(h *checkpoint.DeltaHistory) { h.HasSeed = true }),
		history("test_history_walk_to_root_no_seed", "more_history_of_the_first", "more_history_of_unknown_and_repeated_channels"),
	},
	"knows snapshots only": {
		seeding(func(_ *memory, _ checkpoint.Config, _ string, value any) bool {
			_, ok := value.(serde.DeltaSnapshot)
			return ok
		}),
		history("test_history_migration_plain_value_as_seed", "test_history_seed_ancestor_own_writes_are_replayed",
			"more_history_seed_is_any_stored_value/a_map"),
	},
	"takes true for the mark of a snapshot": {
		seeding(func(_ *memory, _ checkpoint.Config, _ string, value any) bool { return value != true }),
		history("more_history_seed_is_any_stored_value/true"),
	},
	"takes a snapshot of null for none": {
		seeding(func(_ *memory, _ checkpoint.Config, _ string, value any) bool {
			snapshot, ok := value.(serde.DeltaSnapshot)
			return !ok || snapshot.Value != nil
		}),
		history("more_history_seed_is_any_snapshot/null"),
	},
	"finds values only where they were new": {
		seeding(func(m *memory, key checkpoint.Config, channel string, _ any) bool {
			parent, ok := m.parent(key)
			version := func(key checkpoint.Config) checkpoint.Version {
				return m.decoded(key).Checkpoint.ChannelVersions[channel]
			}
			return !ok || version(parent) != version(key)
		}),
		history("more_history_seed_is_an_unchanged_value_too"),
	},
	"gives seeds without their wrapping": {
		told(func(h *checkpoint.DeltaHistory) {
			if snapshot, ok := h.Seed.(serde.DeltaSnapshot); ok {
				h.Seed = snapshot.Value
			}
		}),
		history("test_history_seed_is_nearest_snapshot", "test_history_multi_channel", "more_history_of_the_newest"),
	},
	"leaves out the seed's own writes": {
		walking(func(m *memory, at checkpoint.Config, channel string, _ []string) checkpoint.DeltaHistory {
			told, path := m.history(at, channel)
			if told.HasSeed {
				told.Writes = told.Writes[len(m.writesTo(path[len(path)-1], channel)):]
			}
			return told
		}),
		history("test_history_seed_ancestor_own_writes_are_replayed", "more_history_seed_is_any_stored_value/zero"),
	},
	"tells writes by task id": {
		told(func(h *checkpoint.DeltaHistory) {
			slices.SortStableFunc(h.Writes, func(a, b checkpoint.Write) int { return strings.Compare(a.TaskID, b.TaskID) })
		}),
		history("test_history_orders_parallel_writes_by_task_path", "test_history_orders_pathless_writes_first"),
	},
	"tells writes without a path last": {
		told(func(h *checkpoint.DeltaHistory) {
			slices.SortStableFunc(h.Writes, func(a, b checkpoint.Write) int {
				return -strings.Compare(a.TaskPath[:min(len(a.TaskPath), 1)], b.TaskPath[:min(len(b.TaskPath), 1)])
			})
		}),
		history("test_history_orders_pathless_writes_first"),
	},
	"numbers the writes it tells": {
		told(func(h *checkpoint.DeltaHistory) {
			for i := range h.Writes {
				h.Writes[i].Index = i
			}
		}),
		history("more_history_has_whole_writes_in_the_order_of_path_task_and_index", "more_history_agrees_with_get"),
	},
	"leaves out channels without a history": {
		func(m *memory) checkpoint.Saver {
			return historian{m, func(ctx context.Context, config checkpoint.Config, channels []string) (histories, error) {
				told, err := m.DeltaHistory(ctx, config, channels)
				maps.DeleteFunc(told, func(_ string, h checkpoint.DeltaHistory) bool { return !h.HasSeed && len(h.Writes) == 0 })
				return told, err
			}}
		},
		history("more_history_of_unknown_and_repeated_channels"),
	},
	"tells nothing of the newest": {
		func(m *memory) checkpoint.Saver {
			return historian{m, func(ctx context.Context, config checkpoint.Config, channels []string) (histories, error) {
				if config.CheckpointID == "" {
					return histories{}, ctx.Err()
				}
				return m.DeltaHistory(ctx, config, channels)
			}}
		},
		history("more_history_of_the_newest"),
	},
	"walks by ids": {
		walking(func(m *memory, at checkpoint.Config, channel string, _ []string) checkpoint.DeltaHistory {
			older := slices.DeleteFunc(m.inNamespace(at), func(key checkpoint.Config) bool {
				return key.CheckpointID >= at.CheckpointID
			})
			return m.along(older, channel, storedAnywhere)
		}),
		history("more_history_follows_parents_not_ids", "more_history_agrees_with_get"),
	},
	"tells the writes of other namespaces": {
		walking(func(m *memory, at checkpoint.Config, channel string, _ []string) checkpoint.DeltaHistory {
			told, _ := m.history(at, channel)
			for _, ancestor := range m.ancestors(at) {
				for key := range m.writes {
					if key.CheckpointID == ancestor.CheckpointID && key != ancestor {
						told.Writes = append(told.Writes, m.writesTo(key, channel)...)
					}
				}
			}
			return told
		}),
		history("more_history_stays_in_its_thread_and_namespace"),
	},
	"tells nothing of what is missing": {
		func(m *memory) checkpoint.Saver {
			return historian{m, func(ctx context.Context, config checkpoint.Config, channels []string) (histories, error) {
				told, err := m.DeltaHistory(ctx, config, channels)
				if errors.Is(err, checkpoint.ErrNotFound) || errors.Is(err, checkpoint.ErrInvalidArgument) {
					return histories{}, nil
				}
				return told, err
			}}
		},
		history("more_history_of_what_is_missing_is_not_found", "more_history_refuses_no_thread"),
	},

	"copies the newest checkpoint": {
		copied(func(m *memory, _, target string) {
			for _, key := range m.inThread(target)[1:] {
				delete(m.checkpoints, key)
			}
		}),
		copying("test_copy_thread_basic", "test_copy_thread_all_checkpoints", "test_copy_thread_preserves_ordering",
			"more_copy_thread_keeps_branches"),
	},
	"copies the root namespace": {
		copied(func(m *memory, _, target string) {
			maps.DeleteFunc(m.checkpoints, func(key checkpoint.Config, _ *row) bool {
				return key.ThreadID == target && key.Namespace != ""
			})
		}),
		copying("test_copy_thread_preserves_namespaces", "more_copy_thread_shows_in_lists_of_all_threads"),
	},
	"copies no writes": {
		copied(func(m *memory, _, target string) { m.removeThreadsWrites(target, &checkpoint.Removed{}) }),
		copying("test_copy_thread_preserves_writes", "more_copy_thread_keeps_delta_history",
			"more_copy_thread_copies_writes_that_came_early"),
	},
	"copies writes of checkpoints that are there": {
		copied(func(m *memory, _, target string) { m.removeEarlyWrites(target) }),
		copying("more_copy_thread_copies_writes_that_came_early"),
	},
	"copies no values": {
		copied(func(m *memory, _, target string) {
			maps.DeleteFunc(m.blobs, func(key blobKey, _ any) bool { return key.thread == target })
		}),
		copying("test_copy_thread_all_checkpoints", "more_copy_thread_keeps_every_value", "more_copy_thread_lets_both_go_on",
			"more_copy_thread_keeps_delta_history"),
	},
	"copies under new ids": {
		copied(func(m *memory, _, target string) {
			for _, key := range m.inThread(target) {
				moved := key
				moved.CheckpointID += "0"
				m.checkpoints[moved], m.writes[moved] = m.checkpoints[key], m.writes[key]
				delete(m.checkpoints, key)
				delete(m.writes, key)
			}
		}),
		copying("test_copy_thread_basic", "test_copy_thread_preserves_ordering"),
	},
	"copies with other metadata": {
		copied(func(m *memory, _, target string) {
			for _, key := range m.inThread(target) {
				forked := *m.checkpoints[key]
				forked.metadata = []byte(`{"source":"fork"}`)
				m.checkpoints[key] = &forked
			}
		}),
		copying("test_copy_thread_preserves_metadata", "test_copy_thread_all_checkpoints"),
	},
	"makes a chain of what it copies": {
		copied(func(m *memory, _, target string) {
			for _, key := range m.inThread(target) {
				keys := m.inNamespace(key)
				if i := slices.Index(keys, key); i+1 < len(keys) {
					m.setParent(key, keys[i+1].CheckpointID)
				}
			}
		}),
		copying("more_copy_thread_keeps_branches", "more_copy_thread_keeps_delta_history"),
	},
	"moves what it copies": {
		copied(func(m *memory, source, _ string) {
			maps.DeleteFunc(m.checkpoints, func(key checkpoint.Config, _ *row) bool { return key.ThreadID == source })
		}),
		copying("test_copy_thread_source_unchanged", "more_copy_thread_shows_in_lists_of_all_threads"),
	},
	"copies threads whose ids begin so": {
		copied(func(m *memory, source, target string) {
			for key := range maps.Clone(m.checkpoints) {
				if strings.HasPrefix(key.ThreadID, source) && key.ThreadID != target {
					m.copyThread(key.ThreadID, target)
				}
			}
		}),
		copying("more_copy_thread_takes_ids_literally/quotes"),
	},
	"copies references": {
		func(m *memory) checkpoint.Saver { return linking{copier{memory: m}, map[string]string{}} },
		copying("more_copy_thread_outlives_its_source"),
	},
	"refuses to copy what is not there": {
		func(m *memory) checkpoint.Saver {
			return copier{m, func(source, target string) error {
				if source != "" && m.has(source) == 0 {
					return fmt.Errorf("%w: thread %q", checkpoint.ErrNotFound, source)
				}
				return m.CopyThread(context.Background(), source, target)
			}}
		},
		copying("test_copy_thread_nonexistent_source"),
	},
	"copies onto whatever is there": {
		func(m *memory) checkpoint.Saver {
			return copier{m, func(source, target string) error {
				if source == "" || target == "" || source == target {
					return invalid("copy of %q to %q", source, target)
				}
				m.mu.Lock()
				defer m.mu.Unlock()
				m.copyThread(source, target)
				return nil
			}}
		},
		copying("more_copy_thread_refuses_a_target_that_is_not_empty/a_checkpoint",
			"more_copy_thread_refuses_a_target_that_is_not_empty/a_copy_of_the_same",
			"more_copy_thread_by_concurrent_callers_copies_once"),
	},
	"copies onto writes that came early": {
		func(m *memory) checkpoint.Saver {
			return copier{m, func(source, target string) error {
				if m.has(target) == 0 {
					m.mu.Lock()
					m.removeThreadsWrites(target, &checkpoint.Removed{})
					m.mu.Unlock()
				}
				return m.CopyThread(context.Background(), source, target)
			}}
		},
		copying("more_copy_thread_refuses_a_target_that_is_not_empty/writes_that_came_early"),
	},
	"takes itself and no thread for done": {
		func(m *memory) checkpoint.Saver {
			return copier{m, func(source, target string) error {
				if source == "" || target == "" || source == target {
					return nil
				}
				return m.CopyThread(context.Background(), source, target)
			}}
		},
		copying("more_copy_thread_refuses_itself_and_no_thread"),
	},

	"removes what others need": {
		ruling(func(r *rules) { r.needs = func(*memory, checkpoint.Config) []checkpoint.Config { return nil } }),
		both([]string{
			"more_delete_for_runs_keeps_what_live_delta_channels_need/back_to_a_snapshot", "more_delete_for_runs_keeps_what_branches_need",
			"more_delete_for_runs_keeps_the_packets_of_old_formats",
		}, []string{
			"more_prune_keeps_what_delta_channels_need/back_to_an_inline_true", "more_prune_keeps_what_branches_need",
			"more_prune_keeps_the_packets_of_old_formats", "more_prune_knows_delta_channels_by_their_snapshots",
			"more_prune_lets_the_thread_go_on", "more_prune_again_removes_nothing",
		}),
	},
	"removes what is needed by what others need": {
		ruling(func(r *rules) {
			r.needs = func(m *memory, key checkpoint.Config) []checkpoint.Config {
				if m.inNamespace(key)[0] != key {
					return nil
				}
				return m.needs(key)
			}
		}),
		both(nil, []string{"more_prune_keeps_what_each_delta_channel_needs"}),
	},
	"removes packets of old formats": {
		ruling(func(r *rules) { r.needs = (*memory).needsForDelta }),
		both([]string{"more_delete_for_runs_keeps_the_packets_of_old_formats"},
			[]string{"more_prune_keeps_the_packets_of_old_formats"}),
	},
	"keeps delta channels whole": {
		ruling(func(r *rules) {
			r.needs = func(m *memory, key checkpoint.Config) []checkpoint.Config {
				if len(m.deltaChannels(key)) > 0 {
					return m.inNamespace(key)
				}
				return m.needs(key)
			}
		}),
		both([]string{"more_delete_for_runs_takes_what_a_snapshot_replaces", "more_delete_for_runs_keeps_what_branches_need"},
			[]string{"more_prune_takes_what_a_snapshot_replaces", "more_prune_keeps_what_branches_need"}),
	},
	"knows no delta channels": {
		ruling(func(r *rules) { r.isDelta = func(*memory, checkpoint.Config, string) bool { return false } }),
		append(both([]string{"more_delete_for_runs_keeps_what_live_delta_channels_need/back_to_a_snapshot"},
			[]string{"more_prune_keeps_what_delta_channels_need/back_to_a_snapshot"}),
			"fork/more_fork_keeps_delta_history/CopyBlobs_true"),
	},
	"knows delta channels by their counters": {
		ruling(func(r *rules) {
			r.isDelta = func(m *memory, in checkpoint.Config, channel string) bool {
				return slices.ContainsFunc(m.inNamespace(in), func(key checkpoint.Config) bool {
					counters, _ := m.decoded(key).Metadata[deltaCounters].(map[string]any)
					return counters[channel] != nil
				})
			}
		}),
		both(nil, []string{"more_prune_knows_delta_channels_by_their_snapshots"}),
	},
	"prunes what waits for a human": {
		ruling(func(r *rules) { r.isWaiting = func(*memory, checkpoint.Config) bool { return false } }),
		both(nil, []string{"more_prune_keeps_interrupted_heads"}),
	},
	"keeps whatever was interrupted": {
		ruling(func(r *rules) {
			r.isWaiting = func(m *memory, key checkpoint.Config) bool {
				return len(m.writesTo(key, checkpoint.ChannelInterrupt)) > 0
			}
		}),
		both(nil, []string{"more_prune_takes_interrupts_that_were_answered"}),
	},

	"removes nothing": {
		removed(func(m, was *memory) { m.checkpoints, m.blobs, m.writes = was.checkpoints, was.blobs, was.writes }),
		both([]string{
			"test_delete_for_runs_single", "test_delete_for_runs_multiple", "test_delete_for_runs_removes_writes",
			"more_delete_for_runs_again_removes_nothing",
		}, []string{
			"test_prune_keep_latest_single_thread", "test_prune_keep_latest_multiple_threads", "test_prune_delete_all",
			"more_prune_dry_run_counts_the_same_and_removes_nothing", "more_prune_takes_a_thread_named_twice_once",
		}),
	},
	"removes checkpoints only": {
		removed(func(m, was *memory) { m.blobs, m.writes = was.blobs, was.writes }),
		both([]string{"test_delete_for_runs_removes_writes", "more_delete_for_runs_leaves_nothing_to_collide_with"},
			[]string{"more_prune_leaves_nothing_to_collide_with", "more_prune_delete_takes_whatever_there_is"}),
	},
	"removes values that others share": {
		removed(func(m, was *memory) {
			for key := range was.checkpoints {
				if _, stays := m.checkpoints[key]; !stays {
					for channel, version := range was.decoded(key).Checkpoint.ChannelVersions {
						delete(m.blobs, blobKey{key.ThreadID, key.Namespace, channel, version.String()})
					}
				}
			}
		}),
		both([]string{"more_delete_for_runs_keeps_values_that_others_share"}, []string{"more_prune_keeps_values_that_others_share"}),
	},
	"leaves parents that are gone": {
		removed(func(m, was *memory) {
			for key := range m.checkpoints {
				m.setParent(key, was.checkpoints[key].parent)
			}
		}),
		both([]string{"more_delete_for_runs_makes_parents_that_went_null"}, []string{"more_prune_makes_parents_that_went_null"}),
	},
	"makes grandparents parents": {
		removed(func(m, was *memory) {
			for key := range m.checkpoints {
				for _, ancestor := range slices.Backward(was.ancestors(key)) {
					if m.checkpoints[ancestor] != nil {
						m.setParent(key, ancestor.CheckpointID)
					}
				}
			}
		}),
		both([]string{"more_delete_for_runs_makes_parents_that_went_null"}, nil),
	},
	"removes every write": {
		removed(func(m, _ *memory) { clear(m.writes) }),
		both([]string{"test_delete_for_runs_preserves_other_runs", "more_delete_for_runs_counts_what_went"},
			[]string{"test_prune_keep_latest_preserves_writes", "test_prune_preserves_other_threads", "more_prune_counts_what_went"}),
	},
	"removes writes that came early": {
		removed(func(m, _ *memory) {
			for key := range m.writes {
				m.removeEarlyWrites(key.ThreadID)
			}
		}),
		both(nil, []string{"more_prune_keeps_writes_that_came_early"}),
	},
	"removes in the root namespace only": {
		removed(func(m, was *memory) { m.restore(was, func(key checkpoint.Config) bool { return key.Namespace != "" }) }),
		both([]string{"test_delete_for_runs_across_namespaces"},
			[]string{"test_prune_keep_latest_across_namespaces", "test_prune_delete_all"}),
	},
	"removes in the first thread only": {
		removed(func(m, was *memory) {
			var touched []string
			for key := range was.checkpoints {
				if m.checkpoints[key] == nil {
					touched = append(touched, key.ThreadID)
				}
			}
			m.restore(was, func(key checkpoint.Config) bool { return key.ThreadID != slices.Min(touched) })
		}),
		both([]string{"more_delete_for_runs_across_threads"}, []string{"test_prune_keep_latest_multiple_threads"}),
	},
	"removes threads of which something goes": {
		removed(func(m, was *memory) {
			for key := range was.checkpoints {
				if m.checkpoints[key] == nil {
					maps.DeleteFunc(m.checkpoints, func(other checkpoint.Config, _ *row) bool { return other.ThreadID == key.ThreadID })
				}
			}
		}),
		both([]string{"test_delete_for_runs_single", "test_delete_for_runs_preserves_other_runs"},
			[]string{"test_prune_keep_latest_single_thread", "more_prune_by_default_keeps_the_newest"}),
	},
	"counts no values": {
		counting(func(r *checkpoint.Removed) { r.Blobs = 0 }),
		both([]string{"more_delete_for_runs_counts_what_went"}, []string{"more_prune_counts_what_went"}),
	},
	"counts no writes": {
		counting(func(r *checkpoint.Removed) { r.Writes = 0 }),
		both([]string{"more_delete_for_runs_counts_what_went"}, []string{"more_prune_counts_what_went"}),
	},
	"counts no bytes": {
		counting(func(r *checkpoint.Removed) { r.Bytes = 0 }),
		both([]string{"more_delete_for_runs_counts_what_went"}, []string{"more_prune_counts_what_went"}),
	},
	"counts what it keeps as removed": {
		counting(func(r *checkpoint.Removed) { r.Checkpoints, r.Kept = r.Checkpoints+r.Kept, 0 }),
		both([]string{"more_delete_for_runs_keeps_what_branches_need"}, []string{"more_prune_again_removes_nothing"}),
	},

	"removes the first run only": {
		runs(func(_ *memory, ids []string) ([]string, error) { return ids[:min(len(ids), 1)], nil }),
		both([]string{"test_delete_for_runs_multiple", "more_delete_for_runs_across_threads"}, nil),
	},
	"takes no runs for all": {
		runs(func(m *memory, ids []string) ([]string, error) {
			if len(ids) == 0 {
				return m.runs(func(string) bool { return true }), nil
			}
			return ids, nil
		}),
		both([]string{"test_delete_for_runs_empty_list_noop"}, nil),
	},
	"removes every run": {
		runs(func(m *memory, _ []string) ([]string, error) { return m.runs(func(string) bool { return true }), nil }),
		both([]string{"test_delete_for_runs_nonexistent_noop", "test_delete_for_runs_preserves_other_runs"}, nil),
	},
	"refuses runs that are not there": {
		runs(func(m *memory, ids []string) ([]string, error) {
			for _, id := range ids {
				if !slices.Contains(m.runs(func(string) bool { return true }), id) {
					return nil, fmt.Errorf("%w: run %q", checkpoint.ErrNotFound, id)
				}
			}
			return ids, nil
		}),
		both([]string{"test_delete_for_runs_nonexistent_noop", "more_delete_for_runs_again_removes_nothing"}, nil),
	},
	"removes runs whose ids begin so": {
		runs(func(m *memory, ids []string) ([]string, error) {
			return m.runs(func(run string) bool {
				return slices.ContainsFunc(ids, func(id string) bool { return strings.HasPrefix(run, id) })
			}), nil
		}),
		both([]string{"more_delete_for_runs_takes_ids_literally/quotes"}, nil),
	},
	"takes no run for one": {
		runs(func(m *memory, ids []string) ([]string, error) {
			maps.DeleteFunc(m.checkpoints, func(key checkpoint.Config, _ *row) bool {
				run, has := m.decoded(key).Metadata["run_id"]
				return (!has && slices.Contains(ids, "")) || (has && run == nil && slices.Contains(ids, "null"))
			})
			return ids, nil
		}),
		both([]string{"more_delete_for_runs_leaves_what_no_run_made"}, nil),
	},

	"takes no threads for all": {
		pruning(func(m *memory, ids *[]string, _ *checkpoint.PruneOptions) error {
			if len(*ids) == 0 {
				*ids = m.threads(func(string) bool { return true })
			}
			return nil
		}),
		both(nil, []string{"test_prune_empty_list_noop"}),
	},
	"prunes every thread": {
		pruning(func(m *memory, ids *[]string, _ *checkpoint.PruneOptions) error {
			*ids = m.threads(func(string) bool { return true })
			return nil
		}),
		both(nil, []string{"test_prune_preserves_other_threads", "test_prune_empty_list_noop"}),
	},
	"prunes threads whose ids begin so": {
		pruning(func(m *memory, ids *[]string, _ *checkpoint.PruneOptions) error {
			named := *ids
			*ids = m.threads(func(thread string) bool {
				return slices.ContainsFunc(named, func(id string) bool { return strings.HasPrefix(thread, id) })
			})
			return nil
		}),
		both(nil, []string{"more_prune_takes_ids_literally/quotes"}),
	},
	"refuses threads that are not there": {
		pruning(func(m *memory, ids *[]string, _ *checkpoint.PruneOptions) error {
			for _, id := range *ids {
				if m.isEmpty(id) {
					return fmt.Errorf("%w: thread %q", checkpoint.ErrNotFound, id)
				}
			}
			return nil
		}),
		both(nil, []string{"test_prune_nonexistent_noop"}),
	},
	"prunes everything by default": {
		pruning(func(_ *memory, _ *[]string, o *checkpoint.PruneOptions) error {
			if o.Strategy == "" && o.Keep == 0 {
				o.Strategy = checkpoint.PruneAll
			}
			return nil
		}),
		both(nil, []string{"more_prune_by_default_keeps_the_newest"}),
	},
	"keeps the newest whatever the strategy": {
		pruning(func(_ *memory, _ *[]string, o *checkpoint.PruneOptions) error {
			if o.Strategy == checkpoint.PruneAll {
				o.Strategy = checkpoint.KeepLatest
			}
			return nil
		}),
		both(nil, []string{"test_prune_delete_all", "more_prune_delete_takes_whatever_there_is", "more_prune_counts_what_went"}),
	},
	"keeps one": {
		pruning(func(_ *memory, _ *[]string, o *checkpoint.PruneOptions) error { o.Keep = min(o.Keep, 1); return nil }),
		both(nil, []string{"more_prune_keeps_as_many_as_asked", "more_prune_counts_what_went"}),
	},
	"keeps no heads": {
		pruning(func(_ *memory, _ *[]string, o *checkpoint.PruneOptions) error { o.KeepHeads = false; return nil }),
		both(nil, []string{"more_prune_keeps_heads", "more_prune_keeps_what_branches_need"}),
	},
	"keeps the newest of a thread": {
		removed(func(m, _ *memory) {
			for key := range m.checkpoints {
				if key != m.inThread(key.ThreadID)[0] {
					delete(m.checkpoints, key)
				}
			}
		}),
		both(nil, []string{"test_prune_keep_latest_across_namespaces", "more_prune_keeps_as_many_as_asked"}),
	},
	"keeps what was put last": {
		removed(func(m, was *memory) {
			for key := range was.checkpoints {
				later := func(other checkpoint.Config) bool {
					return was.checkpoints[other].created.After(was.checkpoints[key].created)
				}
				m.checkpoints[key] = was.checkpoints[key]
				if slices.ContainsFunc(was.inNamespace(key), later) {
					delete(m.checkpoints, key)
				}
			}
		}),
		both(nil, []string{"more_prune_keeps_the_newest_by_id_not_by_time_of_put"}),
	},
	"removes in a dry run": {
		pruning(func(_ *memory, _ *[]string, o *checkpoint.PruneOptions) error { o.DryRun = false; return nil }),
		both(nil, []string{"more_prune_dry_run_counts_the_same_and_removes_nothing"}),
	},
	"guesses in a dry run": {
		func(m *memory) checkpoint.Saver {
			return remover{memory: m, prune: func(ctx context.Context, ids []string, o checkpoint.PruneOptions) ([]checkpoint.Removed, error) {
				removed, err := m.Prune(ctx, ids, o)
				for i := range removed {
					if o.DryRun {
						removed[i].Blobs = 0
					}
				}
				return removed, err
			}}
		},
		both(nil, []string{"more_prune_dry_run_counts_the_same_and_removes_nothing"}),
	},
	"reports a thread as often as it is named": {
		func(m *memory) checkpoint.Saver {
			return remover{memory: m, prune: func(ctx context.Context, ids []string, o checkpoint.PruneOptions) ([]checkpoint.Removed, error) {
				var removed []checkpoint.Removed
				for _, id := range ids {
					one, err := m.Prune(ctx, []string{id}, o)
					if err != nil {
						return nil, err
					}
					removed = append(removed, one...)
				}
				return removed, nil
			}}
		},
		both(nil, []string{"more_prune_takes_a_thread_named_twice_once"}),
	},
	"takes whatever options": {
		pruning(func(_ *memory, _ *[]string, o *checkpoint.PruneOptions) error {
			o.Keep = max(o.Keep, 0)
			if o.Strategy != checkpoint.PruneAll {
				o.Strategy = checkpoint.KeepLatest
			}
			return nil
		}),
		both(nil, []string{"more_prune_refuses_what_it_cannot_do"}),
	},
}

func history(tests ...string) []string { return inCapability("get_delta_channel_history", tests) }

func copying(tests ...string) []string { return inCapability("copy_thread", tests) }

func both(deleteForRuns, prune []string) []string {
	return append(inCapability("delete_for_runs", deleteForRuns), inCapability("prune", prune)...)
}

func inCapability(name string, tests []string) []string {
	var full []string
	for _, test := range tests {
		full = append(full, name+"/"+test)
	}
	return full
}

func ruling(change func(*rules)) func(*memory) checkpoint.Saver {
	return func(m *memory) checkpoint.Saver {
		change(&m.rules)
		return m
	}
}

type histories = map[string]checkpoint.DeltaHistory

type historian struct {
	*memory
	tell func(ctx context.Context, config checkpoint.Config, channels []string) (histories, error)
}

func (h historian) DeltaHistory(ctx context.Context, config checkpoint.Config, channels []string) (histories, error) {
	return h.tell(ctx, config, channels)
}

// told tampers with each history.
func told(change func(*checkpoint.DeltaHistory)) func(*memory) checkpoint.Saver {
	return func(m *memory) checkpoint.Saver {
		return historian{m, func(ctx context.Context, config checkpoint.Config, channels []string) (histories, error) {
			told, err := m.DeltaHistory(ctx, config, channels)
			for channel, h := range told {
				change(&h)
				told[channel] = h
			}
			return told, err
		}}
	}
}

// walking tells of each channel what walk finds, which also gets all channels that were asked for.
func walking(walk func(m *memory, at checkpoint.Config, channel string, channels []string) checkpoint.DeltaHistory,
) func(*memory) checkpoint.Saver {
	return func(m *memory) checkpoint.Saver {
		return historian{m, func(ctx context.Context, config checkpoint.Config, channels []string) (histories, error) {
			told, err := m.DeltaHistory(ctx, config, channels)
			if err != nil {
				return nil, err
			}
			m.mu.Lock()
			defer m.mu.Unlock()
			target, err := m.get(ctx, config)
			for channel := range told {
				told[channel] = walk(m, target.Config, channel, channels)
			}
			return told, err
		}}
	}
}

// seeding takes for seeds only some of the values that ancestors store.
func seeding(isSeed func(m *memory, key checkpoint.Config, channel string, value any) bool) func(*memory) checkpoint.Saver {
	return walking(func(m *memory, at checkpoint.Config, channel string, _ []string) checkpoint.DeltaHistory {
		return m.along(m.ancestors(at), channel, func(key checkpoint.Config, value any) bool {
			return isSeed(m, key, channel, value)
		})
	})
}

func storedAnywhere(checkpoint.Config, any) bool { return true }

// along is the history that a path tells, from the nearest on.
func (m *memory) along(path []checkpoint.Config, channel string, isSeed func(checkpoint.Config, any) bool) checkpoint.DeltaHistory {
	var told checkpoint.DeltaHistory
	for _, key := range path {
		told.Writes = append(m.writesTo(key, channel), told.Writes...)
		if value, ok := m.stored(key, channel); ok && isSeed(key, value) {
			told.Seed, told.HasSeed = value, true
			break
		}
	}
	return told
}

type copier struct {
	*memory
	copy func(source, target string) error
}

func (c copier) CopyThread(ctx context.Context, source, target string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return c.copy(source, target)
}

// copied tampers with the tables after a copy.
func copied(change func(m *memory, source, target string)) func(*memory) checkpoint.Saver {
	return func(m *memory) checkpoint.Saver {
		return copier{m, func(source, target string) error {
			err := m.CopyThread(context.Background(), source, target)
			m.mu.Lock()
			defer m.mu.Unlock()
			if err == nil && !m.isEmpty(source) {
				change(m, source, target)
			}
			return err
		}}
	}
}

// linking has the values of a copy in its source.
type linking struct {
	copier
	sources map[string]string
}

func (l linking) CopyThread(ctx context.Context, source, target string) error {
	err := l.memory.CopyThread(ctx, source, target)
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.sources[target] = source
	}
	return err
}

func (l linking) DeleteThread(ctx context.Context, threadID string) error {
	err := l.memory.DeleteThread(ctx, threadID)
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.blobs, func(key blobKey, _ any) bool { return err == nil && l.sources[key.thread] == threadID })
	return err
}

// remover is a memory whose removals are tampered with.
type remover struct {
	*memory
	runs  func(context.Context, []string) ([]checkpoint.Removed, error)
	prune func(context.Context, []string, checkpoint.PruneOptions) ([]checkpoint.Removed, error)
}

func (r remover) DeleteForRuns(ctx context.Context, runIDs []string) ([]checkpoint.Removed, error) {
	if r.runs == nil {
		return r.memory.DeleteForRuns(ctx, runIDs)
	}
	return r.runs(ctx, runIDs)
}

func (r remover) Prune(ctx context.Context, threadIDs []string, options checkpoint.PruneOptions) ([]checkpoint.Removed, error) {
	if r.prune == nil {
		return r.memory.Prune(ctx, threadIDs, options)
	}
	return r.prune(ctx, threadIDs, options)
}

// removed tampers with the tables after a removal.
func removed(change func(m, was *memory)) func(*memory) checkpoint.Saver {
	return func(m *memory) checkpoint.Saver {
		tamper := func(was *memory) {
			m.mu.Lock()
			defer m.mu.Unlock()
			if len(m.checkpoints)+len(m.writes) < len(was.checkpoints)+len(was.writes) {
				change(m, was)
			}
		}
		return remover{
			m,
			func(ctx context.Context, runIDs []string) ([]checkpoint.Removed, error) {
				defer tamper(m.clone())
				return m.DeleteForRuns(ctx, runIDs)
			},
			func(ctx context.Context, threadIDs []string, options checkpoint.PruneOptions) ([]checkpoint.Removed, error) {
				defer tamper(m.clone())
				return m.Prune(ctx, threadIDs, options)
			},
		}
	}
}

// counting tampers with the report of a removal.
func counting(change func(*checkpoint.Removed)) func(*memory) checkpoint.Saver {
	all := func(removed []checkpoint.Removed, err error) ([]checkpoint.Removed, error) {
		for i := range removed {
			change(&removed[i])
		}
		return removed, err
	}
	return func(m *memory) checkpoint.Saver {
		return remover{
			m,
			func(ctx context.Context, runIDs []string) ([]checkpoint.Removed, error) {
				return all(m.DeleteForRuns(ctx, runIDs))
			},
			func(ctx context.Context, threadIDs []string, options checkpoint.PruneOptions) ([]checkpoint.Removed, error) {
				return all(m.Prune(ctx, threadIDs, options))
			},
		}
	}
}

// runs tampers with the runs that are named.
func runs(choose func(m *memory, runIDs []string) ([]string, error)) func(*memory) checkpoint.Saver {
	return func(m *memory) checkpoint.Saver {
		return remover{memory: m, runs: func(ctx context.Context, runIDs []string) ([]checkpoint.Removed, error) {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			chosen, err := choose(m, runIDs)
			if err != nil {
				return nil, err
			}
			return m.DeleteForRuns(ctx, chosen)
		}}
	}
}

// pruning tampers with what is asked of Prune.
func pruning(change func(m *memory, threadIDs *[]string, options *checkpoint.PruneOptions) error) func(*memory) checkpoint.Saver {
	return func(m *memory) checkpoint.Saver {
		return remover{memory: m, prune: func(ctx context.Context, threadIDs []string,
			options checkpoint.PruneOptions,
		) ([]checkpoint.Removed, error) {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err := change(m, &threadIDs, &options); err != nil {
				return nil, err
			}
			return m.Prune(ctx, threadIDs, options)
		}}
	}
}

func (m *memory) runs(matches func(string) bool) []string {
	found := map[string]bool{}
	for key := range m.checkpoints {
		if run, ok := m.decoded(key).Metadata["run_id"].(string); ok && matches(run) {
			found[run] = true
		}
	}
	return slices.Collect(maps.Keys(found))
}

// has counts the checkpoints of a thread.
func (m *memory) has(threadID string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.inThread(threadID))
}

func (m *memory) threads(matches func(string) bool) []string {
	found := map[string]bool{}
	for key := range m.checkpoints {
		if matches(key.ThreadID) {
			found[key.ThreadID] = true
		}
	}
	return slices.Collect(maps.Keys(found))
}

func (m *memory) setParent(key checkpoint.Config, parent string) {
	moved := *m.checkpoints[key]
	moved.parent = parent
	m.checkpoints[key] = &moved
}

// restore brings back checkpoints.
func (m *memory) restore(was *memory, chosen func(checkpoint.Config) bool) {
	for key, r := range was.checkpoints {
		if chosen(key) {
			m.checkpoints[key] = r
		}
	}
}

func (m *memory) removeEarlyWrites(threadID string) {
	maps.DeleteFunc(m.writes, func(key checkpoint.Config, _ []checkpoint.Write) bool {
		_, saved := m.checkpoints[key]
		return key.ThreadID == threadID && !saved
	})
}
