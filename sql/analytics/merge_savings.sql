-- Writes against blobs, one row a checkpoint: what tasks wrote under it, and the state that it names. blobs_bytes is the
-- whole state; of that, new_bytes is stored with this checkpoint and shared_bytes was already there, because a version is
-- stored once however many checkpoints name it.
create or replace view @extschema@_analytics.merge_savings
with (security_invoker = true)
as
select
  c.thread_id,
  c.checkpoint_ns,
  c.checkpoint_id,
  c.parent_checkpoint_id,
  c.created_at,
  w.tasks,
  w.writes,
  w.writes_bytes,
  b.blobs,
  b.blobs_bytes,
  b.new_blobs,
  b.new_bytes,
  b.blobs_bytes - b.new_bytes as shared_bytes
from @extschema@.checkpoints c
left join lateral (
  select p.checkpoint -> 'channel_versions' as versions
  from @extschema@.checkpoints p
  where p.thread_id = c.thread_id
    and p.checkpoint_ns = c.checkpoint_ns
    and p.checkpoint_id = c.parent_checkpoint_id
  limit 1
) p on true
cross join lateral (
  select count(distinct cw.task_id) as tasks, count(*) as writes, coalesce(sum(length(cw.blob)), 0) as writes_bytes
  from @extschema@.checkpoint_writes cw
  where cw.thread_id = c.thread_id
    and cw.checkpoint_ns = c.checkpoint_ns
    and cw.checkpoint_id = c.checkpoint_id
) w
cross join lateral (
  select
    count(*) as blobs,
    coalesce(sum(v.bytes), 0) as blobs_bytes,
    count(*) filter (where v.is_new) as new_blobs,
    coalesce(sum(v.bytes) filter (where v.is_new), 0) as new_bytes
  from (
    select coalesce(length(cb.blob), 0) as bytes, k.value is distinct from p.versions ->> k.key as is_new
    from jsonb_each_text(c.checkpoint -> 'channel_versions') k
    cross join lateral (
      select l.blob
      from @extschema@.checkpoint_blobs l
      where l.thread_id = c.thread_id
        and l.checkpoint_ns = c.checkpoint_ns
        and l.channel = k.key
        and l.version = k.value
        and l.type <> 'empty'
      limit 1
    ) cb
  ) v
) b;

comment on view @extschema@_analytics.merge_savings is
  'One row a checkpoint: bytes that tasks wrote under it against bytes of the state it names, new and shared. Filter by thread_id.';
revoke all on @extschema@_analytics.merge_savings from public;
