-- The values of channels, readable: one row a version, blob_data as stored, value decoded (only if it is selected).
create or replace view @extschema@_analytics.checkpoint_blobs
with (security_invoker = true)
as
select
  b.thread_id,
  b.checkpoint_ns,
  md5(b.checkpoint_ns) as checkpoint_ns_hash,
  b.channel,
  b.version,
  b.type,
  b.blob as blob_data,
  b.created_at as gmt_create,
  @extschema@.value_to_jsonb(b.type, b.blob) as value
from @extschema@.checkpoint_blobs b;

comment on view @extschema@_analytics.checkpoint_blobs is
  'One row a version of a channel''s value, shared by all checkpoints that name it. value is the decoded blob_data.';
revoke all on @extschema@_analytics.checkpoint_blobs from public;
