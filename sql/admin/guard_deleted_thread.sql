-- Trigger of checkpoints and checkpoint_writes while enable_guards keeps deleted threads from coming back: refuses a row of a
-- thread that was deleted, whichever client brings it. A repeatable read transaction older than the deletion does not see it.
-- Security definer, so that a client's role needs no more rights than those its own statements need.
-- Locks: an advisory lock of the transaction on the thread (guard_key), shared with other writers. Errors: LG005.
create or replace function @extschema@.guard_deleted_thread()
returns trigger
language plpgsql
volatile
parallel unsafe
security definer
set search_path = ''
as $fn$
begin
  -- The statement after the lock sees what whoever held it before has committed.
  perform pg_advisory_xact_lock_shared(@extschema@.guard_key(new.thread_id));
  if exists (select from @extschema@.deleted_threads d where d.thread_id = new.thread_id) then
    raise exception using
      errcode = 'LG005',
      message = format('thread %L was deleted', new.thread_id),
      detail = format('Checkpoint %L in namespace %L would bring it back.', new.checkpoint_id, new.checkpoint_ns),
      hint = 'End the run that still writes to it and use a new thread_id, or remove the row of deleted_threads if the thread '
        'may begin anew.';
  end if;
  return new;
end
$fn$;

comment on function @extschema@.guard_deleted_thread() is 'Trigger of enable_guards: refuses rows of a thread that was deleted.';
revoke all on function @extschema@.guard_deleted_thread() from public;
