-- The fixed index of a reserved channel's write, or null for an ordinary channel, whose writes are numbered by position.
-- A task has at most one write of each reserved channel, and writing it again replaces it.
-- Locks: none. Errors: none.
create or replace function @extschema@.reserved_write_index(p_channel text)
returns integer
language sql
immutable
parallel safe
security invoker
as $fn$
  select case p_channel
    when '__error__' then -1
    when '__scheduled__' then -2
    when '__interrupt__' then -3
    when '__resume__' then -4
  end
$fn$;

comment on function @extschema@.reserved_write_index(text) is
  'Fixed write index of a reserved channel (__error__, __scheduled__, __interrupt__, __resume__); null for any other.';
revoke all on function @extschema@.reserved_write_index(text) from public;
