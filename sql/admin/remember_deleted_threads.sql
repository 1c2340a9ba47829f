-- Trigger of checkpoints while enable_guards keeps deleted threads from coming back: writes down in deleted_threads which
-- threads lost their last checkpoint by a delete statement, whichever client's.
-- What another transaction saves while the statement runs stays, and its thread then counts as alive; delete_thread, which
-- locks the thread first, leaves nothing.
-- Security definer, so that a client's role needs no more rights than those its own statements need.
-- Locks: an advisory lock of the transaction on each thread (guard_key), which waits for its writers. Errors: none.
create or replace function @extschema@.remember_deleted_threads()
returns trigger
language plpgsql
volatile
parallel unsafe
security definer
set search_path = ''
as $fn$
declare
  v_thread_id text;
  v_before text := coalesce(current_setting('langgraph.across_tenants', true), '');
begin
  -- The owner is bound by tenancy, too.
  perform set_config('langgraph.across_tenants', 'on', true);
  -- In one order, so that two deleters of the same threads cannot wait for each other.
  for v_thread_id in select distinct r.thread_id from removed r order by r.thread_id loop
    perform pg_advisory_xact_lock(@extschema@.guard_key(v_thread_id));
    insert into @extschema@.deleted_threads (thread_id)
    select v_thread_id
    where not exists (select from @extschema@.checkpoints c where c.thread_id = v_thread_id)
    on conflict (thread_id) do nothing;
  end loop;
  perform set_config('langgraph.across_tenants', v_before, true);
  return null;
end
$fn$;

comment on function @extschema@.remember_deleted_threads() is
  'Trigger of enable_guards: writes down the threads whose last checkpoint was deleted.';
revoke all on function @extschema@.remember_deleted_threads() from public;
