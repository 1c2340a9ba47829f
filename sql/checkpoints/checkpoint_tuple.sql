-- get_checkpoint for clients that keep their statements prepared, at three quarters of its cost: the planner puts this function
-- into the statement itself, and what belongs to the checkpoint comes as arrays of arrays, which are cheaper to begin than eleven
-- aggregates. To plan it takes longer than to run it, so that whoever sends statements that are planned at every execution is
-- better off with get_checkpoint, which keeps its plan.
--   channel_values  {channel, type, blob} of each value that is not inline in checkpoint -> 'channel_values'
--   pending_writes  {task_id, task_path, idx, channel, type, blob} of each write, in the order they apply
--   pending_sends   {type, blob} of each packet, for checkpoints older than format 4, and null for others
-- Texts are in UTF-8 there, and idx is 4 bytes, the highest first. Arrays without elements are empty.
-- Locks: none. Errors: LG002.
create or replace function @extschema@.checkpoint_tuple(
  p_thread_id text,
  p_checkpoint_ns text,
  p_checkpoint_id text
)
returns table (
  checkpoint_id text,
  parent_checkpoint_id text,
  checkpoint jsonb,
  metadata jsonb,
  created_at timestamptz,
  channel_values bytea[],
  pending_writes bytea[],
  pending_sends bytea[]
)
language sql
stable
parallel safe
security invoker
rows 1
as $fn$
  select c.checkpoint_id, c.parent_checkpoint_id, c.checkpoint, c.metadata, c.created_at,
    array(
      select array[convert_to(b.channel, 'UTF8'), convert_to(b.type, 'UTF8'), b.blob]
      from @extschema@.channel_blobs(c.thread_id, c.checkpoint_ns, c.checkpoint) b
    ),
    array(
      select array[convert_to(p.task_id, 'UTF8'), convert_to(p.task_path, 'UTF8'), int4send(p.idx),
        convert_to(p.channel, 'UTF8'), convert_to(p.type, 'UTF8'), p.blob]
      from @extschema@.pending_writes(c.thread_id, c.checkpoint_ns, c.checkpoint_id) p
    ),
    case
      when @extschema@.expects_sends(c.checkpoint)
        then @extschema@.packed_sends(c.thread_id, c.checkpoint_ns, c.parent_checkpoint_id, c.checkpoint)
    end
  from @extschema@.checkpoint_at(p_thread_id, p_checkpoint_ns, p_checkpoint_id) c
$fn$;

comment on function @extschema@.checkpoint_tuple(text, text, text) is
  'One checkpoint as get_checkpoint reads it, for prepared statements: the planner puts this function into them.';
revoke all on function @extschema@.checkpoint_tuple(text, text, text) from public;
