-- The name of one of the three roles of this schema: the schema's name with "_app", "_reader" or "_ops" appended. Roles belong
-- to the whole server, so schemas of the same name in several databases share them.
-- Locks: none. Errors: none.
create or replace function @extschema@.role_name(p_role text)
returns text
language sql
stable
parallel safe
security invoker
set search_path = ''
as $fn$
  select n.nspname || '_' || p_role from pg_catalog.pg_namespace n where n.oid = '@extschema@'::regnamespace
$fn$;

comment on function @extschema@.role_name(text) is 'The name of the role "app", "reader" or "ops" of this schema.';
revoke all on function @extschema@.role_name(text) from public;
