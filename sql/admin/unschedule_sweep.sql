-- Ends what schedule_sweep began: pg_cron sweeps this schema no more. Returns whether it did before. A superuser ends the
-- schedules of all roles, everybody else their own. A sweep that runs is not interrupted.
-- Locks: the job's row. Errors: none.
create or replace function @extschema@.unschedule_sweep()
returns boolean
language plpgsql
volatile
parallel unsafe
security invoker
set search_path = ''
as $fn$
declare
  v_job bigint;
  v_found boolean := false;
begin
  for v_job in select j.job_id from @extschema@.sweep_job() j loop
    perform cron.unschedule(v_job);
    v_found := true;
  end loop;
  return v_found;
end
$fn$;

comment on function @extschema@.unschedule_sweep() is 'Ends the schedule by which pg_cron sweeps this schema; says whether there was one.';
revoke all on function @extschema@.unschedule_sweep() from public;
