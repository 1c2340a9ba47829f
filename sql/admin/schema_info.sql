-- What a client has to know before it uses this schema. A client built for schema version V works when
-- schema_version >= V and minimum_client <= V; it checks once, and refuses with the command that mends it.
-- Locks: none. Errors: none.
create or replace function @extschema@.schema_info()
returns table (schema_version integer, minimum_client integer, dirty boolean, features jsonb)
language plpgsql
stable
parallel safe
security invoker
rows 1
set search_path = ''
as $fn$
begin
  return query
  select
    m.version::integer,
    -- Raised only by a migration that breaks clients built for an older version.
    4,
    m.dirty,
    jsonb_build_object(
      'server_version', current_setting('server_version_num')::integer,
      'pgvector', (select e.extversion from pg_catalog.pg_extension e where e.extname = 'vector'),
      'settings', (select coalesce(jsonb_object_agg(s.key, s.value), '{}') from @extschema@.settings s)
    )
  from @extschema@.schema_migrations m;
end
$fn$;

comment on function @extschema@.schema_info() is
  'Version of this schema, oldest client version it still serves, and which optional features it has.';
revoke all on function @extschema@.schema_info() from public;
