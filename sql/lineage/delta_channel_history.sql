-- What rebuilds delta channels at a checkpoint (the newest when p_checkpoint_id is null): for each channel, the value that
-- its nearest storing ancestor keeps (kind 'seed'; none when the walk reaches the root), then the writes to it from there
-- down to the parent, oldest first (kind 'write'). The seed's checkpoint contributes its own writes too, because they came
-- after the value it keeps; the checkpoint's own writes are not part of its state. Writes of other branches never count.
-- In a FROM clause the planner inlines this function: the writes of one part of the path after the other are read, sorted and
-- sent, and never all of them kept.
--   p_replay_order  'task_path' applies the writes of one checkpoint by task_path, task_id, idx, as runtimes do; 'task_id'
--                   by task_id, idx, as savers before langgraph 1.2.13 replayed them
-- A blob seed has type and blob, an inline one value.
-- Locks: none. Errors: LG001; LG002; LG006 when the parents run in a circle.
create or replace function @extschema@.delta_channel_history(
  p_thread_id text,
  p_checkpoint_ns text,
  p_checkpoint_id text,
  p_channels text[],
  p_replay_order text default 'task_path'
)
returns table (
  channel text,
  kind text,
  checkpoint_id text,
  task_id text,
  task_path text,
  idx integer,
  type text,
  blob bytea,
  value jsonb
)
language sql
stable
parallel safe
security invoker
rows 100
as $fn$
  select p.channel, h.kind, h.checkpoint_id, h.task_id, h.task_path, h.idx, h.type, h.blob, h.value
  from (
    select *
    from @extschema@.delta_channel_path(p_thread_id, p_checkpoint_ns, p_checkpoint_id, p_channels, p_replay_order)
    order by part
    offset 0
  ) p
  cross join lateral (
    select 'seed' as kind, p.ancestors[cardinality(p.ancestors)] as checkpoint_id, null::text as task_id,
      null::text as task_path, null::integer as idx, p.type, p.blob, p.value
    where p.is_seed
    union all
    select 'write', w.checkpoint_id, w.task_id, w.task_path, w.idx, w.type, w.blob, null
    from @extschema@.checkpoint_writes w
    where w.thread_id = p_thread_id
      and w.checkpoint_ns = p_checkpoint_ns
      and w.checkpoint_id >= p.ancestors[cardinality(p.ancestors)]
      and w.checkpoint_id <= p.ancestors[1]
      and w.channel = p.channel
      and array_position(p.ancestors, w.checkpoint_id) is not null
  ) h
  order by p.part, h.kind collate "C", h.checkpoint_id collate "C",
    case when p_replay_order = 'task_path' then h.task_path end collate "C", h.task_id collate "C", h.idx
$fn$;

comment on function @extschema@.delta_channel_history(text, text, text, text[], text) is
  'For each delta channel the stored value it starts from and the writes since, along the parents of a checkpoint.';
revoke all on function @extschema@.delta_channel_history(text, text, text, text[], text) from public;
