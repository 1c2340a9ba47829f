package checkpointtest_test

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pgweft/pgweft/checkpoint"
)

// fault is what is wrong with a saver, and tests that have to find it: each of them, when only they are run.
type fault struct {
	saver func(*memory) checkpoint.Saver
	finds []string
}

// brokenBase are savers whose fault is in what every saver can do.
var brokenBase = map[string]fault{
	"ignores before": {
		listing(func(_ *checkpoint.Config, o *checkpoint.ListOptions) { o.Before = "" }),
		[]string{
			"list/test_list_before", "list/test_list_limit_plus_before", "list/more_list_pages_by_before_and_limit",
			"list/more_list_before_an_id_that_is_not_there",
		},
	},
	"takes before for inclusive": {
		listing(func(_ *checkpoint.Config, o *checkpoint.ListOptions) {
			if o.Before != "" {
				o.Before += "\x00"
			}
		}),
		[]string{"list/test_list_before", "list/test_list_limit_plus_before"},
	},
	"ignores limit": {
		listing(func(_ *checkpoint.Config, o *checkpoint.ListOptions) { o.Limit = min(o.Limit, 0) }),
		[]string{
			"list/test_list_limit", "list/test_list_limit_plus_before", "list/more_list_filters_before_it_limits",
		},
	},
	"ignores filter": {
		listing(func(_ *checkpoint.Config, o *checkpoint.ListOptions) { o.Filter = nil }),
		[]string{
			"list/test_list_metadata_filter_single_key", "list/more_list_across_threads",
			"fork/more_fork_keeps_more_metadata", "list/test_list_combined_thread_and_filter",
			"list/test_list_metadata_filter_step",
		},
	},
	"ignores all but one key of a filter": {
		listing(func(_ *checkpoint.Config, o *checkpoint.ListOptions) {
			for i, key := range slices.Sorted(maps.Keys(o.Filter)) {
				if i == 0 {
					o.Filter = checkpoint.Metadata{key: o.Filter[key]}
				}
			}
		}),
		[]string{"list/test_list_metadata_filter_multiple_keys", "list/test_list_metadata_filter_no_match"},
	},
	"takes null in a filter for absent": {
		listing(func(_ *checkpoint.Config, o *checkpoint.ListOptions) {
			o.Filter = maps.Clone(o.Filter)
			maps.DeleteFunc(o.Filter, func(_ string, value any) bool { return value == nil })
		}),
		[]string{"list/more_list_filter_takes_any_value"},
	},
	"ignores the checkpoint id of a list": {
		listing(func(c *checkpoint.Config, _ *checkpoint.ListOptions) { c.CheckpointID = "" }),
		[]string{"list/more_list_by_checkpoint_id"},
	},
	"lists every namespace": {
		listing(func(_ *checkpoint.Config, o *checkpoint.ListOptions) { o.AllNamespaces = true }),
		[]string{
			"list/test_list_by_namespace", "list/test_list_multiple_namespaces", "fork/more_fork_stays_in_its_namespace",
			"put/more_put_takes_any_identifier/quotes", "list/more_list_across_threads_in_one_namespace",
		},
	},
	"lists only the root namespace": {
		listing(func(_ *checkpoint.Config, o *checkpoint.ListOptions) { o.AllNamespaces = false }),
		[]string{"list/more_list_of_all_namespaces"},
	},
	"lists state that was not asked for": {
		listing(func(_ *checkpoint.Config, o *checkpoint.ListOptions) { o.WithoutState = false }),
		[]string{"list/more_list_without_state"},
	},
	"lists without writes": {
		listed(func(tuples []*checkpoint.Tuple) []*checkpoint.Tuple {
			for _, tuple := range tuples {
				tuple.PendingWrites = nil
			}
			return tuples
		}),
		[]string{"list/test_list_includes_pending_writes", "list/more_list_has_what_get_has"},
	},
	"lists oldest first": {
		listed(func(tuples []*checkpoint.Tuple) []*checkpoint.Tuple {
			slices.Reverse(tuples)
			return tuples
		}),
		[]string{
			"list/test_list_ordering", "fork/more_fork_is_the_newest_and_removes_nothing", "put/more_put_again_replaces",
			"list/test_list_all", "list/test_list_by_thread", "list/more_list_of_a_long_thread",
			"list/more_list_broken_off_leaves_the_saver_usable",
		},
	},
	"lists in the order of an alphabet": {
		listed(func(tuples []*checkpoint.Tuple) []*checkpoint.Tuple {
			slices.SortStableFunc(tuples, func(a, b *checkpoint.Tuple) int {
				return -strings.Compare(strings.ToLower(a.Config.CheckpointID), strings.ToLower(b.Config.CheckpointID))
			})
			return tuples
		}),
		[]string{"list/more_list_orders_by_id_not_by_time_of_put"},
	},
	"ends a cancelled list silently": {
		func(m *memory) checkpoint.Saver { return silentList{m} },
		[]string{"list/more_list_refuses_cancelled_context", "list/more_list_ends_when_cancelled_midway"},
	},
	"goes on after an error": {
		func(m *memory) checkpoint.Saver { return restlessList{m} },
		[]string{"list/more_list_refuses_what_cannot_be_listed"},
	},

	"drops metadata keys": {
		putting(func(p *putArguments) {
			p.metadata = maps.Clone(p.metadata)
			maps.DeleteFunc(p.metadata, func(key string, _ any) bool {
				return key != "source" && key != "step" && key != "parents"
			})
		}),
		[]string{
			"put/test_put_preserves_metadata", "put/test_put_preserves_run_id", "put/more_put_keeps_every_metadata_key",
			"list/test_list_metadata_custom_keys", "get_tuple/more_get_tuple_keeps_equal_ids_apart",
			"put/more_put_removes_nul_from_metadata",
		},
	},
	"forgets the parent": {
		reading(func(tuple *checkpoint.Tuple) { tuple.Parent = nil }),
		[]string{
			"put/test_put_parent_config", "get_tuple/test_get_tuple_parent_config", "list/more_list_without_state",
			"fork/more_fork_says_where_it_came_from", "put_step/more_put_step_saves_checkpoint_and_writes",
			"copy_thread/more_copy_thread_keeps_branches", "prune/more_prune_makes_parents_that_went_null",
			"get_delta_channel_history/more_history_agrees_with_get", "fork/more_fork_by_concurrent_callers_makes_all",
			"fork/more_fork_of_a_fork", "get_tuple/more_get_tuple_follows_the_parent_not_the_order_of_ids",
			"put/more_put_by_concurrent_writers_keeps_both_branches",
		},
	},
	"makes numbers floats": {
		reading(func(tuple *checkpoint.Tuple) { floats(tuple.Checkpoint.ChannelValues) }),
		[]string{
			"put/test_put_preserves_channel_values", "put/more_put_keeps_every_value/zero",
			"put/more_put_keeps_every_value/an_integer_above_2^53", "put_step/more_put_step_keeps_every_value/the_largest_integer",
		},
	},
	"drops NUL from values": {
		reading(func(tuple *checkpoint.Tuple) {
			for channel, value := range tuple.Checkpoint.ChannelValues {
				if text, ok := value.(string); ok {
					tuple.Checkpoint.ChannelValues[channel] = strings.ReplaceAll(text, "\x00", "")
				}
			}
		}),
		[]string{
			"put/more_put_keeps_every_value/text_with_NUL", "put/more_put_keeps_values_that_did_not_change/text_with_NUL",
			"put_step/more_put_step_keeps_every_value/text_with_NUL",
		},
	},
	"makes NaN null": {
		reading(func(tuple *checkpoint.Tuple) {
			for channel, value := range tuple.Checkpoint.ChannelValues {
				if f, ok := value.(float64); ok && f != f {
					tuple.Checkpoint.ChannelValues[channel] = nil
				}
			}
		}),
		[]string{
			"put/more_put_keeps_every_value/not_a_number", "put_step/more_put_step_keeps_every_value/not_a_number",
			"copy_thread/more_copy_thread_keeps_every_value",
		},
	},
	"loses the sign of zero": {
		reading(func(tuple *checkpoint.Tuple) {
			for channel, value := range tuple.Checkpoint.ChannelValues {
				if f, ok := value.(float64); ok && f == 0 {
					tuple.Checkpoint.ChannelValues[channel] = 0.0
				}
			}
		}),
		[]string{"put/more_put_keeps_every_value/negative_zero", "put_step/more_put_step_keeps_every_value/negative_zero"},
	},
	"makes versions text": {
		putting(func(p *putArguments) {
			for channel, version := range p.cp.ChannelVersions {
				p.cp.ChannelVersions[channel] = checkpoint.StringVersion(version.String())
			}
		}),
		[]string{
			"put/test_put_preserves_channel_versions", "put/more_put_keeps_the_kind_of_versions/an_integer",
			"get_tuple/test_get_tuple_checkpoint_fields", "fork/more_fork_of_integer_versions_keeps_the_old_branch",
			"list/more_list_without_state", "put_step/more_put_step_saves_checkpoint_and_writes",
		},
	},
	"drops fields it does not know": {
		putting(func(p *putArguments) { p.cp.Extra = nil }),
		[]string{"put/more_put_keeps_every_field/channels_updated"},
	},
	"makes unrecorded updates none": {
		putting(func(p *putArguments) { p.cp.UpdatedChannels = append([]string{}, p.cp.UpdatedChannels...) }),
		[]string{
			"put/more_put_keeps_every_field/updated_channels_not_recorded", "list/more_list_without_state",
			"put_step/more_put_step_saves_checkpoint_and_writes",
		},
	},
	"saves nothing for nil new versions": {
		putting(func(p *putArguments) {
			if p.newVersions == nil {
				p.newVersions = map[string]checkpoint.Version{}
			}
		}),
		[]string{
			"put/more_put_takes_nil_new_versions_for_all", "get_tuple/more_get_tuple_keeps_equal_ids_apart",
			"fork/more_fork_has_the_targets_state/CopyBlobs_false", "put_step/more_put_step_without_writes_is_put",
			"put/more_put_cancelled_midway_is_all_or_nothing", "put_step/more_put_step_cancelled_midway_is_all_or_nothing",
			"put/more_put_refuses_what_cannot_be_saved",
		},
	},
	"forgets values that did not change": {
		putting(func(p *putArguments) {
			if p.newVersions != nil {
				p.cp.ChannelVersions = maps.Clone(p.newVersions)
			}
		}),
		[]string{
			"put/test_put_incremental_channel_update", "put/test_put_new_channel_added",
			"delete_for_runs/more_delete_for_runs_keeps_values_that_others_share", "prune/more_prune_keeps_values_that_others_share",
		},
	},
	"drops values that collide": {
		func(m *memory) checkpoint.Saver {
			return faulty{memory: m, put: func(p *putArguments) {
				m.mu.Lock()
				defer m.mu.Unlock()
				if p.newVersions == nil {
					p.newVersions = p.cp.ChannelVersions
				}
				p.newVersions = maps.Clone(p.newVersions)
				maps.DeleteFunc(p.newVersions, func(channel string, version checkpoint.Version) bool {
					_, exists := m.blobs[blobKey{p.config.ThreadID, p.config.Namespace, channel, version.String()}]
					return exists
				})
			}}
		},
		[]string{"put/more_put_refuses_version_collision", "put_step/more_put_step_saves_nothing_on_version_collision"},
	},
	"saves half of what is cancelled": {
		func(m *memory) checkpoint.Saver {
			return faulty{memory: m, put: func(p *putArguments) {
				if p.ctx.Err() != nil {
					bare := *p.cp
					bare.ChannelValues = nil
					_, _ = m.Put(context.WithoutCancel(p.ctx), p.config, &bare, p.metadata, nil)
				}
			}}
		},
		[]string{"put/more_put_refuses_cancelled_context", "put_step/more_put_step_refuses_cancelled_context"},
	},
	"ignores cancellation": {
		func(m *memory) checkpoint.Saver { return tireless{m} },
		[]string{
			"put/more_put_refuses_cancelled_context", "put_writes/more_put_writes_refuses_cancelled_context",
			"get_tuple/more_get_tuple_refuses_cancelled_context", "list/more_list_refuses_cancelled_context",
			"delete_thread/more_delete_thread_refuses_cancelled_context", "fork/more_fork_refuses_cancelled_context",
			"put_step/more_put_step_refuses_cancelled_context", "copy_thread/more_copy_thread_refuses_cancelled_context",
			"delete_for_runs/more_delete_for_runs_refuses_cancelled_context", "prune/more_prune_refuses_cancelled_context",
			"get_delta_channel_history/more_history_refuses_cancelled_context",
		},
	},
	"gives out what it keeps": {
		func(m *memory) checkpoint.Saver {
			return &sharing{memory: m, given: map[checkpoint.Config]*checkpoint.Tuple{}}
		},
		[]string{"put/more_put_does_not_keep_the_callers_maps"},
	},
	"says that a checkpoint was created now": {
		reading(func(tuple *checkpoint.Tuple) { tuple.CreatedAt = tuple.CreatedAt.Add(time.Since(tuple.CreatedAt)) }),
		[]string{
			"get_tuple/more_get_tuple_says_when_it_was_created", "put/more_put_again_replaces", "list/more_list_has_what_get_has",
			"delete_thread/test_delete_thread_preserves_other_threads", "fork/more_fork_has_the_targets_state/CopyBlobs_true",
			"copy_thread/test_copy_thread_source_unchanged", "delete_for_runs/test_delete_for_runs_preserves_other_runs",
			"prune/test_prune_preserves_other_threads",
		},
	},

	"replaces ordinary writes": {
		func(m *memory) checkpoint.Saver { return replacing{m} },
		[]string{
			"put_writes/more_put_writes_does_not_replace_ordinary_channels",
			"put_writes/more_put_writes_does_not_replace_in_a_mixed_call",
		},
	},
	"never replaces writes": {
		func(m *memory) checkpoint.Saver { return neverReplacing{m} },
		[]string{"put_writes/more_put_writes_replaces_reserved_channels"},
	},
	"adds writes again": {
		func(m *memory) checkpoint.Saver { return adding{m} },
		[]string{
			"put_writes/test_put_writes_idempotent", "put_writes/more_put_writes_by_concurrent_tasks_keeps_all",
			"get_tuple/more_get_tuple_gives_old_formats_the_packets_of_their_parent",
			"get_delta_channel_history/test_history_orders_parallel_writes_by_task_path",
		},
	},
	"orders writes by task id": {
		reading(func(tuple *checkpoint.Tuple) {
			slices.SortStableFunc(tuple.PendingWrites, func(a, b checkpoint.Write) int { return strings.Compare(a.TaskID, b.TaskID) })
		}),
		[]string{"put_writes/more_put_writes_orders_by_path_task_and_index"},
	},
	"orders writes by index": {
		reading(func(tuple *checkpoint.Tuple) {
			slices.SortStableFunc(tuple.PendingWrites, func(a, b checkpoint.Write) int { return a.Index - b.Index })
		}),
		[]string{
			"put_writes/more_put_writes_orders_by_path_task_and_index", "put_step/more_put_step_keeps_the_order_of_each_task",
		},
	},
	"numbers reserved writes by position": {
		reading(func(tuple *checkpoint.Tuple) {
			for i := range tuple.PendingWrites {
				tuple.PendingWrites[i].Index = max(tuple.PendingWrites[i].Index, 0)
			}
		}),
		[]string{
			"put_writes/more_put_writes_numbers_by_position_and_reserved_channel",
			"put_step/more_put_step_keeps_the_order_of_each_task", "put_step/more_put_step_replaces_reserved_channels",
			"put_writes/more_put_writes_keeps_every_value",
			"put_writes/more_put_writes_takes_the_last_of_a_reserved_channel",
		},
	},
	"forgets task paths": {
		reading(func(tuple *checkpoint.Tuple) {
			for i := range tuple.PendingWrites {
				tuple.PendingWrites[i].TaskPath = ""
			}
		}),
		[]string{
			"put_writes/test_put_writes_task_path", "put_step/more_put_step_saves_checkpoint_and_writes",
			"put_writes/more_put_writes_ignores_the_writes_own_task", "put_writes/more_put_writes_takes_any_identifier",
		},
	},

	"returns nothing and no error for what is missing": {
		func(m *memory) checkpoint.Saver { return missingIsNil{m} },
		[]string{
			"get_tuple/test_get_tuple_nonexistent_returns_none", "get_tuple/test_get_tuple_nonexistent_checkpoint_id",
			"delete_thread/test_delete_thread_removes_checkpoints", "put/test_put_child_namespace",
			"put_writes/more_put_writes_may_precede_the_checkpoint",
			"put_step/more_put_step_saves_nothing_on_version_collision",
			"delete_thread/test_delete_thread_nonexistent_noop", "get_tuple/test_get_tuple_respects_namespace",
		},
	},
	"returns the newest for a missing id": {
		func(m *memory) checkpoint.Saver { return missingIsNewest{m} },
		[]string{
			"get_tuple/test_get_tuple_nonexistent_checkpoint_id", "get_tuple/more_get_tuple_finds_exact_ids_only",
			"put/more_put_refuses_version_collision", "put_step/more_put_step_saves_nothing_on_version_collision",
		},
	},
	"keeps old formats without packets": {
		putting(func(p *putArguments) { p.cp.V = max(p.cp.V, checkpoint.FormatVersion) }),
		[]string{
			"get_tuple/test_get_tuple_checkpoint_fields", "get_tuple/more_get_tuple_gives_old_formats_the_packets_of_their_parent",
			"put/more_put_keeps_every_field/channels_updated", "prune/more_prune_keeps_the_packets_of_old_formats",
			"delete_for_runs/more_delete_for_runs_keeps_the_packets_of_old_formats",
		},
	},

	"deletes checkpoints only": {
		func(m *memory) checkpoint.Saver {
			return deleting{m, func(m *memory, threadID string) {
				maps.DeleteFunc(m.checkpoints, func(key checkpoint.Config, _ *row) bool { return key.ThreadID == threadID })
			}}
		},
		[]string{
			"delete_thread/test_delete_thread_removes_writes", "delete_thread/more_delete_thread_leaves_nothing_to_collide_with",
			"delete_thread/more_delete_thread_removes_writes_without_checkpoint",
		},
	},
	"deletes the root namespace only": {
		func(m *memory) checkpoint.Saver {
			return deleting{m, func(m *memory, threadID string) {
				maps.DeleteFunc(m.checkpoints, func(key checkpoint.Config, _ *row) bool {
					return key.ThreadID == threadID && key.Namespace == ""
				})
			}}
		},
		[]string{"delete_thread/test_delete_thread_removes_all_namespaces"},
	},
	"deletes by prefix": {
		func(m *memory) checkpoint.Saver {
			return deleting{m, func(m *memory, threadID string) {
				maps.DeleteFunc(m.checkpoints, func(key checkpoint.Config, _ *row) bool {
					return strings.HasPrefix(key.ThreadID, threadID)
				})
			}}
		},
		[]string{"delete_thread/more_delete_thread_takes_the_id_literally"},
	},

	"forks integer versions as they are": {
		func(m *memory) checkpoint.Saver {
			m.stride = 0
			return m
		},
		[]string{"fork/more_fork_of_integer_versions_keeps_the_old_branch"},
	},
	"forks integer versions one above the others": {
		func(m *memory) checkpoint.Saver {
			m.stride = 1
			return m
		},
		[]string{
			"fork/more_fork_of_integer_versions_lets_both_branches_go_on",
			"fork/more_fork_by_concurrent_callers_keeps_integer_versions_apart",
		},
	},
	"forks by its own clock": {
		func(m *memory) checkpoint.Saver {
			m.newID = func(string) string { return checkpoint.NewID(0) }
			return m
		},
		[]string{"fork/more_fork_is_the_newest_even_if_a_clock_was_ahead"},
	},
	"forks without copying": {
		forking(func(o *checkpoint.ForkOptions) { o.CopyBlobs = false }),
		[]string{
			"fork/more_fork_with_copied_blobs_shares_nothing", "fork/more_fork_with_copied_blobs_moves_versions_seen",
		},
	},
	"forks without more metadata": {
		forking(func(o *checkpoint.ForkOptions) { o.Metadata = nil }),
		[]string{"fork/more_fork_keeps_more_metadata"},
	},
	"forks under an id of its own": {
		forking(func(o *checkpoint.ForkOptions) { o.ID = "" }),
		[]string{"fork/more_fork_takes_a_given_id", "fork/more_fork_refuses_what_cannot_be_forked"},
	},

	"takes no thread for one that is empty": {
		func(m *memory) checkpoint.Saver {
			return getter{m, func(ctx context.Context, config checkpoint.Config) (*checkpoint.Tuple, error) {
				tuple, err := m.Get(ctx, config)
				if config.ThreadID == "" {
					return nil, checkpoint.ErrNotFound
				}
				return tuple, err
			}}
		},
		[]string{"get_tuple/more_get_tuple_refuses_empty_thread_id"},
	},
	"deletes no thread": {
		func(m *memory) checkpoint.Saver { return neverDeleting{m} },
		[]string{"delete_thread/more_delete_thread_refuses_empty_thread_id", "delete_thread/test_delete_thread_removes_checkpoints"},
	},
	"takes the oldest for the newest": {
		getting(func(m *memory, config checkpoint.Config) checkpoint.Config {
			if all := m.inNamespace(config); config.CheckpointID == "" && len(all) > 0 {
				return all[len(all)-1]
			}
			return config
		}),
		[]string{"get_tuple/more_get_tuple_takes_the_newest_by_id", "get_tuple/test_get_tuple_latest_when_no_checkpoint_id"},
	},
	"reads the newest whatever the id": {
		getting(func(m *memory, config checkpoint.Config) checkpoint.Config {
			if len(m.inNamespace(config)) > 0 {
				config.CheckpointID = ""
			}
			return config
		}),
		[]string{"get_tuple/test_get_tuple_specific_checkpoint_id", "put/test_put_multiple_checkpoints_same_thread"},
	},
	"reads the newest of all threads": {
		getting(func(m *memory, config checkpoint.Config) checkpoint.Config {
			all := m.find(func(key checkpoint.Config) bool { return key.Namespace == config.Namespace })
			if config.CheckpointID == "" && len(all) > 0 {
				return all[0]
			}
			return config
		}),
		[]string{"put/test_put_multiple_threads_isolated"},
	},
	"says another namespace": {
		reading(func(tuple *checkpoint.Tuple) { tuple.Config.Namespace = "root" + tuple.Config.Namespace }),
		[]string{
			"put/test_put_root_namespace", "put/test_put_default_namespace", "put/test_put_child_namespace",
			"get_tuple/test_get_tuple_config_structure",
		},
	},
	"reads no metadata": {
		reading(func(tuple *checkpoint.Tuple) { tuple.Metadata = checkpoint.Metadata{} }),
		[]string{"get_tuple/test_get_tuple_metadata", "put/test_put_preserves_metadata"},
	},
	"reads no values": {
		reading(func(tuple *checkpoint.Tuple) { tuple.Checkpoint.ChannelValues = map[string]any{} }),
		[]string{"put/test_put_roundtrip", "get_tuple/more_get_tuple_keeps_equal_ids_apart"},
	},
	"reads no writes": {
		reading(func(tuple *checkpoint.Tuple) { tuple.PendingWrites = nil }),
		[]string{
			"get_tuple/test_get_tuple_pending_writes", "put_writes/test_put_writes_basic", "put_writes/test_put_writes_multiple_tasks",
			"put_writes/test_put_writes_preserves_channel_and_value", "put_writes/test_put_writes_special_channels",
		},
	},
	"forgets which versions nodes saw": {
		reading(func(tuple *checkpoint.Tuple) { tuple.Checkpoint.VersionsSeen = nil }),
		[]string{
			"put/test_put_preserves_versions_seen", "put/test_put_preserves_versions_seen_values",
			"fork/more_fork_shares_versions_by_default",
		},
	},
	"reads channels that went": {
		readingBeside(func(m *memory, tuple *checkpoint.Tuple) {
			if tuple.Parent != nil && m.checkpoints[*tuple.Parent] != nil {
				parent, err := m.tuple(*tuple.Parent)
				if err != nil {
					panic(err) // it was encoded on its way in
				}
				maps.Copy(parent.Checkpoint.ChannelValues, tuple.Checkpoint.ChannelValues)
				tuple.Checkpoint.ChannelValues = parent.Checkpoint.ChannelValues
			}
		}),
		[]string{"put/test_put_channel_removed"},
	},
	"returns what it was given for what it saved": {
		func(m *memory) checkpoint.Saver { return forgetful{m} },
		[]string{"put/test_put_returns_config"},
	},
	"refuses to put again": {
		func(m *memory) checkpoint.Saver { return refusing{m} },
		[]string{"put/more_put_by_concurrent_retries_succeeds", "put/more_put_again_replaces"},
	},
	"lists everything where nothing matches": {
		func(m *memory) checkpoint.Saver { return generousList{m} },
		[]string{"list/test_list_empty_result", "list/test_list_metadata_filter_no_match"},
	},
	"reads the writes of the parent": {
		readingBeside(func(m *memory, tuple *checkpoint.Tuple) {
			if tuple.Parent != nil {
				tuple.PendingWrites = append(cloneWrites(m.writes[*tuple.Parent]), tuple.PendingWrites...)
			}
		}),
		[]string{"put_writes/test_put_writes_cleared_on_next_checkpoint", "put_writes/more_put_writes_keeps_branches_apart"},
	},
	"reads the writes of other namespaces": {
		readingBeside(func(m *memory, tuple *checkpoint.Tuple) {
			for key, writes := range m.writes {
				if key.CheckpointID == tuple.Config.CheckpointID && key.Namespace != tuple.Config.Namespace {
					tuple.PendingWrites = append(tuple.PendingWrites, cloneWrites(writes)...)
				}
			}
		}),
		[]string{"put_writes/test_put_writes_across_namespaces"},
	},
	"forgets task ids": {
		reading(func(tuple *checkpoint.Tuple) {
			for i := range tuple.PendingWrites {
				tuple.PendingWrites[i].TaskID = ""
			}
		}),
		[]string{"put_writes/test_put_writes_preserves_task_id", "put_writes/test_put_writes_multiple_tasks"},
	},
	"saves one write a call": {
		writing(func(_ checkpoint.Config, writes []checkpoint.Write) ([]checkpoint.Write, error) {
			return writes[:min(len(writes), 1)], nil
		}),
		[]string{
			"put_writes/test_put_writes_multiple_writes_same_task", "put_writes/more_put_writes_keeps_several_to_one_channel",
			"put_writes/more_put_writes_cancelled_midway_is_all_or_nothing",
		},
	},
	"refuses no writes": {
		writing(func(_ checkpoint.Config, writes []checkpoint.Write) ([]checkpoint.Write, error) {
			if len(writes) == 0 {
				return nil, invalid("no writes")
			}
			return writes, nil
		}),
		[]string{"put_writes/more_put_writes_of_nothing_is_no_error"},
	},
	"saves the writes that it can": {
		writing(func(_ checkpoint.Config, writes []checkpoint.Write) ([]checkpoint.Write, error) {
			return slices.DeleteFunc(slices.Clone(writes), func(w checkpoint.Write) bool {
				_, err := clone(w.Value)
				return err != nil
			}), nil
		}),
		[]string{"put_writes/more_put_writes_refuses_what_cannot_be_saved"},
	},
	"forks the newest for what is missing": {
		func(m *memory) checkpoint.Saver { return eager{m} },
		[]string{"fork/more_fork_of_what_is_missing_is_not_found"},
	},
	"replaces the writes of a step": {
		func(m *memory) checkpoint.Saver {
			return faulty{memory: m, put: func(p *putArguments) {
				m.mu.Lock()
				defer m.mu.Unlock()
				delete(m.writes, checkpoint.Config{
					ThreadID: p.config.ThreadID, Namespace: p.config.Namespace, CheckpointID: p.cp.ID,
				})
			}}
		},
		[]string{"put_step/more_put_step_again_changes_no_write", "put/more_put_again_keeps_writes"},
	},

	"saves a step in two": {
		func(m *memory) checkpoint.Saver { return twoSteps{m} },
		[]string{
			"put_step/more_put_step_saves_nothing_on_version_collision",
			"put_step/more_put_step_saves_nothing_of_what_cannot_be_saved/a_value_that_cannot_be_stored",
		},
	},
}

// faulty is a memory that tampers with what goes in or comes out.
type faulty struct {
	*memory
	put   func(*putArguments)
	fork  func(*checkpoint.ForkOptions)
	list  func(*checkpoint.Config, *checkpoint.ListOptions)
	lists func([]*checkpoint.Tuple) []*checkpoint.Tuple
	tuple func(*checkpoint.Tuple)
}

type putArguments struct {
	ctx         context.Context
	config      checkpoint.Config
	cp          *checkpoint.Checkpoint
	metadata    checkpoint.Metadata
	newVersions map[string]checkpoint.Version
}

func putting(put func(*putArguments)) func(*memory) checkpoint.Saver {
	return func(m *memory) checkpoint.Saver { return faulty{memory: m, put: put} }
}

func forking(fork func(*checkpoint.ForkOptions)) func(*memory) checkpoint.Saver {
	return func(m *memory) checkpoint.Saver { return faulty{memory: m, fork: fork} }
}

func listing(list func(*checkpoint.Config, *checkpoint.ListOptions)) func(*memory) checkpoint.Saver {
	return func(m *memory) checkpoint.Saver { return faulty{memory: m, list: list} }
}

func listed(lists func([]*checkpoint.Tuple) []*checkpoint.Tuple) func(*memory) checkpoint.Saver {
	return func(m *memory) checkpoint.Saver { return faulty{memory: m, lists: lists} }
}

func reading(tuple func(*checkpoint.Tuple)) func(*memory) checkpoint.Saver {
	return func(m *memory) checkpoint.Saver { return faulty{memory: m, tuple: tuple} }
}

func (f faulty) Put(ctx context.Context, config checkpoint.Config, cp *checkpoint.Checkpoint,
	metadata checkpoint.Metadata, newVersions map[string]checkpoint.Version,
) (checkpoint.Config, error) {
	return f.PutStep(ctx, config, cp, metadata, newVersions, nil)
}

func (f faulty) PutStep(ctx context.Context, config checkpoint.Config, cp *checkpoint.Checkpoint,
	metadata checkpoint.Metadata, newVersions map[string]checkpoint.Version, writes []checkpoint.Write,
) (checkpoint.Config, error) {
	if f.put != nil && cp != nil {
		copied := *cp
		copied.ChannelVersions = maps.Clone(cp.ChannelVersions)
		arguments := putArguments{ctx, config, &copied, metadata, newVersions}
		f.put(&arguments)
		cp, metadata, newVersions = arguments.cp, arguments.metadata, arguments.newVersions
	}
	return f.memory.PutStep(ctx, config, cp, metadata, newVersions, writes)
}

func (f faulty) Get(ctx context.Context, config checkpoint.Config) (*checkpoint.Tuple, error) {
	tuple, err := f.memory.Get(ctx, config)
	if err == nil && f.tuple != nil {
		f.tuple(tuple)
	}
	return tuple, err
}

func (f faulty) List(ctx context.Context, config checkpoint.Config,
	options checkpoint.ListOptions,
) iter.Seq2[*checkpoint.Tuple, error] {
	if f.list != nil {
		f.list(&config, &options)
	}
	return func(yield func(*checkpoint.Tuple, error) bool) {
		var tuples []*checkpoint.Tuple
		for tuple, err := range f.memory.List(ctx, config, options) {
			if err != nil {
				yield(nil, err)
				return
			}
			if f.tuple != nil {
				f.tuple(tuple)
			}
			tuples = append(tuples, tuple)
		}
		if f.lists != nil {
			tuples = f.lists(tuples)
		}
		for _, tuple := range tuples {
			if !yield(tuple, nil) {
				return
			}
		}
	}
}

func (f faulty) Fork(ctx context.Context, config checkpoint.Config,
	options checkpoint.ForkOptions,
) (checkpoint.Config, error) {
	if f.fork != nil {
		f.fork(&options)
	}
	return f.memory.Fork(ctx, config, options)
}

func floats(values map[string]any) {
	for channel, value := range values {
		switch v := value.(type) {
		case int:
			values[channel] = float64(v)
		case int64:
			values[channel] = float64(v)
		}
	}
}

// getter answers Get in another way.
type getter struct {
	*memory
	read func(context.Context, checkpoint.Config) (*checkpoint.Tuple, error)
}

func (g getter) Get(ctx context.Context, config checkpoint.Config) (*checkpoint.Tuple, error) {
	return g.read(ctx, config)
}

// getting reads another checkpoint than the one asked for.
func getting(another func(*memory, checkpoint.Config) checkpoint.Config) func(*memory) checkpoint.Saver {
	return func(m *memory) checkpoint.Saver {
		return getter{m, func(ctx context.Context, config checkpoint.Config) (*checkpoint.Tuple, error) {
			m.mu.Lock()
			defer m.mu.Unlock()
			return m.get(ctx, another(m, config))
		}}
	}
}

// readingBeside tampers with what comes out, by what else is in the tables.
func readingBeside(tamper func(*memory, *checkpoint.Tuple)) func(*memory) checkpoint.Saver {
	return func(m *memory) checkpoint.Saver {
		return faulty{memory: m, tuple: func(tuple *checkpoint.Tuple) {
			m.mu.Lock()
			defer m.mu.Unlock()
			tamper(m, tuple)
		}}
	}
}

type writer struct {
	*memory
	choose func(checkpoint.Config, []checkpoint.Write) ([]checkpoint.Write, error)
}

func (w writer) PutWrites(ctx context.Context, config checkpoint.Config, writes []checkpoint.Write,
	taskID, taskPath string,
) error {
	chosen, err := w.choose(config, writes)
	if err != nil {
		return err
	}
	return w.memory.PutWrites(ctx, config, chosen, taskID, taskPath)
}

// writing saves other writes than those it was given.
func writing(choose func(checkpoint.Config, []checkpoint.Write) ([]checkpoint.Write, error)) func(*memory) checkpoint.Saver {
	return func(m *memory) checkpoint.Saver { return writer{m, choose} }
}

type neverDeleting struct{ *memory }

func (neverDeleting) DeleteThread(ctx context.Context, _ string) error { return ctx.Err() }

// forgetful returns the config of the parent.
type forgetful struct{ *memory }

func (f forgetful) Put(ctx context.Context, config checkpoint.Config, cp *checkpoint.Checkpoint,
	metadata checkpoint.Metadata, newVersions map[string]checkpoint.Version,
) (checkpoint.Config, error) {
	_, err := f.memory.Put(ctx, config, cp, metadata, newVersions)
	return config, err
}

// refusing knows no retries.
type refusing struct{ *memory }

func (r refusing) Put(ctx context.Context, config checkpoint.Config, cp *checkpoint.Checkpoint,
	metadata checkpoint.Metadata, newVersions map[string]checkpoint.Version,
) (checkpoint.Config, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if cp != nil && r.checkpoints[checkpoint.Config{ThreadID: config.ThreadID, Namespace: config.Namespace, CheckpointID: cp.ID}] != nil {
		return checkpoint.Config{}, invalid("checkpoint %q is there already", cp.ID)
	}
	return r.putStep(ctx, config, cp, metadata, newVersions, nil)
}

type eager struct{ *memory }

func (e eager) Fork(ctx context.Context, config checkpoint.Config,
	options checkpoint.ForkOptions,
) (checkpoint.Config, error) {
	if _, err := e.Get(ctx, config); errors.Is(err, checkpoint.ErrNotFound) {
		if newest, err := e.Get(ctx, checkpoint.Config{ThreadID: config.ThreadID, Namespace: config.Namespace}); err == nil {
			config = newest.Config
		}
	}
	return e.memory.Fork(ctx, config, options)
}

type generousList struct{ *memory }

func (g generousList) List(ctx context.Context, config checkpoint.Config,
	options checkpoint.ListOptions,
) iter.Seq2[*checkpoint.Tuple, error] {
	return func(yield func(*checkpoint.Tuple, error) bool) {
		matches := false
		for tuple, err := range g.memory.List(ctx, config, options) {
			matches = true
			if !yield(tuple, err) {
				return
			}
		}
		if !matches {
			options.Filter = nil
			g.memory.List(ctx, config, options)(yield)
		}
	}
}

type silentList struct{ *memory }

func (s silentList) List(ctx context.Context, config checkpoint.Config,
	options checkpoint.ListOptions,
) iter.Seq2[*checkpoint.Tuple, error] {
	return func(yield func(*checkpoint.Tuple, error) bool) {
		for tuple, err := range s.memory.List(ctx, config, options) {
			if ctx.Err() != nil || !yield(tuple, err) {
				return
			}
		}
	}
}

type restlessList struct{ *memory }

func (r restlessList) List(ctx context.Context, config checkpoint.Config,
	options checkpoint.ListOptions,
) iter.Seq2[*checkpoint.Tuple, error] {
	return func(yield func(*checkpoint.Tuple, error) bool) {
		for tuple, err := range r.memory.List(ctx, config, options) {
			if !yield(tuple, err) || (err != nil && !yield(&checkpoint.Tuple{Checkpoint: &checkpoint.Checkpoint{}}, nil)) {
				return
			}
		}
	}
}

// tireless never stops for a context.
type tireless struct{ *memory }

func (t tireless) Get(ctx context.Context, config checkpoint.Config) (*checkpoint.Tuple, error) {
	return t.memory.Get(context.WithoutCancel(ctx), config)
}

func (t tireless) List(ctx context.Context, config checkpoint.Config,
	options checkpoint.ListOptions,
) iter.Seq2[*checkpoint.Tuple, error] {
	return t.memory.List(context.WithoutCancel(ctx), config, options)
}

func (t tireless) Put(ctx context.Context, config checkpoint.Config, cp *checkpoint.Checkpoint,
	metadata checkpoint.Metadata, newVersions map[string]checkpoint.Version,
) (checkpoint.Config, error) {
	return t.memory.Put(context.WithoutCancel(ctx), config, cp, metadata, newVersions)
}

func (t tireless) PutStep(ctx context.Context, config checkpoint.Config, cp *checkpoint.Checkpoint,
	metadata checkpoint.Metadata, newVersions map[string]checkpoint.Version, writes []checkpoint.Write,
) (checkpoint.Config, error) {
	return t.memory.PutStep(context.WithoutCancel(ctx), config, cp, metadata, newVersions, writes)
}

func (t tireless) PutWrites(ctx context.Context, config checkpoint.Config, writes []checkpoint.Write,
	taskID, taskPath string,
) error {
	return t.memory.PutWrites(context.WithoutCancel(ctx), config, writes, taskID, taskPath)
}

func (t tireless) DeleteThread(ctx context.Context, threadID string) error {
	return t.memory.DeleteThread(context.WithoutCancel(ctx), threadID)
}

func (t tireless) Fork(ctx context.Context, config checkpoint.Config,
	options checkpoint.ForkOptions,
) (checkpoint.Config, error) {
	return t.memory.Fork(context.WithoutCancel(ctx), config, options)
}

func (t tireless) DeltaHistory(ctx context.Context, config checkpoint.Config, channels []string) (histories, error) {
	return t.memory.DeltaHistory(context.WithoutCancel(ctx), config, channels)
}

func (t tireless) CopyThread(ctx context.Context, sourceThreadID, targetThreadID string) error {
	return t.memory.CopyThread(context.WithoutCancel(ctx), sourceThreadID, targetThreadID)
}

func (t tireless) DeleteForRuns(ctx context.Context, runIDs []string) ([]checkpoint.Removed, error) {
	return t.memory.DeleteForRuns(context.WithoutCancel(ctx), runIDs)
}

func (t tireless) Prune(ctx context.Context, threadIDs []string, options checkpoint.PruneOptions) ([]checkpoint.Removed, error) {
	return t.memory.Prune(context.WithoutCancel(ctx), threadIDs, options)
}

// sharing returns one tuple to everyone who asks for a checkpoint, until something changes.
type sharing struct {
	*memory
	mu    sync.Mutex
	given map[checkpoint.Config]*checkpoint.Tuple
}

func (s *sharing) Get(ctx context.Context, config checkpoint.Config) (*checkpoint.Tuple, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if tuple, ok := s.given[config]; ok && ctx.Err() == nil {
		return tuple, nil
	}
	tuple, err := s.memory.Get(ctx, config)
	if err == nil {
		s.given[config] = tuple
	}
	return tuple, err
}

func (s *sharing) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.given)
}

func (s *sharing) Put(ctx context.Context, config checkpoint.Config, cp *checkpoint.Checkpoint,
	metadata checkpoint.Metadata, newVersions map[string]checkpoint.Version,
) (checkpoint.Config, error) {
	defer s.forget()
	return s.memory.Put(ctx, config, cp, metadata, newVersions)
}

func (s *sharing) PutStep(ctx context.Context, config checkpoint.Config, cp *checkpoint.Checkpoint,
	metadata checkpoint.Metadata, newVersions map[string]checkpoint.Version, writes []checkpoint.Write,
) (checkpoint.Config, error) {
	defer s.forget()
	return s.memory.PutStep(ctx, config, cp, metadata, newVersions, writes)
}

func (s *sharing) PutWrites(ctx context.Context, config checkpoint.Config, writes []checkpoint.Write,
	taskID, taskPath string,
) error {
	defer s.forget()
	return s.memory.PutWrites(ctx, config, writes, taskID, taskPath)
}

func (s *sharing) DeleteThread(ctx context.Context, threadID string) error {
	defer s.forget()
	return s.memory.DeleteThread(ctx, threadID)
}

func (s *sharing) DeleteForRuns(ctx context.Context, runIDs []string) ([]checkpoint.Removed, error) {
	defer s.forget()
	return s.memory.DeleteForRuns(ctx, runIDs)
}

func (s *sharing) Prune(ctx context.Context, threadIDs []string, options checkpoint.PruneOptions) ([]checkpoint.Removed, error) {
	defer s.forget()
	return s.memory.Prune(ctx, threadIDs, options)
}

func (s *sharing) Fork(ctx context.Context, config checkpoint.Config,
	options checkpoint.ForkOptions,
) (checkpoint.Config, error) {
	defer s.forget()
	return s.memory.Fork(ctx, config, options)
}

// replacing is a plain upsert.
type replacing struct{ *memory }

func (r replacing) PutWrites(ctx context.Context, config checkpoint.Config, writes []checkpoint.Write,
	taskID, taskPath string,
) error {
	if _, err := mergeTask(nil, writes); err == nil && ctx.Err() == nil {
		r.mu.Lock()
		r.writes[config] = slices.DeleteFunc(slices.Clone(r.writes[config]), func(stored checkpoint.Write) bool {
			return stored.TaskID == taskID && slices.ContainsFunc(writes, func(w checkpoint.Write) bool {
				return w.Channel == stored.Channel
			})
		})
		r.mu.Unlock()
	}
	return r.memory.PutWrites(ctx, config, writes, taskID, taskPath)
}

type neverReplacing struct{ *memory }

func (n neverReplacing) PutWrites(ctx context.Context, config checkpoint.Config, writes []checkpoint.Write,
	taskID, taskPath string,
) error {
	n.mu.Lock()
	stored := n.writes[config]
	n.mu.Unlock()
	if slices.ContainsFunc(stored, func(w checkpoint.Write) bool { return w.TaskID == taskID && w.Index < 0 }) {
		writes = slices.DeleteFunc(slices.Clone(writes), func(w checkpoint.Write) bool { return reservedIndexes[w.Channel] != 0 })
	}
	return n.memory.PutWrites(ctx, config, writes, taskID, taskPath)
}

// adding knows no key of a write.
type adding struct{ *memory }

func (a adding) PutWrites(ctx context.Context, config checkpoint.Config, writes []checkpoint.Write,
	taskID, taskPath string,
) error {
	a.mu.Lock()
	before := slices.Clone(a.writes[config])
	delete(a.writes, config)
	a.mu.Unlock()
	err := a.memory.PutWrites(ctx, config, writes, taskID, taskPath)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.writes[config] = append(before, a.writes[config]...)
	return err
}

type missingIsNil struct{ *memory }

func (m missingIsNil) Get(ctx context.Context, config checkpoint.Config) (*checkpoint.Tuple, error) {
	tuple, err := m.memory.Get(ctx, config)
	if tuple == nil && ctx.Err() == nil && config.ThreadID != "" {
		return nil, nil
	}
	return tuple, err
}

type missingIsNewest struct{ *memory }

func (m missingIsNewest) Get(ctx context.Context, config checkpoint.Config) (*checkpoint.Tuple, error) {
	tuple, err := m.memory.Get(ctx, config)
	if tuple == nil && ctx.Err() == nil {
		config.CheckpointID = ""
		return m.memory.Get(ctx, config)
	}
	return tuple, err
}

type deleting struct {
	*memory
	remove func(m *memory, threadID string)
}

func (d deleting) DeleteThread(ctx context.Context, threadID string) error {
	if ctx.Err() != nil || threadID == "" {
		return d.memory.DeleteThread(ctx, threadID)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.remove(d.memory, threadID)
	return nil
}

// twoSteps saves the writes of a step first and its checkpoint afterwards.
type twoSteps struct{ *memory }

func (s twoSteps) PutStep(ctx context.Context, config checkpoint.Config, cp *checkpoint.Checkpoint,
	metadata checkpoint.Metadata, newVersions map[string]checkpoint.Version, writes []checkpoint.Write,
) (checkpoint.Config, error) {
	if ctx.Err() == nil && config.ThreadID != "" && cp != nil {
		key := config
		key.CheckpointID = cp.ID
		s.mu.Lock()
		merged, err := mergeByTask(s.writes[key], writes)
		if err == nil {
			s.writes[key] = merged
		}
		s.mu.Unlock()
	}
	return s.memory.PutStep(ctx, config, cp, metadata, newVersions, writes)
}

// bare has none of the optional interfaces.
type bare struct{ checkpoint.Saver }
