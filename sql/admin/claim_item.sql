-- Trigger of the store's tables while tenancy is on: an item that another tenant put under the same namespace and key is told
-- as that, instead of as a violated policy or, with "on conflict do nothing", not at all.
-- Security definer, because it has to see an item that is somebody else's.
-- Locks: none. Errors: LG007.
create or replace function @extschema@.claim_item()
returns trigger
language plpgsql
volatile
parallel unsafe
security definer
set search_path = ''
as $fn$
declare
  v_before text;
  v_taken boolean := false;
begin
  if new.tenant is null then
    raise exception using
      errcode = 'LG007',
      message = 'no tenant is set',
      detail = format('Nobody would own the new row of %s.', tg_relid::regclass),
      hint = 'Name the tenant to act for: select set_config(''langgraph.tenant'', ''the tenant'', true).';
  end if;
  -- The key of store_vectors is one of store already.
  if tg_table_name = 'store' then
    -- Not by a "set" of the function: only superusers may make one for a setting that no extension defines.
    v_before := coalesce(current_setting('langgraph.across_tenants', true), '');
    perform set_config('langgraph.across_tenants', 'on', true);
    v_taken := exists (
      select
      from @extschema@.store s
      where s.prefix = new.prefix and s.key = new.key and s.tenant <> new.tenant
    );
    perform set_config('langgraph.across_tenants', v_before, true);
  end if;
  if v_taken then
    raise exception using
      errcode = 'LG007',
      message = format('item %L of namespace %L belongs to another tenant', new.key, new.prefix),
      detail = 'Namespaces are shared by all tenants of a schema, and a key in one belongs to the tenant that put it.',
      hint = 'Begin namespaces with the tenant.';
  end if;
  return new;
end
$fn$;

comment on function @extschema@.claim_item() is 'Trigger: an item of another tenant under the same key is LG007.';
revoke all on function @extschema@.claim_item() from public;
