-- The job by which pg_cron sweeps this schema, and how its last run went; no row where there is no such job, no pg_cron in this
-- database, or no right to look. Superusers see the jobs of all roles, everybody else their own.
-- Locks: none. Errors: none.
create or replace function @extschema@.sweep_job()
returns table (
  job_id bigint, schedule text, role_name text, is_active boolean, last_status text, last_message text, last_started_at timestamptz
)
language plpgsql
stable
parallel restricted
security invoker
rows 1
set search_path = ''
as $fn$
begin
  -- Asked of the extension: anybody who may create schemas could make one of that name.
  if not exists (select from pg_catalog.pg_extension e where e.extname = 'pg_cron')
    or not has_schema_privilege(to_regnamespace('cron')::oid, 'usage') then
    return;
  end if;
  return query
  select j.jobid, j.schedule, j.username, j.active, d.status, d.return_message, d.start_time
  from cron.job j
  left join lateral (
    select r.status, r.return_message, r.start_time from cron.job_run_details r where r.jobid = j.jobid order by r.runid desc limit 1
  ) d on true
  where j.jobname = @extschema@.sweep_job_name() and j.database = current_database()
  order by j.jobid;
end
$fn$;

comment on function @extschema@.sweep_job() is 'The job by which pg_cron sweeps this schema, and how its last run went.';
revoke all on function @extschema@.sweep_job() from public;
