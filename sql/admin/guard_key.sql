-- The key of the advisory lock on a thread that guards take: whoever writes to the thread shares it, whoever deletes the thread
-- has it alone. It is another than that of lock_thread, for which writers do not wait.
-- Locks: none. Errors: none.
create or replace function @extschema@.guard_key(p_thread_id text)
returns bigint
language sql
immutable
strict
parallel safe
security invoker
as $fn$
  select hashtextextended(p_thread_id, 7070)
$fn$;

comment on function @extschema@.guard_key(text) is 'Key of the advisory lock by which guards order writers and deleters of a thread.';
revoke all on function @extschema@.guard_key(text) from public;
