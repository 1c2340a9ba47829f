-- What is in each checkpoint, decoded: one row a checkpoint. values and next are worked out only if they are selected.
create or replace view @extschema@_analytics.states
with (security_invoker = true)
as
select
  c.thread_id,
  c.checkpoint_ns,
  c.checkpoint_id,
  c.parent_checkpoint_id,
  c.created_at,
  c.metadata ->> 'source' as source,
  c.metadata -> 'step' as step,
  not exists (
    select
    from @extschema@.checkpoints n
    where n.thread_id = c.thread_id
      and n.checkpoint_ns = c.checkpoint_ns
      and n.checkpoint_id > c.checkpoint_id
  ) as is_latest,
  @extschema@.checkpoint_snapshot(c.thread_id, c.checkpoint_ns, c.checkpoint_id, c.parent_checkpoint_id, c.checkpoint,
    c.metadata, c.created_at, false, null) -> 'values' as values,
  @extschema@.checkpoint_snapshot(c.thread_id, c.checkpoint_ns, c.checkpoint_id, c.parent_checkpoint_id, c.checkpoint,
    c.metadata, c.created_at, false, null) -> 'next' as next
from @extschema@.checkpoints c;

comment on view @extschema@_analytics.states is
  'One row a checkpoint with its state: the values of all channels and the nodes that come next. Filter by thread_id.';
revoke all on @extschema@_analytics.states from public;
