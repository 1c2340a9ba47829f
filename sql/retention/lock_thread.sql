-- Holds off others that remove or copy checkpoints of the same thread, until the transaction ends. Putting and reading
-- checkpoints do not wait for it. Without p_wait it says whether the lock was free.
-- Locks: an advisory lock of the transaction on the thread. Errors: none.
create or replace function @extschema@.lock_thread(p_thread_id text, p_wait boolean default true)
returns boolean
language plpgsql
volatile
parallel unsafe
security invoker
set search_path = ''
as $fn$
begin
  if not p_wait then
    return pg_try_advisory_xact_lock(hashtextextended(p_thread_id, 7069));
  end if;
  perform pg_advisory_xact_lock(hashtextextended(p_thread_id, 7069));
  return true;
end
$fn$;

comment on function @extschema@.lock_thread(text, boolean) is
  'Holds off others that remove or copy checkpoints of the thread, until the transaction ends.';
revoke all on function @extschema@.lock_thread(text, boolean) from public;
