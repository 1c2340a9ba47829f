-- Takes row-level security away again: everybody with rights on the tables sees everything. Who owned what is remembered, for a
-- later enable_tenancy, unless p_forget.
-- Locks: the tables, exclusively. Errors: none.
create or replace function @extschema@.disable_tenancy(p_forget boolean default false)
returns void
language plpgsql
volatile
parallel unsafe
security invoker
set search_path = ''
as $fn$
declare
  v_table record;
  v_policy name;
begin
  for v_table in
    select t.name, a.attname is not null as has_tenant
    from @extschema@.tenant_tables() t
    join pg_catalog.pg_class c on c.oid = t.name
    left join pg_catalog.pg_attribute a
      on a.attrelid = t.name and a.attname = 'tenant' and not a.attisdropped and t.kind in ('thread', 'item')
    where c.relrowsecurity or p_forget and a.attname is not null
    order by t.name::text
  loop
    for v_policy in
      select p.polname from pg_catalog.pg_policy p where p.polrelid = v_table.name and p.polname like 'tenancy\_%'
    loop
      execute format('drop policy %I on %s', v_policy, v_table.name);
    end loop;
    execute format('alter table %s disable row level security, no force row level security', v_table.name);
    if v_table.has_tenant then
      execute format('drop trigger if exists tenancy_claim on %s', v_table.name);
      execute format('alter table %s alter column tenant drop default, alter column tenant drop not null', v_table.name);
    end if;
    if v_table.has_tenant and p_forget then
      execute format('alter table %s drop column tenant', v_table.name);  -- and the indexes with it
    end if;
  end loop;
  if p_forget then
    delete from @extschema@.thread_tenants;
  end if;
  delete from @extschema@.settings s where s.key = 'tenancy';
end
$fn$;

comment on function @extschema@.disable_tenancy(boolean) is
  'Takes tenancy away; with p_forget also the memory of which tenant owned what.';
revoke all on function @extschema@.disable_tenancy(boolean) from public;
