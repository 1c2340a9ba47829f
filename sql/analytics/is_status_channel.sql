-- Whether a write to the channel tells how a task stands (it failed, asks, was answered) rather than what it produced. A task
-- with any other write is done.
-- Locks: none. Errors: none.
create or replace function @extschema@.is_status_channel(p_channel text)
returns boolean
language sql
immutable
strict
parallel safe
security invoker
as $fn$
  select p_channel in ('__error__', '__interrupt__', '__resume__', '__error_source_node__')
$fn$;

comment on function @extschema@.is_status_channel(text) is
  'Whether a write to the channel tells how a task stands rather than what it produced.';
revoke all on function @extschema@.is_status_channel(text) from public;
