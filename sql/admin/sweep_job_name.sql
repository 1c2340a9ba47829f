-- How the job that sweeps this schema is called in pg_cron, whose names have 63 bytes at most.
-- Locks: none. Errors: none.
create or replace function @extschema@.sweep_job_name()
returns text
language sql
stable
parallel safe
security invoker
set search_path = ''
as $fn$
  select 'sweep ' || n.nspname from pg_catalog.pg_namespace n where n.oid = '@extschema@'::regnamespace
$fn$;

comment on function @extschema@.sweep_job_name() is 'How the job that sweeps this schema is called in pg_cron.';
revoke all on function @extschema@.sweep_job_name() from public;
