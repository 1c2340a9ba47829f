-- What a DBA would want to know about this schema, and the command that mends it: one row a finding, problems first.
--   level    'problem' wants mending, 'advice' is worth a thought, 'note' only tells
--   topic    grants, tenancy, indexes, bloat, size, retention, compression, pgvector, settings
-- Sizes of large tables are estimated from a sample of about p_sample_bytes. Version, drift and poolers are for "pgweft doctor",
-- which knows what was shipped.
-- Locks: none. Errors: none.
create or replace function @extschema@.doctor(p_sample_bytes bigint default 268435456)
returns table (level text, topic text, subject text, detail text, remedy text)
language plpgsql
volatile
parallel unsafe
security invoker
rows 20
set search_path = ''
as $fn$
#variable_conflict use_column
declare
  v_schema text := '@extschema@'::regnamespace::text;
  v_sweep jsonb;
begin
  select s.value into v_sweep from @extschema@.settings s where s.key = 'sweep';
  return query
  with roles as (
    select r.role, @extschema@.role_name(r.role) as name, to_regrole(quote_ident(@extschema@.role_name(r.role)))::oid as id
    from unnest(array['app', 'reader', 'ops']) r (role)
  ), tables as (
    select c.oid, c.oid::regclass::text as name, c.relname, c.relrowsecurity, c.relowner, pg_table_size(c.oid) as bytes,
      s.n_live_tup, s.n_dead_tup, greatest(s.last_analyze, s.last_autoanalyze) as analyzed
    from pg_catalog.pg_class c
    left join pg_catalog.pg_stat_all_tables s on s.relid = c.oid
    where c.relnamespace = '@extschema@'::regnamespace and c.relkind in ('r', 'p')
  ), indexes as (
    select i.indexrelid, i.indexrelid::regclass::text as name, i.indisvalid, i.indisunique, i.indrelid::regclass::text as table_name,
      pg_relation_size(i.indexrelid) as bytes, coalesce(s.idx_scan, 0) as scans, i.indkey::text as columns,
      obj_description(i.indexrelid, 'pg_class') as serves,
      exists (
        select
        from pg_catalog.pg_index p
        where p.indrelid = i.indrelid and p.indexrelid <> i.indexrelid and p.indisvalid and i.indpred is null and i.indexprs is null
          and not i.indisunique and p.indpred is null and p.indkey::text like i.indkey::text || ' %'
      ) as is_prefix
    from pg_catalog.pg_index i
    join tables t on t.oid = i.indrelid
    left join pg_catalog.pg_stat_all_indexes s on s.indexrelid = i.indexrelid
  ), chosen as (
    select s.name, s.setting, s.unit from pg_catalog.pg_settings s
  ), threads as (
    select u.thread_id, u.channel, u.bytes
    from (
      select b.thread_id, b.channel, pg_column_size(b.blob)::bigint as bytes
      from @extschema@.checkpoint_blobs b tablesample system
        (least(100, 100.0 * p_sample_bytes / greatest(pg_table_size('@extschema@.checkpoint_blobs'::regclass), 1))) repeatable (1)
      union all
      select w.thread_id, w.channel, pg_column_size(w.blob)
      from @extschema@.checkpoint_writes w tablesample system
        (least(100, 100.0 * p_sample_bytes / greatest(pg_table_size('@extschema@.checkpoint_writes'::regclass), 1))) repeatable (1)
    ) u
  ), lz4 as (
    select exists (
      select from pg_catalog.pg_settings s where s.name = 'default_toast_compression' and 'lz4' = any (s.enumvals)
    ) as is_built_in
  ), findings (place, level, topic, subject, detail, remedy) as (
    select 1, 'advice', 'grants', r.name, 'The role does not exist, so somebody works with the owner''s rights.',
      format('migrate roles --schema %s', v_schema)
    from roles r
    where r.id is null
    union all
    select 1, 'problem', 'grants', r.name, format('It lacks rights on %s, the first of them %s.',
      count(*) || case count(*) when 1 then ' object' else ' objects' end, min(g.object)), format('migrate roles --schema %s', v_schema)
    from roles r
    join @extschema@.role_rights() g on g.role = r.role
    where r.id is not null
      and not case g.kind
        when 'schema' then has_schema_privilege(r.id, g.object::regnamespace, 'usage')
        when 'routine' then has_function_privilege(r.id, g.object::regprocedure, 'execute')
        when 'table' then case
          when g.rights like 'select (%' then has_any_column_privilege(r.id, g.object::regclass, 'select')
          else not exists (
            select
            from regexp_split_to_table(g.rights, ', ') p (privilege)
            where not has_table_privilege(r.id, g.object::regclass, p.privilege)
          ) end
      end
    group by r.name
    union all
    select 1, 'problem', 'grants', o.name, 'Every role of the server has rights on it.', format('revoke all on %s %s from public;', o.kind, o.name)
    from (
      select 'table' as kind, c.oid::regclass::text as name, c.relacl as acl
      from pg_catalog.pg_class c
      where c.relnamespace in ('@extschema@'::regnamespace, '@extschema@_analytics'::regnamespace) and c.relkind in ('r', 'p', 'v', 'm')
      union all
      select 'routine', p.oid::regprocedure::text, coalesce(p.proacl, acldefault('f', p.proowner))
      from pg_catalog.pg_proc p
      where p.pronamespace in ('@extschema@'::regnamespace, '@extschema@_analytics'::regnamespace)
    ) o
    where exists (select from aclexplode(o.acl) a where a.grantee = 0)
    union all
    select 2, 'problem', 'tenancy', t.name::text, 'The schema is divided between tenants, and this table is not.',
      format('select %s.enable_tenancy(%L);', v_schema, s.value ->> 'mode')
    from @extschema@.settings s
    cross join @extschema@.tenant_tables() t
    join pg_catalog.pg_class c on c.oid = t.name
    where s.key = 'tenancy' and not c.relrowsecurity
    union all
    select 2, 'problem', 'tenancy', t.name::text, 'Its owner is not the one whom the tenants'' policies name.',
      format('select %s.enable_tenancy(%L);', v_schema, s.value ->> 'mode')
    from @extschema@.settings s
    cross join @extschema@.tenant_tables() t
    join pg_catalog.pg_class c on c.oid = t.name
    join pg_catalog.pg_policy p on p.polrelid = t.name and p.polname = 'tenancy_owner'
    where s.key = 'tenancy' and not c.relowner = any (p.polroles)
    union all
    select 2, 'problem', 'tenancy', a.rolname::text, 'It can log in, uses this schema, and row-level security does not bind it.',
      format('alter role %I nosuperuser nobypassrls;', a.rolname)
    from @extschema@.settings s
    cross join pg_catalog.pg_roles a
    join pg_catalog.pg_auth_members m on m.member = a.oid
    join roles r on r.id = m.roleid
    where s.key = 'tenancy' and a.rolcanlogin and (a.rolsuper or a.rolbypassrls)
    union all
    select 3, 'problem', 'indexes', i.name, 'It is invalid: building it was interrupted. It costs and serves nobody.',
      format('reindex index concurrently %s;', i.name)
    from indexes i
    where not i.indisvalid
    union all
    select 3, 'advice', 'indexes', i.name, format('It is the beginning of another index of %s (%s).', i.table_name, pg_size_pretty(i.bytes)),
      format('drop index concurrently %s;', i.name)
    from indexes i
    where i.is_prefix
    union all
    select 3, 'note', 'indexes', i.name,
      format('Not used since statistics began; %s. %s', pg_size_pretty(i.bytes), 'It serves: ' || i.serves),
      case when i.serves is null then format('drop index concurrently %s;', i.name)
        else 'Keep it, unless none of your programs asks that: then drop it, and "migrate verify" will name it.' end
    from indexes i
    where i.scans = 0 and i.indisvalid and not i.indisunique and not i.is_prefix and i.bytes > 16777216
    union all
    select 4, 'problem', 'bloat', t.name, format('%s dead rows beside %s; autovacuum does not keep up.', t.n_dead_tup, t.n_live_tup),
      format('vacuum (analyze) %s; and then: alter table %s set (autovacuum_vacuum_scale_factor = 0.02);', t.name, t.name)
    from tables t
    where t.n_dead_tup > 10000 and t.n_dead_tup > t.n_live_tup / 4
    union all
    select 4, 'advice', 'bloat', t.name, format('The planner has no statistics of it (%s).', pg_size_pretty(t.bytes)), format('analyze %s;', t.name)
    from tables t
    where t.analyzed is null and t.bytes > 1048576
    union all
    (
      select 5, 'note', 'size', 'thread ' || u.thread_id, format('%s of values and writes.', pg_size_pretty(sum(u.bytes))),
        format('select * from %s.prune(array[%L], p_dry_run => true);', v_schema, u.thread_id)
      from threads u
      group by u.thread_id
      having sum(u.bytes) > 0
      order by sum(u.bytes) desc, u.thread_id
      limit 3
    )
    union all
    (
      select 5, 'note', 'size', 'channel ' || u.channel, format('%s of values and writes.', pg_size_pretty(sum(u.bytes))),
        'Where it grows with each step, a delta channel in the graph, or a policy that keeps fewer checkpoints, makes it smaller.'
      from threads u
      group by u.channel
      having sum(u.bytes) > 0
      order by sum(u.bytes) desc, u.channel
      limit 3
    )
    union all
    select 6, 'problem', 'retention', 'sweep', case
        when v_sweep is null then 'There are policies, TTLs or expired items, and no sweep has ever run.'
        else format('The last sweep worked at %s.', v_sweep ->> 'updated_at') end,
      format('select %s.schedule_sweep(); has pg_cron do it, or says what it lacks. Otherwise: pgweft sweep, from cron every night, '
        'or as a service: pgweft sweep --every "1 hour"', v_schema)
    where (exists (select from @extschema@.retention_policies p where p.enabled)
        or exists (select from @extschema@.thread_ttls)
        or exists (select from @extschema@.store s where s.expires_at < now() - interval '1 day'))
      and coalesce((v_sweep ->> 'updated_at')::timestamptz < now() - interval '2 days', true)
    union all
    select 6, case when not j.is_active or j.last_status = 'failed' then 'problem' else 'note' end, 'retention', 'pg_cron job ' || j.job_id,
      case when not j.is_active then format('It sweeps at "%s", and is switched off.', j.schedule)
        when j.last_status = 'failed' then format('It sweeps at "%s", as %I; its last run, at %s, failed: %s', j.schedule, j.role_name,
          j.last_started_at, btrim(j.last_message, E' \n'))
        else format('It sweeps at "%s", as %I; %s.', j.schedule, j.role_name,
          coalesce('its last run, at ' || j.last_started_at || ', ' || j.last_status, 'it has not run yet')) end,
      case when not j.is_active then format('As %I: select %s.schedule_sweep(%L);', j.role_name, v_schema, j.schedule)
        else format('select * from cron.job_run_details where jobid = %s order by runid desc;', j.job_id) end
    from @extschema@.sweep_job() j
    union all
    select 6, 'advice', 'retention', 'policies', format('There is none, and checkpoints are kept for ever (%s so far).', pg_size_pretty((
        select sum(t.bytes) from tables t where t.relname like 'checkpoint%'))),
      'pgweft policy set everything --keep-last 50; "pgweft sweep --dry-run" shows what would go.'
    where not exists (select from @extschema@.retention_policies p where p.enabled)
      and not exists (select from @extschema@.thread_ttls)
    union all
    select 7, case when l.is_built_in then 'advice' else 'note' end, 'compression', a.attrelid::regclass || '.' || a.attname,
      case when l.is_built_in then 'It is compressed by pglz, which takes several times as long as lz4.'
        else 'This server is built without lz4, which is several times as fast as pglz.' end,
      case when l.is_built_in then format('alter table %s alter column %I set compression lz4;', a.attrelid::regclass, a.attname)
        else 'Use a server that is built with lz4, such as the PostgreSQL project''s packages.' end
    from lz4 l
    cross join pg_catalog.pg_attribute a
    join tables t on t.oid = a.attrelid
    where t.relname in ('checkpoints', 'checkpoint_blobs', 'checkpoint_writes', 'store')
      and a.attname in ('checkpoint', 'metadata', 'blob', 'value') and a.attnum > 0 and a.attcompression <> 'l'
      and (select c.setting from chosen c where c.name = 'default_toast_compression') <> 'lz4'
    union all
    select 8, 'advice', 'pgvector', 'vector ' || e.installed_version, format('The server has version %s.', e.default_version), 'alter extension vector update;'
    from pg_catalog.pg_available_extensions e
    where e.name = 'vector' and e.installed_version <> e.default_version
    union all
    select 8, 'note', 'pgvector', 'vector', 'It is not installed, so the store has no semantic search.',
      case when exists (select from pg_catalog.pg_available_extensions e where e.name = 'vector') then 'create extension vector;'
        else 'Install the package (Debian: postgresql-NN-pgvector), then: create extension vector;' end
    where not exists (select from pg_catalog.pg_extension e where e.extname = 'vector')
    union all
    select 9, w.level, 'settings', c.name, w.detail, w.remedy
    from chosen c
    join (values
      ('autovacuum', 'off', 'problem', 'Nothing removes dead rows.', 'alter system set autovacuum = on; select pg_reload_conf();'),
      ('fsync', 'off', 'problem', 'A crash may corrupt the whole cluster.', 'alter system set fsync = on; select pg_reload_conf();'),
      ('full_page_writes', 'off', 'problem', 'A crash may corrupt pages.', 'alter system set full_page_writes = on; select pg_reload_conf();'),
      ('synchronous_commit', 'off', 'note', 'A crash may lose checkpoints that were said to be saved, up to half a second of them.',
        'alter role the_application set synchronous_commit = on;'),
      ('track_counts', 'off', 'problem', 'Autovacuum works by these counts.', 'alter system set track_counts = on; select pg_reload_conf();'),
      ('idle_in_transaction_session_timeout', '0', 'advice',
        'A client that hangs in a transaction keeps its locks, and vacuum from working, for ever.',
        format('alter role the_application set idle_in_transaction_session_timeout = %L;', '5min')),
      ('wal_compression', 'off', 'advice', 'Full pages go to the WAL as they are; compressed they are a fraction of that.',
        'alter system set wal_compression = on; select pg_reload_conf();'),
      ('shared_buffers', '16384', 'advice', 'It is the default of 128 MB, a fraction of what a database server has.',
        'alter system set shared_buffers = ''a quarter of the memory''; then restart the server.')
    ) w (name, setting, level, detail, remedy) on w.name = c.name and w.setting = c.setting
  )
  select f.level, f.topic, f.subject, f.detail, f.remedy
  from findings f
  order by array_position(array['problem', 'advice', 'note'], f.level), f.place, f.subject collate "C";
end
$fn$;

comment on function @extschema@.doctor(bigint) is
  'What wants mending in this schema, or is worth a thought, one row a finding with the command that mends it.';
revoke all on function @extschema@.doctor(bigint) from public;
