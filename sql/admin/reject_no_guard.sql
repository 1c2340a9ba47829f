-- Raises LG002 for a choice of guards that names none.
-- Locks: none. Errors: LG002.
create or replace function @extschema@.reject_no_guard(p_deleted_threads boolean, p_versions boolean)
returns void
language plpgsql
immutable
parallel safe
security invoker
set search_path = ''
as $fn$
begin
  if p_deleted_threads is null or p_versions is null or not (p_deleted_threads or p_versions) then
    perform @extschema@.reject_argument('guards', format('deleted_threads is %s and versions is %s.',
      coalesce(p_deleted_threads::text, 'null'), coalesce(p_versions::text, 'null')), 'Pass true for at least one, and no null.');
  end if;
end
$fn$;

comment on function @extschema@.reject_no_guard(boolean, boolean) is 'Raises LG002 for a choice of guards that names none.';
revoke all on function @extschema@.reject_no_guard(boolean, boolean) from public;
