-- Makes a new thread from one checkpoint of the root graph (the newest when p_checkpoint_id is null): the checkpoint with its
-- values and pending writes, exactly the ancestors it needs to read back the same (see removable_checkpoints), and of
-- subgraphs, with what those need: the checkpoints of calls that the copied checkpoints made, and of one that keeps its state
-- between calls (its namespace names no task) the newest that the checkpoint or an ancestor made, or, where that ancestor was
-- pruned, that is older than the checkpoint. An ancestor that is not needed is not copied: the first that is copied gets a
-- null parent. The target has to be empty. Says what was copied.
-- Locks: both threads (lock_thread). Errors: LG001; LG002.
create or replace function @extschema@.fork_thread(
  p_thread_id text,
  p_checkpoint_id text,
  p_target_thread_id text
)
returns table (checkpoints bigint, checkpoint_blobs bigint, checkpoint_writes bigint)
language plpgsql
volatile
parallel unsafe
security invoker
rows 1
set jit = off
set enable_nestloop = off
as $fn$
#variable_conflict use_column
declare
  v_id text;
  v_roots text[];
  v_namespaces text[];
  v_ids text[];
begin
  perform @extschema@.lock_threads_to_copy(p_thread_id, p_target_thread_id);
  select c.checkpoint_id into v_id
  from @extschema@.checkpoints c
  where c.thread_id = p_thread_id
    and c.checkpoint_ns = ''
    and c.checkpoint_id >= coalesce(p_checkpoint_id, '')
    and c.checkpoint_id <= coalesce(p_checkpoint_id, U&'\+10FFFF')
  order by c.checkpoint_id desc
  limit 1;
  if v_id is null then
    perform @extschema@.reject_missing_checkpoint(p_thread_id, '', p_checkpoint_id);
  end if;

  -- What one checkpoint needs is what could not be removed if everything else were to go.
  select array_agg(c.checkpoint_id) into v_ids
  from @extschema@.checkpoints c
  where c.thread_id = p_thread_id and c.checkpoint_ns = '' and c.checkpoint_id <> v_id;
  select array_agg(c.checkpoint_id) into v_roots
  from @extschema@.checkpoints c
  left join @extschema@.removable_checkpoints(p_thread_id, array_fill(''::text, array[coalesce(cardinality(v_ids), 0)]),
    coalesce(v_ids, '{}'), true) g on g.checkpoint_id = c.checkpoint_id
  where c.thread_id = p_thread_id and c.checkpoint_ns = '' and g.checkpoint_id is null;

  with called as (
    select c.checkpoint_ns, c.checkpoint_id, c.metadata -> 'parents' ->> '' as root
    from @extschema@.checkpoints c
    where c.thread_id = p_thread_id and c.checkpoint_ns <> ''
  ), memories as (
    select distinct on (c.checkpoint_ns) c.checkpoint_ns, c.checkpoint_id
    from called c
    left join @extschema@.ancestors(p_thread_id, '', v_id) a on a.checkpoint_id = c.root
    left join @extschema@.checkpoints r
      on r.thread_id = p_thread_id and r.checkpoint_ns = '' and r.checkpoint_id = c.root
    where c.checkpoint_ns not like '%:%'
      and (a.checkpoint_id is not null or r.checkpoint_id is null and c.checkpoint_id < v_id)
    order by c.checkpoint_ns, c.checkpoint_id desc
  ), wanted as (
    select c.checkpoint_ns, c.checkpoint_id from called c where c.root = any (v_roots)
    union
    select m.checkpoint_ns, m.checkpoint_id from memories m
  ), unwanted as (
    select array_agg(c.checkpoint_ns) as namespaces, array_agg(c.checkpoint_id) as ids
    from called c
    left join wanted w on w.checkpoint_ns = c.checkpoint_ns and w.checkpoint_id = c.checkpoint_id
    where w.checkpoint_id is null
  )
  select array_agg(s.checkpoint_ns), array_agg(s.checkpoint_id) into v_namespaces, v_ids
  from (
    select '' as checkpoint_ns, r.checkpoint_id from unnest(v_roots) r (checkpoint_id)
    union all
    select c.checkpoint_ns, c.checkpoint_id
    from called c
    left join (
      select g.checkpoint_ns, g.checkpoint_id
      from unwanted u
      cross join lateral @extschema@.removable_checkpoints(p_thread_id, u.namespaces, u.ids, true) g
    ) g on g.checkpoint_ns = c.checkpoint_ns and g.checkpoint_id = c.checkpoint_id
    where g.checkpoint_id is null
  ) s;

  return query
  with copied as materialized (
    select k.checkpoint_ns, k.checkpoint_id from unnest(v_namespaces, v_ids) k (checkpoint_ns, checkpoint_id)
  ), c as (
    insert into @extschema@.checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint,
      metadata, created_at, updated_at)
    select p_target_thread_id, s.checkpoint_ns, s.checkpoint_id, p.checkpoint_id, s.type, s.checkpoint, s.metadata,
      s.created_at, s.updated_at
    from @extschema@.checkpoints s
    join copied k on k.checkpoint_ns = s.checkpoint_ns and k.checkpoint_id = s.checkpoint_id
    left join copied p on p.checkpoint_ns = s.checkpoint_ns and p.checkpoint_id = s.parent_checkpoint_id
    where s.thread_id = p_thread_id
    returning 1
  ), b as (
    insert into @extschema@.checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob, created_at)
    select p_target_thread_id, s.checkpoint_ns, s.channel, s.version, s.type, s.blob, s.created_at
    from @extschema@.checkpoint_blobs s
    where s.thread_id = p_thread_id
      and exists (
        select
        from @extschema@.checkpoints o
        join copied k on k.checkpoint_ns = o.checkpoint_ns and k.checkpoint_id = o.checkpoint_id
        cross join lateral jsonb_each_text(o.checkpoint -> 'channel_versions') v
        where o.thread_id = p_thread_id
          and o.checkpoint_ns = s.checkpoint_ns
          and v.key = s.channel
          and v.value = s.version
      )
    returning 1
  ), w as (
    insert into @extschema@.checkpoint_writes (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob,
      task_path, created_at)
    select p_target_thread_id, s.checkpoint_ns, s.checkpoint_id, s.task_id, s.idx, s.channel, s.type, s.blob, s.task_path,
      s.created_at
    from @extschema@.checkpoint_writes s
    join copied k on k.checkpoint_ns = s.checkpoint_ns and k.checkpoint_id = s.checkpoint_id
    where s.thread_id = p_thread_id
    returning 1
  )
  select (select count(*) from c), (select count(*) from b), (select count(*) from w);
end
$fn$;

comment on function @extschema@.fork_thread(text, text, text) is
  'Makes a new thread from one checkpoint, with exactly what it needs to read back the same.';
revoke all on function @extschema@.fork_thread(text, text, text) from public;
