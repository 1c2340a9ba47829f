-- Prunes one thread, which the caller has locked: the work of prune and of sweep.
--   p_all         everything is to go
--   p_keep        otherwise: how many of the newest of each namespace are to stay; null keeps all that p_older_than allows
--   p_keep_heads  heads stay as well
--   p_older_than  what was made before this is to go, unless it is the newest of its namespace; null is no limit
-- A checkpoint that p_keep or p_older_than condemns goes unless it is a head that waits for a human, is pinned, or is needed.
-- Locks: the rows removed. Errors: none of its own.
create or replace function @extschema@.prune_thread(
  p_thread_id text,
  p_all boolean,
  p_keep integer,
  p_keep_heads boolean,
  p_older_than timestamptz,
  p_dry_run boolean
)
returns table (checkpoints bigint, checkpoint_blobs bigint, checkpoint_writes bigint, bytes bigint, kept bigint)
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
  v_namespaces text[];
  v_all_ns text[];         -- every checkpoint, as parallel arrays
  v_all_ids text[];
  v_to_go boolean[];       -- whether the rules condemn it
  v_roots_to_go text[];    -- checkpoints of the root graph that really go
  v_given_ns text[];
  v_given_ids text[];
  v_going_ns text[];
  v_going_ids text[];
  v_whole_ns text[];       -- namespaces of which nothing is to stay
begin
  with heads as (
    select c.checkpoint_ns, c.checkpoint_id
    from @extschema@.checkpoints c
    where c.thread_id = p_thread_id
      and not exists (
        select
        from @extschema@.checkpoints k
        where k.thread_id = p_thread_id
          and k.checkpoint_ns = c.checkpoint_ns
          and k.parent_checkpoint_id = c.checkpoint_id
      )
  ), waiting as (
    select distinct w.checkpoint_ns, w.checkpoint_id
    from @extschema@.checkpoint_writes w
    where w.thread_id = p_thread_id and w.channel = '__interrupt__'
  ), ranked as (
    select c.checkpoint_ns, c.checkpoint_id, c.created_at, h.checkpoint_id is not null as is_head,
      h.checkpoint_id is not null and w.checkpoint_id is not null as is_waiting,
      row_number() over (partition by c.checkpoint_ns order by c.checkpoint_id desc) as place
    from @extschema@.checkpoints c
    left join heads h on h.checkpoint_ns = c.checkpoint_ns and h.checkpoint_id = c.checkpoint_id
    left join waiting w on w.checkpoint_ns = c.checkpoint_ns and w.checkpoint_id = c.checkpoint_id
    where c.thread_id = p_thread_id
  )
  select array_agg(r.checkpoint_ns order by r.checkpoint_ns, r.checkpoint_id),
    array_agg(r.checkpoint_id order by r.checkpoint_ns, r.checkpoint_id),
    array_agg(
      p_all or (coalesce(r.place > p_keep, false) or coalesce(r.place > 1 and r.created_at < p_older_than, false))
        and not r.is_waiting and not (p_keep_heads and r.is_head)
      order by r.checkpoint_ns, r.checkpoint_id)
  into v_all_ns, v_all_ids, v_to_go
  from ranked r;

  -- Namespaces may hold writes or blobs without any checkpoint.
  select array_agg(distinct n.checkpoint_ns) into v_namespaces
  from (
    select unnest(v_all_ns)
    union all
    select b.checkpoint_ns from @extschema@.checkpoint_blobs b where b.thread_id = p_thread_id
    union all
    select w.checkpoint_ns from @extschema@.checkpoint_writes w where w.thread_id = p_thread_id and p_all
  ) n (checkpoint_ns);

  select array_agg(u.checkpoint_ns), array_agg(u.checkpoint_id) into v_given_ns, v_given_ids
  from unnest(v_all_ns, v_all_ids, v_to_go) u (checkpoint_ns, checkpoint_id, to_go)
  where u.to_go and u.checkpoint_ns = '';
  select coalesce(array_agg(g.checkpoint_id), '{}') into v_roots_to_go
  from @extschema@.removable_checkpoints(p_thread_id, v_given_ns, v_given_ids) g;

  -- A subgraph's call goes with the root checkpoint that made it, waiting or not: nothing can resume it any more. One whose
  -- root checkpoint does not exist may be about to be saved, as long as the root graph has saved nothing newer.
  with calls as (
    select distinct on (c.checkpoint_ns) c.checkpoint_ns, c.checkpoint_id, c.metadata -> 'parents' ->> '' as root
    from @extschema@.checkpoints c
    where c.thread_id = p_thread_id and c.checkpoint_ns like '%:%'
    order by c.checkpoint_ns, c.checkpoint_id desc
  ), finished as (
    select k.checkpoint_ns
    from calls k
    left join unnest(v_all_ns, v_all_ids) r (checkpoint_ns, checkpoint_id)
      on r.checkpoint_ns = '' and r.checkpoint_id = k.root
    where k.root = any (v_roots_to_go)
      or r.checkpoint_id is null
        and k.root is not null
        and k.checkpoint_id < (select max(n.checkpoint_id) from @extschema@.checkpoints n
          where n.thread_id = p_thread_id and n.checkpoint_ns = '')
  )
  select array_agg(u.checkpoint_ns), array_agg(u.checkpoint_id),
    case when p_all then v_namespaces else (select array_agg(f.checkpoint_ns) from finished f) end
  into v_given_ns, v_given_ids, v_whole_ns
  from unnest(v_all_ns, v_all_ids, v_to_go) u (checkpoint_ns, checkpoint_id, to_go)
  left join finished f on f.checkpoint_ns = u.checkpoint_ns
  where u.checkpoint_ns <> '' and (u.to_go or f.checkpoint_ns is not null);

  select coalesce(array_agg(g.checkpoint_ns), '{}'), coalesce(array_agg(g.checkpoint_id), '{}')
  into v_going_ns, v_going_ids
  from (
    select '' as checkpoint_ns, r.checkpoint_id from unnest(v_roots_to_go) r (checkpoint_id)
    union all
    select s.checkpoint_ns, s.checkpoint_id
    from @extschema@.removable_checkpoints(p_thread_id, v_given_ns, v_given_ids) s
  ) g;
  if p_all and not p_dry_run and cardinality(v_going_ids) = coalesce(cardinality(v_all_ids), 0) then
    delete from @extschema@.thread_ttls t where t.thread_id = p_thread_id;
  end if;

  return query
  select r.checkpoints, r.checkpoint_blobs, r.checkpoint_writes, r.bytes,
    (select count(*) from unnest(v_to_go) u (to_go) where u.to_go)
      + (select count(*) from unnest(v_given_ns, v_given_ids) g (checkpoint_ns, checkpoint_id)
         where not exists (
           select from unnest(v_all_ns, v_all_ids, v_to_go) u (checkpoint_ns, checkpoint_id, to_go)
           where u.to_go and u.checkpoint_ns = g.checkpoint_ns and u.checkpoint_id = g.checkpoint_id))
      - r.checkpoints
  from @extschema@.remove_checkpoints(p_thread_id, coalesce(v_namespaces, '{}'), v_going_ns, v_going_ids,
    coalesce(v_whole_ns, '{}'), p_dry_run) r;
end
$fn$;

comment on function @extschema@.prune_thread(text, boolean, integer, boolean, timestamptz, boolean) is
  'Prunes one thread that the caller has locked, by number and age of its checkpoints.';
revoke all on function @extschema@.prune_thread(text, boolean, integer, boolean, timestamptz, boolean) from public;
