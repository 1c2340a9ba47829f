-- The tenant of this transaction when tenants are told by the setting langgraph.tenant. Policies and column defaults call it,
-- so everything is qualified: a search_path of the caller's must not change what it means. Null works across tenants.
-- Locks: none. Errors: LG007 when it is not set.
create or replace function @extschema@.setting_tenant()
returns text
language plpgsql
stable
parallel safe
security invoker
as $fn$
declare
  v_tenant pg_catalog.text := pg_catalog.current_setting('langgraph.tenant', true);
begin
  if v_tenant operator(pg_catalog.<>) '' then
    return v_tenant;
  end if;
  return @extschema@.missing_tenant();
end
$fn$;

comment on function @extschema@.setting_tenant() is
  'The tenant that the setting langgraph.tenant names; LG007 where it names none.';
revoke all on function @extschema@.setting_tenant() from public;
