-- Has pg_cron call sweep on a schedule, as the current role; a schedule of that role's from before is replaced. Returns the
-- number of the job, of which sweep_job tells how its runs went. Several roles may schedule it: one sweep runs at a time.
--   p_schedule      as in crontab, "minute hour day month weekday", in GMT unless cron.timezone says otherwise
--   p_batch_size    threads, and store items, a transaction
--   p_max_duration  when a sweep stops beginning batches; null goes on to the end
-- pg_cron lives in one database of a server (cron.database_name); the error says how to schedule the sweep of another from
-- there.
-- Locks: the job's row. Errors: LG002; LG004 when pg_cron is not in this database; 42501 without the right to use it.
create or replace function @extschema@.schedule_sweep(
  p_schedule text default '17 3 * * *', p_batch_size integer default 100, p_max_duration interval default null
)
returns bigint
language plpgsql
volatile
parallel unsafe
security invoker
set search_path = ''
as $fn$
declare
  v_command text;
  v_home text;
begin
  if p_schedule is null or p_batch_size is null or p_batch_size < 1 or p_max_duration < interval '0' then
    perform @extschema@.reject_argument('sweep', format('schedule %L, batch_size %L, max_duration %L.', p_schedule, p_batch_size,
      p_max_duration), 'batch_size is at least 1; max_duration is null or not negative.');
  end if;
  v_command := format('call %s.sweep(%s%s)', '@extschema@'::regnamespace, p_batch_size, ', ' || quote_literal(p_max_duration));
  if not exists (select from pg_catalog.pg_extension e where e.extname = 'pg_cron') then
    -- Not by current_setting: what is not every role's to see is an error there, and no row here.
    select s.setting into v_home from pg_catalog.pg_settings s where s.name = 'cron.database_name';
    raise exception using
      errcode = 'LG004',
      message = 'pg_cron is not in this database',
      detail = 'A schedule needs the extension pg_cron, which calls sweep.',
      hint = case
        when v_home = current_database() then 'Run: create extension pg_cron.'
        when v_home is not null then format('In database %I, where pg_cron is, run: select cron.schedule_in_database(%L, %L, %L, %L).',
          v_home, @extschema@.sweep_job_name() || ' of ' || current_database(), p_schedule, v_command, current_database())
        else format('Install it (Debian: postgresql-%s-cron), have the server load it (shared_preload_libraries = ''pg_cron'', '
          'cron.database_name = %L, and a restart), then run: create extension pg_cron. Without it: pgweft sweep --every "1 hour".',
          current_setting('server_version_num')::integer / 10000, current_database())
        end;
  end if;
  if not has_schema_privilege(to_regnamespace('cron')::oid, 'usage') then
    raise exception using
      errcode = 'insufficient_privilege',
      message = 'permission denied for schema cron',
      detail = format('Role %I may not schedule jobs.', current_user),
      hint = format('Have a superuser run: grant usage on schema cron to %I.', current_user);
  end if;
  -- The job's session sets nothing, so it sees what the role sees by itself.
  if row_security_active('@extschema@.checkpoints'::regclass)
    and not pg_has_role(current_user, to_regrole(quote_ident(@extschema@.role_name('ops'))), 'usage') then
    perform @extschema@.reject_argument('role', format('Tenancy is on, and role %I sees no tenant''s data by itself.', current_user),
      format('Schedule it as a member of %I.', @extschema@.role_name('ops')));
  end if;
  perform cron.unschedule(j.job_id) from @extschema@.sweep_job() j where j.role_name = current_user;
  return cron.schedule(@extschema@.sweep_job_name(), p_schedule, v_command);
end
$fn$;

comment on function @extschema@.schedule_sweep(text, integer, interval) is 'Has pg_cron sweep this schema on a schedule; returns the job''s number.';
revoke all on function @extschema@.schedule_sweep(text, integer, interval) from public;
