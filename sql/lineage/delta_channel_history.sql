-- What rebuilds delta channels at a checkpoint (the newest when p_checkpoint_id is null): for each channel, the value that
-- its nearest storing ancestor keeps (kind 'seed'; none when the walk reaches the root), then the writes to it from there
-- down to the parent, oldest first (kind 'write'). The seed's checkpoint contributes its own writes too, because they came
-- after the value it keeps; the checkpoint's own writes are not part of its state.
-- The walk follows parents, so writes of other branches never count. It reads the index downwards from the checkpoint as long as
-- that meets the next parent soon, for parents mostly stand right below, and looks it up where it does not: so the cost is that
-- of the path, and not of the thread.
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
-- The walk stops early, and a bitmap reads everything first. The path is long or short, whatever the planner takes it for, and
-- to be hashed.
set enable_bitmapscan = off
set enable_nestloop = off
as $fn$
#variable_conflict use_column
declare
  v_target text;
  v_parent text;
  v_channel text;
  v_versions text[];      -- of all stored values of the channel, once they are read
  v_wanted text collate "C";
  v_path text[];          -- from the parent up to what stores a value, or to the root
  v_tops text[];          -- the stretches of the index in which the path lies, and between which steps of it
  v_bottoms text[];
  v_starts integer[];
  v_stops integer[];
  v_blob_version text;
  v_inline_value jsonb;
  v_others bigint;        -- checkpoints of other branches that were read
  v_before integer;
  v_again boolean;
  v_upwards integer;      -- how often a parent sorted above its child
  r record;
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

  for v_channel in select distinct u.channel collate "C" as channel from unnest(p_channels) u (channel) order by 1 loop
    v_versions := null;
    v_wanted := v_parent;
    v_path := '{}';
    v_tops := '{}';
    v_bottoms := '{}';
    v_starts := '{}';
    v_stops := '{}';
    v_blob_version := null;
    v_inline_value := null;
    v_others := 0;
    v_upwards := 0;
    loop
      v_before := cardinality(v_path);
      -- Instead of looking for a stored value at each step, all are read at once, unless they are many times the steps so far.
      if v_versions is null and v_before >= 16 then
        select case when count(*) <= 10 * v_before then coalesce(array_agg(b.version), '{}') end into v_versions
        from (
          select cb.version
          from @extschema@.checkpoint_blobs cb
          where cb.thread_id = p_thread_id and cb.checkpoint_ns = p_checkpoint_ns and cb.channel = v_channel and cb.type <> 'empty'
          limit 10 * v_before + 1
        ) b;
      end if;
      v_again := false;
      for r in
        select c.checkpoint_id, c.parent_checkpoint_id, v.version, v.inline_value,
          coalesce(v.version = any (v_versions), v_versions is null) or coalesce(v.inline_value <> 'null', false) as may_store
        from @extschema@.checkpoints c
        cross join lateral (
          select c.checkpoint -> 'channel_versions' ->> v_channel as version, c.checkpoint -> 'channel_values' -> v_channel as inline_value
        ) v
        where c.thread_id = p_thread_id and c.checkpoint_ns = p_checkpoint_ns and c.checkpoint_id <= v_wanted
        order by c.checkpoint_id desc
        limit 16 + 10 * v_before
      loop
        if r.checkpoint_id = v_wanted then
          v_again := true;
          v_path := v_path || r.checkpoint_id;
          if r.may_store then
            if r.version = any (v_versions) or v_versions is null and exists (
              select
              from @extschema@.checkpoint_blobs cb
              where cb.thread_id = p_thread_id
                and cb.checkpoint_ns = p_checkpoint_ns
                and cb.channel = v_channel
                and cb.version = r.version
                and cb.type <> 'empty'
            ) then
              v_blob_version := r.version;
            elsif r.inline_value <> 'null' then
              v_inline_value := r.inline_value;
            end if;
            exit when v_blob_version is not null or v_inline_value is not null;
          end if;
          v_wanted := r.parent_checkpoint_id;
          exit when (v_wanted < r.checkpoint_id) is not true;
        else
          v_others := v_others + 1;
          exit when r.checkpoint_id < v_wanted or v_others > 10 + 10 * cardinality(v_path);
        end if;
      end loop;
      -- Not even the first was there, or the way has ended.
      exit when not v_again;
      v_tops := v_tops || v_path[v_before + 1];
      v_bottoms := v_bottoms || v_path[cardinality(v_path)];
      v_starts := v_starts || v_before;
      v_stops := v_stops || cardinality(v_path);
      exit when v_wanted is null or v_blob_version is not null or v_inline_value is not null;
      if v_wanted >= v_path[cardinality(v_path)] collate "C" then
        -- Only so can a circle close. Looking back at every doubling finds it, and does not cost the square of the path.
        v_upwards := v_upwards + 1;
        if v_upwards & (v_upwards - 1) = 0 and v_wanted = any (v_path) then
          perform @extschema@.reject_cycle(p_thread_id, p_checkpoint_ns, v_wanted);
        end if;
      end if;
    end loop;

    if v_blob_version is not null or v_inline_value is not null then
      return query
      select v_channel, 'seed', v_path[cardinality(v_path)], null::text, null::text, null::integer, b.type, b.blob, v_inline_value
      from (select) one
      left join lateral (
        select cb.type, cb.blob
        from @extschema@.checkpoint_blobs cb
        where cb.thread_id = p_thread_id
          and cb.checkpoint_ns = p_checkpoint_ns
          and cb.channel = v_channel
          and cb.version = v_blob_version
        limit 1
      ) b on true;
    end if;
    return query
    select v_channel, 'write', p.checkpoint_id, w.task_id, w.task_path, w.idx, w.type, w.blob, null::jsonb
    from unnest(v_tops, v_bottoms, v_starts, v_stops) s (top, bottom, start, stop)
    cross join lateral (
      select *
      from @extschema@.checkpoint_writes k
      where k.thread_id = p_thread_id
        and k.checkpoint_ns = p_checkpoint_ns
        and k.checkpoint_id >= s.bottom
        and k.checkpoint_id <= s.top
        and k.channel = v_channel
      offset 0
    ) w
    -- Where ids do not follow time, stretches overlap.
    join unnest(v_path) with ordinality p (checkpoint_id, depth)
      on p.checkpoint_id = w.checkpoint_id and p.depth > s.start and p.depth <= s.stop
    order by p.depth desc, case when p_replay_order = 'task_path' then w.task_path end, w.task_id, w.idx;
  end loop;
end
$fn$;

comment on function @extschema@.delta_channel_history(text, text, text, text[], text) is
  'For each delta channel the stored value it starts from and the writes since, along the parents of a checkpoint.';
revoke all on function @extschema@.delta_channel_history(text, text, text, text[], text) from public;
