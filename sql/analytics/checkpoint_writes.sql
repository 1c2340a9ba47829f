-- What each task wrote, readable: blob_data as stored, value decoded (only if it is selected).
create or replace view @extschema@_analytics.checkpoint_writes
with (security_invoker = true)
as
select
  w.thread_id,
  w.checkpoint_id,
  w.checkpoint_ns,
  md5(w.checkpoint_ns) as checkpoint_ns_hash,
  w.task_id,
  w.idx,
  w.channel,
  w.type,
  w.blob as blob_data,
  w.task_path,
  w.created_at as gmt_create,
  @extschema@.value_to_jsonb(w.type, w.blob) as value
from @extschema@.checkpoint_writes w;

comment on view @extschema@_analytics.checkpoint_writes is
  'One row a write of a task: the audit trail. value is the decoded blob_data. Filter by thread_id.';
revoke all on @extschema@_analytics.checkpoint_writes from public;
