-- Turns on guards against what clients that do not call our functions do silently; off by default, since each costs time at
-- every put (see docs/interop.md). They hold for every client, ours too.
--   p_deleted_threads  a thread whose last checkpoint is deleted cannot come back: LG005 for whoever writes to it. What was
--                      deleted before is not known. A thread that a retention policy or its TTL removed may begin anew.
--   p_versions         another value under a channel version that is stored is LG003 instead of being dropped
-- True turns a guard on, false leaves it as it is; schema_info shows which are on. Load much data before, not after: guards
-- take an advisory lock a thread, and the locks of a transaction are limited.
-- For the owner of the tables: others may not make triggers.
-- Locks: share row exclusive on the tables of checkpoints, which waits for their writers. Errors: LG002.
create or replace function @extschema@.enable_guards(p_deleted_threads boolean default true, p_versions boolean default true)
returns void
language plpgsql
volatile
parallel unsafe
security invoker
set search_path = ''
as $fn$
begin
  perform @extschema@.reject_no_guard(p_deleted_threads, p_versions);
  if p_deleted_threads then
    create or replace trigger remember_deleted_threads after delete on @extschema@.checkpoints
      referencing old table as removed
      for each statement execute function @extschema@.remember_deleted_threads();
    create or replace trigger guard_deleted_thread before insert on @extschema@.checkpoints
      for each row execute function @extschema@.guard_deleted_thread();
    create or replace trigger guard_deleted_thread before insert on @extschema@.checkpoint_writes
      for each row execute function @extschema@.guard_deleted_thread();
  end if;
  if p_versions then
    create or replace trigger guard_version before insert on @extschema@.checkpoint_blobs
      for each row execute function @extschema@.guard_version();
  end if;

  insert into @extschema@.settings as s (key, value)
  values ('guards', jsonb_build_object('deleted_threads', p_deleted_threads, 'versions', p_versions))
  on conflict (key) do update
  set
    value = jsonb_build_object(
      'deleted_threads', p_deleted_threads or (s.value ->> 'deleted_threads')::boolean,
      'versions', p_versions or (s.value ->> 'versions')::boolean
    ),
    updated_at = now();
end
$fn$;

comment on function @extschema@.enable_guards(boolean, boolean) is
  'Turns on guards for unmodified clients: deleted threads stay deleted, a stored channel version is never dropped silently.';
revoke all on function @extschema@.enable_guards(boolean, boolean) from public;
