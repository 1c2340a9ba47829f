-- The writes of one checkpoint, in the order in which a superstep applies them. In a FROM clause the planner inlines this function.
-- Locks: none. Errors: none.
create or replace function @extschema@.pending_writes(p_thread_id text, p_checkpoint_ns text, p_checkpoint_id text)
returns table (task_id text, task_path text, idx integer, channel text, type text, blob bytea)
language sql
stable
parallel safe
security invoker
rows 10
as $fn$
  select cw.task_id, cw.task_path, cw.idx, cw.channel, cw.type, cw.blob
  from @extschema@.checkpoint_writes cw
  where cw.thread_id = p_thread_id
    and cw.checkpoint_ns = p_checkpoint_ns
    and cw.checkpoint_id = p_checkpoint_id
  order by cw.task_path, cw.task_id, cw.idx
$fn$;

comment on function @extschema@.pending_writes(text, text, text) is
  'Writes of one checkpoint, ordered by task_path, task_id, idx.';
revoke all on function @extschema@.pending_writes(text, text, text) from public;
