-- The tenant of this transaction when tenants are roles: the name of the current role. Operators (members of <schema>_ops) are
-- no tenants: they see all, or act for the one that the setting langgraph.tenant names.
-- Locks: none. Errors: none.
create or replace function @extschema@.role_tenant()
returns text
language plpgsql
stable
parallel safe
security invoker
set search_path = ''
as $fn$
begin
  -- What role_name says, without the price of a call: this runs for every row that is inserted.
  if pg_has_role(current_user, to_regrole(quote_ident((
    select n.nspname || '_ops' from pg_catalog.pg_namespace n where n.oid = '@extschema@'::regnamespace
  ))), 'usage') then
    return nullif(current_setting('langgraph.tenant', true), '');
  end if;
  return current_user;
end
$fn$;

comment on function @extschema@.role_tenant() is
  'The tenant that the current role is; for operators the one that the setting langgraph.tenant names, or null.';
revoke all on function @extschema@.role_tenant() from public;
