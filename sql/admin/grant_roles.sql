-- Makes the roles <schema>_app, <schema>_reader and <schema>_ops where they are missing, takes every right on the two schemas
-- from them, and grants what role_rights says, in one transaction. Returns the statements; with p_dry_run it runs none of them.
-- They are groups (nologin): grant them to the roles that log in. Rights of your own choosing belong to roles of your own.
--   p_reader_values  whether the reader may see what agents saved; null leaves that as it is (no, at first)
-- Call it again after a migration; "migrate up" does.
-- Locks: what it grants, in the catalogs. Errors: 42501 without CREATEROLE where a role is missing; LG002 where a role is too
-- mighty for least privilege, or role_rights does not know a routine.
create or replace function @extschema@.grant_roles(p_dry_run boolean default false, p_reader_values boolean default null)
returns setof text
language plpgsql
volatile
parallel unsafe
security invoker
rows 20
set search_path = ''
as $fn$
declare
  v_wrong text;
  v_reader oid := to_regrole(quote_ident(@extschema@.role_name('reader')));
  v_values boolean := coalesce(p_reader_values,
    v_reader is not null and has_column_privilege(v_reader, '@extschema@.checkpoint_blobs'::regclass, 'blob', 'select'));
  v_statement text;
begin
  select string_agg(p.oid::regprocedure::text, ', ' order by p.proname) into v_wrong
  from pg_catalog.pg_proc p
  where p.pronamespace in ('@extschema@'::regnamespace, '@extschema@_analytics'::regnamespace)
    and p.prorettype <> 'trigger'::regtype
    and p.proowner = (select c.relowner from pg_catalog.pg_class c where c.oid = '@extschema@.checkpoints'::regclass)
    and not exists (select from @extschema@.role_rights() r where r.kind = 'routine' and r.object = p.oid::regprocedure::text);
  if v_wrong is not null then
    perform @extschema@.reject_argument('routines', format('role_rights does not say who may call %s.', v_wrong),
      'Move routines of your own to another schema, or let another role own them.');
  end if;
  select string_agg(quote_ident(a.rolname), ', ' order by a.rolname) into v_wrong
  from unnest(array['app', 'reader', 'ops']) r (role)
  join pg_catalog.pg_roles a on a.rolname = @extschema@.role_name(r.role)
  where a.rolsuper or a.rolbypassrls;
  if v_wrong is not null then
    perform @extschema@.reject_argument('roles', format('Superuser, or beyond row-level security: %s.', v_wrong),
      'Take that from them with "alter role ... nosuperuser nobypassrls", or rename them.');
  end if;

  for v_statement in
    with roles as (
      select r.role, @extschema@.role_name(r.role) as name, r.place, r.purpose,
        to_regrole(quote_ident(@extschema@.role_name(r.role))) is null as is_new
      from (values
        (1, 'app', 'Agents and applications: they save, read and delete threads and store items'),
        (2, 'reader', 'People and reports that only look'),
        (3, 'ops', 'Retention, pins, repair and fsck')
      ) r (place, role, purpose)
    ), schemas as (
      select '@extschema@'::regnamespace::text as name
      union all
      select '@extschema@_analytics'::regnamespace::text
    ), statements (stage, place, sort, statement) as (
      select 1, r.place, '', format('create role %I nologin', r.name) from roles r where r.is_new
      union all
      select 2, r.place, '', format('comment on role %I is %L', r.name, r.purpose || ' of schema ' || '@extschema@'::regnamespace || '.')
      from roles r
      where r.is_new
      union all
      select 3, r.place, k.kind || s.name, format('revoke all on %s %s from %I', k.kind, s.name, r.name)
      from roles r
      cross join schemas s
      cross join unnest(array['all routines in schema', 'all tables in schema', 'schema']) k (kind)
      where not r.is_new
      union all
      select 4, r.place, g.kind || g.rights,
        format('grant %s on %s%s to %I', g.rights, case when g.kind <> 'table' then g.kind || ' ' end,
          string_agg(g.object, E',\n  ' order by g.object), r.name)
      from roles r
      join @extschema@.role_rights(v_values) g on g.role = r.role
      group by r.place, r.name, g.kind, g.rights
    )
    select s.statement from statements s order by s.stage, s.place, s.sort
  loop
    if not p_dry_run then
      begin
        execute v_statement;
      exception
        when insufficient_privilege then
          raise exception using
            errcode = 'insufficient_privilege',
            message = sqlerrm,
            detail = format('It was at: %s.', split_part(v_statement, E'\n', 1)),
            hint = 'Making roles needs CREATEROLE, and granting needs the owner of the schema. Have a DBA run what '
              '"migrate roles --print" writes.';
      end;
    end if;
    return next v_statement;
  end loop;
end
$fn$;

comment on function @extschema@.grant_roles(boolean, boolean) is
  'Makes the roles app, reader and ops of this schema and grants them exactly what role_rights says; returns the statements.';
revoke all on function @extschema@.grant_roles(boolean, boolean) from public;
