-- How threads grow, one row a day (UTC) on which something was saved: what came, and what there is since.
create or replace view @extschema@_analytics.thread_growth
with (security_invoker = true)
as
select
  d.thread_id,
  d.day,
  d.checkpoints,
  d.blobs,
  d.writes,
  d.bytes,
  sum(d.checkpoints) over so_far as total_checkpoints,
  sum(d.bytes) over so_far as total_bytes
from (
  select
    r.thread_id,
    (r.created_at at time zone 'UTC')::date as day,
    count(*) filter (where r.kind = 'checkpoint') as checkpoints,
    count(*) filter (where r.kind = 'blob') as blobs,
    count(*) filter (where r.kind = 'write') as writes,
    sum(r.bytes)::bigint as bytes
  from (
    -- Named in each branch: restored from a backup, the view is then still the same, to the letter.
    select c.thread_id, c.created_at, 'checkpoint' as kind, pg_column_size(c.checkpoint) + pg_column_size(c.metadata) as bytes
    from @extschema@.checkpoints c
    union all
    select b.thread_id, b.created_at, 'blob' as kind, coalesce(pg_column_size(b.blob), 0) as bytes
    from @extschema@.checkpoint_blobs b
    union all
    select w.thread_id, w.created_at, 'write' as kind, pg_column_size(w.blob) as bytes
    from @extschema@.checkpoint_writes w
  ) r
  group by r.thread_id, (r.created_at at time zone 'UTC')::date
) d
window so_far as (partition by d.thread_id order by d.day);

comment on view @extschema@_analytics.thread_growth is
  'One row a thread and day (UTC): checkpoints, values and writes saved, their bytes on disk, and the sums so far. Filter by thread_id.';
revoke all on @extschema@_analytics.thread_growth from public;
