-- Where the history of delta channels lies, from a checkpoint's parent up to what stores the value, or to the root: for each
-- channel its ancestors in parts of at most 32, newest first, and with the last part the stored value. Ordered by part, the
-- channels follow each other, and the ancestors of a part come after those of the part before. Within a part ids descend.
-- The walk follows parents. It reads the index downwards from the checkpoint as long as that meets the next parent soon, for
-- parents mostly stand right below, and looks it up where it does not: so the cost is that of the path, and not of the thread.
--   p_replay_order  is only checked
--   is_seed         whether the last of the ancestors stores the value: a blob has type and blob, an inline one value
-- Locks: none. Errors: LG001; LG002; LG006 when the parents run in a circle.
create or replace function @extschema@.delta_channel_path(
  p_thread_id text,
  p_checkpoint_ns text,
  p_checkpoint_id text,
  p_channels text[],
  p_replay_order text
)
returns table (
  channel text,
  part integer,
  ancestors text[],
  is_seed boolean,
  type text,
  blob bytea,
  value jsonb
)
language plpgsql
stable
parallel safe
security invoker
-- Of one row the planner would think that sorting all writes at once is as good as sorting those of one part after the other;
-- of many it would think the query dear enough to be compiled.
rows 4
set jit = off
-- Each statement has one good plan, by an index from which it reads no more than it needs: a bitmap or a sort would read all
-- first, and making the plans anew takes longer than a walk of a few steps.
set enable_bitmapscan = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $fn$
#variable_conflict use_column
declare
  v_target text;
  v_parent text;
  v_channel text;
  v_versions jsonb;       -- has the versions of all stored values of the channel for its keys, once they are read
  v_wanted text collate "C";
  v_steps integer;
  v_others bigint;        -- checkpoints of other branches that were read
  v_upwards integer;      -- how often a parent sorted above its child
  v_looked_for text;      -- one of these parents
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
  from @extschema@.checkpoint_at(p_thread_id, p_checkpoint_ns, p_checkpoint_id) c;
  if v_target is null then
    perform @extschema@.reject_missing_checkpoint(p_thread_id, p_checkpoint_ns, p_checkpoint_id);
  end if;

  -- Parts are counted down, and channels taken from the last, because the walk meets the newest first.
  part := 0;
  for v_channel in select distinct u.channel collate "C" as channel from unnest(p_channels) u (channel) order by 1 desc loop
    channel := v_channel;
    is_seed := false;
    type := null;
    blob := null;
    value := null;
    v_versions := null;
    v_wanted := v_parent;
    v_steps := 0;
    v_others := 0;
    v_upwards := 0;
    v_looked_for := null;
    loop
      -- Instead of looking for a stored value at each step, all are read at once, unless they are many times the steps so far.
      if v_versions is null and v_steps >= 16 then
        select case when count(*) <= 10 * v_steps then coalesce(jsonb_object_agg(b.version, null), '{}') end into v_versions
        from (
          select cb.version
          from @extschema@.checkpoint_blobs cb
          where cb.thread_id = p_thread_id and cb.checkpoint_ns = p_checkpoint_ns and cb.channel = v_channel and cb.type <> 'empty'
          limit 10 * v_steps + 1
        ) b;
      end if;
      ancestors := '{}';
      for r in
        select c.checkpoint_id, c.parent_checkpoint_id,
          case
            when case
              when v_versions is null then exists (
                select from @extschema@.stored_value(p_thread_id, p_checkpoint_ns, c.checkpoint, v_channel)
              )
              else v_versions ? (c.checkpoint -> 'channel_versions' ->> v_channel)
                or c.checkpoint -> 'channel_values' -> v_channel <> 'null'
            end
            then c.checkpoint
          end as storing
        from @extschema@.checkpoints c
        where c.thread_id = p_thread_id and c.checkpoint_ns = p_checkpoint_ns and c.checkpoint_id <= v_wanted
        order by c.checkpoint_id desc
        limit 16 + 10 * v_steps
      loop
        if r.checkpoint_id = v_wanted then
          if cardinality(ancestors) = 32 then
            v_steps := v_steps + 32;
            part := part - 1;
            return next;
            ancestors := '{}';
          end if;
          ancestors := ancestors || v_wanted;
          if r.storing is not null then
            is_seed := true;
            exit;
          end if;
          v_wanted := r.parent_checkpoint_id;
        else
          exit when (r.checkpoint_id > v_wanted) is not true or v_others > 10 + 10 * (v_steps + cardinality(ancestors));
          v_others := v_others + 1;
        end if;
      end loop;
      -- Not even the first was there.
      exit when ancestors = '{}';
      if is_seed then
        select b.type, b.blob, s.inline_value into type, blob, value
        from @extschema@.stored_value(p_thread_id, p_checkpoint_ns, r.storing, v_channel) s
        left join lateral (
          select cb.type, cb.blob
          from @extschema@.checkpoint_blobs cb
          where cb.thread_id = p_thread_id
            and cb.checkpoint_ns = p_checkpoint_ns
            and cb.channel = v_channel
            and cb.version = s.blob_version
          limit 1
        ) b on true;
      end if;
      v_steps := v_steps + cardinality(ancestors);
      part := part - 1;
      return next;
      exit when is_seed or v_wanted is null;
      if v_wanted >= ancestors[cardinality(ancestors)] then
        -- Only so can a circle close, and each time round by the same parents: one of them is looked for, a later one at
        -- every doubling.
        if v_wanted = v_looked_for then
          perform @extschema@.reject_cycle(p_thread_id, p_checkpoint_ns, v_wanted);
        end if;
        v_upwards := v_upwards + 1;
        if v_upwards & (v_upwards - 1) = 0 then
          v_looked_for := v_wanted;
        end if;
      end if;
    end loop;
  end loop;
end
$fn$;

comment on function @extschema@.delta_channel_path(text, text, text, text[], text) is
  'The ancestors of a checkpoint from which delta channels are rebuilt, in parts, and the stored values they start from.';
revoke all on function @extschema@.delta_channel_path(text, text, text, text[], text) from public;
