package checkpointtest_test

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pgweft/pgweft/checkpoint"
)

// broken are savers with one fault each, and tests that have to find it. No other capability may fail than those of the
// tests named.
var broken = map[string]struct {
	saver func(*memory) checkpoint.Saver
	finds []string
}{
	"ignores before": {
		listing(func(_ *checkpoint.Config, o *checkpoint.ListOptions) { o.Before = "" }),
		[]string{"list/test_list_before", "list/test_list_limit_plus_before", "list/more_list_pages_by_before_and_limit"},
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
		[]string{"list/test_list_limit", "list/test_list_limit_plus_before"},
	},
	"ignores filter": {
		listing(func(_ *checkpoint.Config, o *checkpoint.ListOptions) { o.Filter = nil }),
		[]string{"list/test_list_metadata_filter_single_key", "list/more_list_across_threads", "fork/more_fork_keeps_more_metadata"},
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
			"put/more_put_takes_any_identifier/quotes",
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
		[]string{"list/test_list_ordering", "fork/more_fork_is_the_newest_and_removes_nothing", "put/more_put_again_replaces"},
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
		},
	},
	"forgets the parent": {
		reading(func(tuple *checkpoint.Tuple) { tuple.Parent = nil }),
		[]string{
			"put/test_put_parent_config", "get_tuple/test_get_tuple_parent_config", "list/more_list_without_state",
			"fork/more_fork_says_where_it_came_from", "put_step/more_put_step_saves_checkpoint_and_writes",
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
		[]string{"put/more_put_keeps_every_value/not_a_number", "put_step/more_put_step_keeps_every_value/not_a_number"},
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
			"put/more_put_takes_nil_new_versions_for_all", "get_tuple/more_get_tuple_keeps_equal_ids_apart", "fork/more_fork_has_the_targets_state/CopyBlobs_false",
			"put_step/more_put_step_without_writes_is_put",
		},
	},
	"forgets values that did not change": {
		putting(func(p *putArguments) {
			if p.newVersions != nil {
				p.cp.ChannelVersions = maps.Clone(p.newVersions)
			}
		}),
		[]string{"put/test_put_incremental_channel_update", "put/test_put_new_channel_added"},
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
			"put_step/more_put_step_refuses_cancelled_context",
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
			"put_step/more_put_step_keeps_the_order_of_each_task",
		},
	},
	"forgets task paths": {
		reading(func(tuple *checkpoint.Tuple) {
			for i := range tuple.PendingWrites {
				tuple.PendingWrites[i].TaskPath = ""
			}
		}),
		[]string{"put_writes/test_put_writes_task_path", "put_step/more_put_step_saves_checkpoint_and_writes"},
	},

	"returns nothing and no error for what is missing": {
		func(m *memory) checkpoint.Saver { return missingIsNil{m} },
		[]string{
			"get_tuple/test_get_tuple_nonexistent_returns_none", "get_tuple/test_get_tuple_nonexistent_checkpoint_id",
			"delete_thread/test_delete_thread_removes_checkpoints", "put/test_put_child_namespace",
			"put_writes/more_put_writes_may_precede_the_checkpoint", "put_step/more_put_step_saves_nothing_on_version_collision",
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
			"put/more_put_keeps_every_field/channels_updated",
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
		[]string{"fork/more_fork_of_integer_versions_lets_both_branches_go_on"},
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

// sharing returns one tuple to everyone who asks for a checkpoint, until something is saved.
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
