-- Turns off guards that enable_guards turned on; true turns one off, false leaves it as it is. Without the guard of deleted
-- threads those are forgotten, so that one that comes back meanwhile is not refused later.
-- For the owner of the tables. It has to be done before a migration down removes the functions.
-- Locks: access exclusive on the tables of checkpoints. Errors: LG002.
create or replace function @extschema@.disable_guards(p_deleted_threads boolean default true, p_versions boolean default true)
returns void
language plpgsql
volatile
parallel unsafe
security invoker
set search_path = ''
set client_min_messages = warning
as $fn$
begin
  perform @extschema@.reject_no_guard(p_deleted_threads, p_versions);
  if p_deleted_threads then
    drop trigger if exists guard_deleted_thread on @extschema@.checkpoint_writes;
    drop trigger if exists guard_deleted_thread on @extschema@.checkpoints;
    drop trigger if exists remember_deleted_threads on @extschema@.checkpoints;
    delete from @extschema@.deleted_threads;
  end if;
  if p_versions then
    drop trigger if exists guard_version on @extschema@.checkpoint_blobs;
  end if;

  update @extschema@.settings s
  set
    value = jsonb_build_object(
      'deleted_threads', not p_deleted_threads and (s.value ->> 'deleted_threads')::boolean,
      'versions', not p_versions and (s.value ->> 'versions')::boolean
    ),
    updated_at = now()
  where s.key = 'guards';
end
$fn$;

comment on function @extschema@.disable_guards(boolean, boolean) is
  'Turns off guards for unmodified clients, and forgets which threads were deleted.';
revoke all on function @extschema@.disable_guards(boolean, boolean) from public;
