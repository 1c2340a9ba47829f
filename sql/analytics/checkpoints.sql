-- Checkpoints under the names an analyst asks for: one row a checkpoint, newest state of its row.
create or replace view @extschema@_analytics.checkpoints
with (security_invoker = true)
as
select
  c.thread_id,
  c.checkpoint_id,
  c.parent_checkpoint_id,
  c.checkpoint_ns,
  md5(c.checkpoint_ns) as checkpoint_ns_hash,
  c.created_at as gmt_create,
  c.updated_at as gmt_modified,
  c.metadata ->> 'source' as source,
  c.metadata -> 'step' as step,
  c.metadata
from @extschema@.checkpoints c;

comment on view @extschema@_analytics.checkpoints is
  'One row a checkpoint: its place in the chain, when it was made and last changed, and its metadata. Filter by thread_id.';
revoke all on @extschema@_analytics.checkpoints from public;
