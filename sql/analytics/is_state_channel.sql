-- Whether a channel holds state that a user of the graph sees, rather than what steers the graph or tells how a task stands.
-- Locks: none. Errors: none.
create or replace function @extschema@.is_state_channel(p_channel text)
returns boolean
language sql
immutable
strict
parallel safe
security invoker
as $fn$
  select p_channel not in ('__start__', '__pregel_tasks', '__scheduled__', '__previous__', '__input__', '__error__',
      '__interrupt__', '__resume__', '__error_source_node__', '__no_writes__', '__pregel_push', '__return__')
    and not starts_with(p_channel, 'branch:to:')
    and not starts_with(p_channel, 'join:')
$fn$;

comment on function @extschema@.is_state_channel(text) is
  'Whether a channel holds state that a user of the graph sees.';
revoke all on function @extschema@.is_state_channel(text) from public;
