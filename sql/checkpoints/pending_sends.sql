-- The packets a checkpoint older than format 4 expects in its channel __pregel_tasks: clients of that time left them among
-- the writes of the parent. Null arrays for every newer checkpoint. In a FROM clause the planner inlines this function.
-- Locks: none. Errors: none.
create or replace function @extschema@.pending_sends(
  p_thread_id text,
  p_checkpoint_ns text,
  p_parent_checkpoint_id text,
  p_checkpoint jsonb
)
returns table (types text[], blobs bytea[])
language sql
stable
parallel safe
security invoker
rows 1
as $fn$
  select array_agg(w.type order by w.task_path, w.task_id, w.idx), array_agg(w.blob order by w.task_path, w.task_id, w.idx)
  from @extschema@.checkpoint_writes w
  where p_checkpoint -> 'v' < '4'::jsonb
    and w.thread_id = p_thread_id
    and w.checkpoint_ns = p_checkpoint_ns
    and w.checkpoint_id = p_parent_checkpoint_id
    and w.channel = '__pregel_tasks'
$fn$;

comment on function @extschema@.pending_sends(text, text, text, jsonb) is
  'Packets that a checkpoint older than format 4 expects in __pregel_tasks, read from its parent''s writes.';
revoke all on function @extschema@.pending_sends(text, text, text, jsonb) from public;
