-- Trigger of checkpoint_blobs while enable_guards protects versions: raises LG003 where a client would save another value
-- under a version that is stored. "on conflict do nothing" would drop it, and the client would read the other value later:
-- what clients with integer versions do in every fork. The same bytes again pass.
-- Security definer, so that a client's role needs no more rights than those its own statements need.
-- Of two writers at once the second waits, and sees what the first stored.
-- Locks: an advisory lock of the transaction on the thread's namespace. Errors: LG003.
create or replace function @extschema@.guard_version()
returns trigger
language plpgsql
volatile
parallel unsafe
security definer
set search_path = ''
as $fn$
declare
  v_before text := coalesce(current_setting('langgraph.across_tenants', true), '');
begin
  -- The owner is bound by tenancy, too.
  perform set_config('langgraph.across_tenants', 'on', true);
  perform pg_advisory_xact_lock(hashtextextended(new.checkpoint_ns, @extschema@.guard_key(new.thread_id)));
  if exists (
    select
    from @extschema@.checkpoint_blobs b
    where b.thread_id = new.thread_id
      and b.checkpoint_ns = new.checkpoint_ns
      and b.channel = new.channel
      and b.version = new.version
  ) then
    perform @extschema@.reject_version_collision(new.thread_id, new.checkpoint_ns, array[new.channel], array[new.version],
      array[new.type], array[new.blob]);
  end if;
  perform set_config('langgraph.across_tenants', v_before, true);
  return new;
end
$fn$;

comment on function @extschema@.guard_version() is
  'Trigger of enable_guards: refuses another value under a channel version that is stored.';
revoke all on function @extschema@.guard_version() from public;
