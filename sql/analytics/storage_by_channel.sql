-- Where the bytes are: the versions and writes of each channel of a thread, as they were given; stored is what they take on
-- disk, compressed, without indexes and row headers.
create or replace view @extschema@_analytics.storage_by_channel
with (security_invoker = true)
as
select
  s.thread_id,
  s.checkpoint_ns,
  s.channel,
  count(*) filter (where s.is_blob) as versions,
  coalesce(sum(s.bytes) filter (where s.is_blob), 0)::bigint as blob_bytes,
  count(*) filter (where not s.is_blob) as writes,
  coalesce(sum(s.bytes) filter (where not s.is_blob), 0)::bigint as write_bytes,
  sum(s.stored)::bigint as stored_bytes,
  max(s.created_at) as last_at
from (
  select b.thread_id, b.checkpoint_ns, b.channel, true as is_blob, coalesce(length(b.blob), 0) as bytes,
    coalesce(pg_column_size(b.blob), 0) as stored, b.created_at
  from @extschema@.checkpoint_blobs b
  union all
  select w.thread_id, w.checkpoint_ns, w.channel, false, length(w.blob), pg_column_size(w.blob), w.created_at
  from @extschema@.checkpoint_writes w
) s
group by s.thread_id, s.checkpoint_ns, s.channel;

comment on view @extschema@_analytics.storage_by_channel is
  'One row a channel of a thread: how many versions and writes it has, and how many bytes they take. Filter by thread_id.';
revoke all on @extschema@_analytics.storage_by_channel from public;
