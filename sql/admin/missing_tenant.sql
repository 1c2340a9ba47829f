-- What a tenant is where none is set: null for those who work across tenants, so that row-level security shows them what
-- the policies of operators and of the owner allow. Everybody else is told to name one. Part of setting_tenant.
-- Locks: none. Errors: LG007.
create or replace function @extschema@.missing_tenant()
returns text
language plpgsql
stable
parallel safe
security invoker
set search_path = ''
as $fn$
begin
  if pg_has_role(current_user, to_regrole(quote_ident(@extschema@.role_name('ops'))), 'usage')
    or current_setting('langgraph.across_tenants', true) = 'on' then
    return null;
  end if;
  raise exception using
    errcode = 'LG007',
    message = 'no tenant is set',
    detail = format('Row-level security is on in schema %s, and role %I is none of its operators.',
      '@extschema@'::regnamespace, current_user),
    hint = 'In each transaction run: select set_config(''langgraph.tenant'', ''the tenant'', true). On a connection of its own, '
      'without a pooler, the tenant can be a startup option instead: -c langgraph.tenant=the_tenant.';
end
$fn$;

comment on function @extschema@.missing_tenant() is 'Raises LG007 where no tenant is set, except for operators.';
revoke all on function @extschema@.missing_tenant() from public;
