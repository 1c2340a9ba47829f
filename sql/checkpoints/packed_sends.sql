-- pending_sends as an array of {type, blob}, type in UTF-8. The planner does not inline this function: a statement that rarely
-- calls it prepares nothing for it.
-- Locks: none. Errors: none.
create or replace function @extschema@.packed_sends(
  p_thread_id text,
  p_checkpoint_ns text,
  p_parent_checkpoint_id text,
  p_checkpoint jsonb
)
returns bytea[]
language sql
stable
parallel safe
security invoker
as $fn$
  select array(
    select array[convert_to(p.type, 'UTF8'), p.blob]
    from @extschema@.pending_sends(p_thread_id, p_checkpoint_ns, p_parent_checkpoint_id, p_checkpoint) p
  )
$fn$;

comment on function @extschema@.packed_sends(text, text, text, jsonb) is
  'Packets that a checkpoint older than format 4 expects in __pregel_tasks, as an array of type and blob.';
revoke all on function @extschema@.packed_sends(text, text, text, jsonb) from public;
