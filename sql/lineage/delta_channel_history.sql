-- What rebuilds delta channels at a checkpoint (the newest when p_checkpoint_id is null): for each channel, the value that
-- its nearest storing ancestor keeps (kind 'seed'; none when the walk reaches the root), then the writes to it from there
-- down to the parent, oldest first (kind 'write'). The seed's checkpoint contributes its own writes too, because they came
-- after the value it keeps; the checkpoint's own writes are not part of its state.
-- One walk serves all channels, each stopping at its own seed. It follows parents, so writes of other branches never count,
-- and it probes by key, so its cost is that of the path and not of the thread.
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
language plpgsql
stable
parallel safe
security invoker
rows 100
set jit = off
as $fn$
#variable_conflict use_column
declare
  v_target text;
  v_parent text;
begin
  if p_thread_id is null or p_thread_id = '' or p_checkpoint_ns is null or p_checkpoint_id = '' or p_channels is null
    or array_position(p_channels, null) is not null or p_replay_order is null
    or p_replay_order not in ('task_path', 'task_id') then
    perform @extschema@.reject_argument('delta channel history',
      format('thread_id %L, checkpoint_ns %L, checkpoint_id %L, channels %L, replay_order %L.', p_thread_id, p_checkpoint_ns,
        p_checkpoint_id, p_channels, p_replay_order),
      'checkpoint_id is null for the newest; replay_order is "task_path" or "task_id".');
  end if;
  select c.checkpoint_id, c.parent_checkpoint_id into v_target, v_parent
  from @extschema@.checkpoints c
  where c.thread_id = p_thread_id
    and c.checkpoint_ns = p_checkpoint_ns
    and c.checkpoint_id >= coalesce(p_checkpoint_id, '')
    and c.checkpoint_id <= coalesce(p_checkpoint_id, U&'\+10FFFF')
  order by c.checkpoint_id desc
  limit 1;
  if v_target is null then
    perform @extschema@.reject_missing_checkpoint(p_thread_id, p_checkpoint_ns, p_checkpoint_id);
  end if;

  return query
  with recursive walk as (
    -- The landmark moves ahead in doubling strides (Brent); meeting it again means a circle.
    select w.channel, 0 as depth, null collate "C" as checkpoint_id, v_parent collate "C" as parent_checkpoint_id,
      null collate "C" as blob_version, null::jsonb as inline_value, v_target collate "C" as landmark, 1 as span, 0 as age,
      false as is_cycle
    from (select distinct u.channel collate "C" as channel from unnest(p_channels) u (channel)) w
    union all
    select w.channel, w.depth + 1, c.checkpoint_id, c.parent_checkpoint_id, s.blob_version, s.inline_value,
      case when w.age + 1 = w.span then c.checkpoint_id else w.landmark end,
      case when w.age + 1 = w.span then w.span * 2 else w.span end,
      case when w.age + 1 = w.span then 0 else w.age + 1 end,
      case when c.checkpoint_id = w.landmark
        then @extschema@.reject_cycle(p_thread_id, p_checkpoint_ns, c.checkpoint_id) end
    from walk w
    cross join lateral (
      select p.checkpoint_id, p.parent_checkpoint_id, p.checkpoint
      from @extschema@.checkpoints p
      where p.thread_id = p_thread_id
        and p.checkpoint_ns = p_checkpoint_ns
        and p.checkpoint_id = w.parent_checkpoint_id
      limit 1
    ) c
    left join lateral @extschema@.stored_value(p_thread_id, p_checkpoint_ns, c.checkpoint, w.channel) s on true
    where w.blob_version is null and w.inline_value is null
  )
  select h.channel, h.kind, h.checkpoint_id, h.task_id, h.task_path, h.idx, h.type, h.blob, h.value
  from (
    select w.channel, 'seed' as kind, w.depth, w.checkpoint_id, null collate "C" as task_id, null collate "C" as task_path,
      null::integer as idx, b.type, b.blob, w.inline_value as value
    from walk w
    left join lateral (
      select cb.type, cb.blob
      from @extschema@.checkpoint_blobs cb
      where cb.thread_id = p_thread_id
        and cb.checkpoint_ns = p_checkpoint_ns
        and cb.channel = w.channel
        and cb.version = w.blob_version
      limit 1
    ) b on true
    where w.blob_version is not null or w.inline_value is not null
    union all
    select w.channel, 'write', w.depth, w.checkpoint_id, cw.task_id, cw.task_path, cw.idx, cw.type, cw.blob, null
    from walk w
    cross join lateral (
      select *
      from @extschema@.checkpoint_writes k
      where k.thread_id = p_thread_id
        and k.checkpoint_ns = p_checkpoint_ns
        and k.checkpoint_id = w.checkpoint_id
        and k.channel = w.channel
      offset 0
    ) cw
  ) h
  order by h.channel, h.depth desc, h.kind,
    case when p_replay_order = 'task_path' then h.task_path end, h.task_id, h.idx;
end
$fn$;

comment on function @extschema@.delta_channel_history(text, text, text, text[], text) is
  'For each delta channel the stored value it starts from and the writes since, along the parents of a checkpoint.';
revoke all on function @extschema@.delta_channel_history(text, text, text, text[], text) from public;
