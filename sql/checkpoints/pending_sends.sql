-- The packets a checkpoint older than format 4 expects in its channel __pregel_tasks: clients of that time left them among
-- the writes of the parent. No rows for newer checkpoints. In a FROM clause the planner inlines this function.
-- Locks: none. Errors: none.
create or replace function @extschema@.pending_sends(
  p_thread_id text,
  p_checkpoint_ns text,
  p_parent_checkpoint_id text,
  p_checkpoint jsonb
)
returns table (type text, blob bytea)
language sql
stable
parallel safe
security invoker
rows 10
as $fn$
  select cw.type, cw.blob
  from @extschema@.checkpoint_writes cw
  where @extschema@.expects_sends(p_checkpoint)
    and cw.thread_id = p_thread_id
    and cw.checkpoint_ns = p_checkpoint_ns
    and cw.checkpoint_id = p_parent_checkpoint_id
    and cw.channel = '__pregel_tasks'
  order by cw.task_path, cw.task_id, cw.idx
$fn$;

comment on function @extschema@.pending_sends(text, text, text, jsonb) is
  'Packets that a checkpoint older than format 4 expects in __pregel_tasks, read from its parent''s writes.';
revoke all on function @extschema@.pending_sends(text, text, text, jsonb) from public;
