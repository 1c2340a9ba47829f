-- A checkpoint (the newest when p_checkpoint_id is null) and what it descends from, nearest first: depth 0 is itself, and
-- p_max_depth null walks to the root. A chain that does not end at a root says so in problem, on its last row:
-- 'missing parent' or 'cycle'.
-- Cycles are found with Brent's algorithm (each step carries one checkpoint to compare with), because a path in every row
-- would cost the square of the depth.
-- Locks: none. Errors: LG001 when the checkpoint does not exist; LG002.
create or replace function @extschema@.ancestors(
  p_thread_id text,
  p_checkpoint_ns text default '',
  p_checkpoint_id text default null,
  p_max_depth integer default null
)
returns table (
  depth integer,
  checkpoint_id text,
  parent_checkpoint_id text,
  metadata jsonb,
  created_at timestamptz,
  problem text
)
language plpgsql
stable
parallel safe
security invoker
rows 100
set jit = off
as $fn$
#variable_conflict use_column
begin
  if p_thread_id is null or p_thread_id = '' or p_checkpoint_ns is null or p_checkpoint_id = '' or p_max_depth < 0 then
    perform @extschema@.reject_argument('checkpoint to walk from',
      format('thread_id %L, checkpoint_ns %L, checkpoint_id %L, max_depth %L.', p_thread_id, p_checkpoint_ns,
        p_checkpoint_id, p_max_depth),
      'thread_id is needed; checkpoint_id is null for the newest; max_depth is null or not negative.');
  end if;

  return query
  with recursive chain as (
    (
      select 0 as depth, c.checkpoint_id, c.parent_checkpoint_id, c.metadata, c.created_at,
        c.checkpoint_id as landmark, 1 as landmark_span, 0 as landmark_age, false as is_cycle
      from @extschema@.checkpoints c
      where c.thread_id = p_thread_id
        and c.checkpoint_ns = p_checkpoint_ns
        and c.checkpoint_id >= coalesce(p_checkpoint_id, '')
        and c.checkpoint_id <= coalesce(p_checkpoint_id, U&'\+10FFFF')
      order by c.checkpoint_id desc
      limit 1
    )
    union all
    select chain.depth + 1, c.checkpoint_id, c.parent_checkpoint_id, c.metadata, c.created_at,
      case when chain.landmark_age + 1 = chain.landmark_span then c.checkpoint_id else chain.landmark end,
      case when chain.landmark_age + 1 = chain.landmark_span then chain.landmark_span * 2 else chain.landmark_span end,
      case when chain.landmark_age + 1 = chain.landmark_span then 0 else chain.landmark_age + 1 end,
      c.checkpoint_id = chain.landmark
    from chain
    cross join lateral (
      select p.checkpoint_id, p.parent_checkpoint_id, p.metadata, p.created_at
      from @extschema@.checkpoints p
      where p.thread_id = p_thread_id
        and p.checkpoint_ns = p_checkpoint_ns
        and p.checkpoint_id = chain.parent_checkpoint_id
      limit 1
    ) c
    where not chain.is_cycle
      and (p_max_depth is null or chain.depth < p_max_depth)
  ), ending as materialized (
    -- Only a cycle shows a checkpoint twice. A bounded walk may end before the landmark does.
    select exists (select from chain c where c.is_cycle)
      or p_max_depth is not null
        and (select count(*) > count(distinct c.checkpoint_id) from chain c) as in_cycle
  ), distinct_chain as (
    select distinct on (c.checkpoint_id) c.*
    from chain c
    where (select e.in_cycle from ending e)
    order by c.checkpoint_id, c.depth
  ), shown as (
    select c.depth, c.checkpoint_id, c.parent_checkpoint_id, c.metadata, c.created_at, true as in_cycle
    from distinct_chain c
    union all
    select c.depth, c.checkpoint_id, c.parent_checkpoint_id, c.metadata, c.created_at, false
    from chain c
    where not (select e.in_cycle from ending e)
  )
  select s.depth, s.checkpoint_id, s.parent_checkpoint_id, s.metadata, s.created_at,
    case
      when s.depth < max(s.depth) over () then null
      when s.in_cycle then 'cycle'
      -- As a value, for "not exists" would be planned as a hash of the whole namespace.
      when s.parent_checkpoint_id is not null and (
        select true
        from @extschema@.checkpoints p
        where p.thread_id = p_thread_id
          and p.checkpoint_ns = p_checkpoint_ns
          and p.checkpoint_id = s.parent_checkpoint_id
        limit 1
      ) is null then 'missing parent'
    end
  from shown s
  order by s.depth;

  if not found then
    perform @extschema@.reject_missing_checkpoint(p_thread_id, p_checkpoint_ns, p_checkpoint_id);
  end if;
end
$fn$;

comment on function @extschema@.ancestors(text, text, text, integer) is
  'A checkpoint and its ancestors, nearest first; a cycle or a missing parent is reported on the last row.';
revoke all on function @extschema@.ancestors(text, text, text, integer) from public;
