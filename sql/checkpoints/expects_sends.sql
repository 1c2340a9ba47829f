-- Whether a checkpoint is older than format 4 and expects packets in its channel __pregel_tasks; null where it names no format.
-- The planner inlines this function.
-- Locks: none. Errors: none.
create or replace function @extschema@.expects_sends(p_checkpoint jsonb)
returns boolean
language sql
immutable
parallel safe
security invoker
as $fn$
  select p_checkpoint -> 'v' < '4'::jsonb
$fn$;

comment on function @extschema@.expects_sends(jsonb) is 'Whether a checkpoint is older than format 4, and finds packets by pending_sends.';
revoke all on function @extschema@.expects_sends(jsonb) from public;
