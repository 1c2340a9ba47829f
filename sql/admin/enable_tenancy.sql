-- Divides the schema between tenants by row-level security: each sees and changes only its own threads and store items, with
-- every function and view here, and with LangGraph's own savers, which never name the column "tenant" that is added.
--   p_mode      'setting'  the tenant is what the setting langgraph.tenant names; whoever may run SQL may name any. For
--                          applications that serve many tenants; set it in each transaction, and a pooler does no harm
--               'role'     the tenant is the current role; SQL cannot go around it. For tenants that have roles
--   p_existing  the tenant of what is there and has none
-- Members of <schema>_ops see everything, or act for the tenant that langgraph.tenant names. The owner is bound like everybody,
-- unless it sets langgraph.across_tenants to 'on'; superusers and roles with BYPASSRLS are not. Call it again to change the
-- mode, after a change of owner, and after tables were added. Who names no tenant gets LG007 for whatever touches a row, and
-- sees nothing. Under row-level security a metadata filter across threads cannot use its index.
-- Locks: the tables, exclusively, while rows are checked and indexes built. Errors: LG002; LG004 when the roles are missing.
create or replace function @extschema@.enable_tenancy(p_mode text, p_existing text default null)
returns void
language plpgsql
volatile
parallel unsafe
security invoker
set search_path = ''
as $fn$
declare
  v_function text;
  v_tenant text;
  v_ops text := @extschema@.role_name('ops');
  v_owner text;
  v_is_homeless boolean;
  v_table record;
begin
  if p_mode is null or p_mode not in ('role', 'setting') or p_existing = '' then
    perform @extschema@.reject_argument('tenancy', format('mode %L, existing %L.', p_mode, p_existing),
      'mode is "role" or "setting"; existing is null or the name of a tenant.');
  end if;
  if to_regrole(quote_ident(v_ops)) is null then
    raise exception using
      errcode = 'LG004',
      message = 'the roles of this schema are missing',
      detail = format('There is no role %I, whose members tend the data of all tenants.', v_ops),
      hint = 'Run "migrate roles", or grant_roles(), first.';
  end if;
  v_function := '@extschema@.' || p_mode || '_tenant()';
  -- The usual case without calling a function. An operator's own name is no tenant's, so it adds nothing to what the
  -- operators' policy shows.
  v_tenant := case p_mode
    when 'setting' then format('coalesce(nullif(current_setting(%L, true), %L), %s)', 'langgraph.tenant', '', v_function)
    else format('case when coalesce(current_setting(%L, true), %L) = %L then current_user::text else %s end',
      'langgraph.tenant', '', '', v_function)
  end;

  for v_table in
    select t.name, t.kind, pg_get_userbyid(c.relowner) as owner
    from @extschema@.tenant_tables() t
    join pg_catalog.pg_class c on c.oid = t.name
    order by t.name::text
  loop
    execute format('drop policy if exists tenancy_operators on %s', v_table.name);
    execute format('drop policy if exists tenancy_owner on %s', v_table.name);
    execute format('drop policy if exists tenancy_tenants on %s', v_table.name);
    execute format('alter table %s enable row level security, no force row level security', v_table.name);
    if v_table.kind in ('operator', 'settings') then
      execute format('create policy tenancy_operators on %s to %I using (true)', v_table.name, v_ops);
      if v_table.kind = 'settings' then
        execute format('create policy tenancy_tenants on %s for select using (key <> ''sweep'')', v_table.name);
      end if;
      continue;
    end if;
    if v_table.kind in ('thread', 'item') then
      execute format('alter table %s add column if not exists tenant text collate "C"', v_table.name);
      if p_existing is not null then
        execute format('update %s set tenant = %L where tenant is null', v_table.name, p_existing);
      end if;
      execute format('select exists (select from %s where tenant is null)', v_table.name) into v_is_homeless;
      if v_is_homeless then
        perform @extschema@.reject_argument('tenancy', format('Table %s has rows that belong to no tenant.', v_table.name),
          'Name the tenant that they shall belong to: enable_tenancy(mode, p_existing => ''a tenant'').');
      end if;
      if v_table.kind = 'thread' then
        execute format('insert into @extschema@.thread_tenants (thread_id, tenant) select distinct on (thread_id) thread_id, tenant '
          'from %s on conflict (thread_id) do nothing', v_table.name);
      end if;
      execute format('alter table %s alter column tenant set default %s, alter column tenant set not null, '
        'force row level security', v_table.name, v_function);
      execute format('comment on column %s.tenant is %L', v_table.name, 'Who may see the row; see enable_tenancy.');
      execute format('create or replace trigger tenancy_claim before insert on %s for each row execute function %s',
        v_table.name, case v_table.kind when 'thread' then '@extschema@.claim_thread()' else '@extschema@.claim_item()' end);
      execute format('create policy tenancy_owner on %s to %I using ((select current_setting(%L, true) = %L))',
        v_table.name, v_table.owner, 'langgraph.across_tenants', 'on');
    end if;
    -- A subquery is evaluated once a statement, when the first row is looked at.
    execute format('create policy tenancy_tenants on %s using (tenant = (select %s))', v_table.name, v_tenant);
    execute format('create policy tenancy_operators on %s to %I using ((select coalesce(current_setting(%L, true), %L) = %L))',
      v_table.name, v_ops, 'langgraph.tenant', '', '');
  end loop;

  execute 'create index if not exists checkpoints_tenant_created_at_idx on @extschema@.checkpoints (tenant, created_at)';
  execute 'create index if not exists checkpoints_tenant_checkpoint_id_idx on @extschema@.checkpoints '
    '(tenant, (checkpoint_id || ''''))';
  comment on index @extschema@.checkpoints_tenant_created_at_idx is 'list_threads of one tenant.';
  comment on index @extschema@.checkpoints_tenant_checkpoint_id_idx is 'list_checkpoints of one tenant without a thread.';
  insert into @extschema@.settings (key, value) values ('tenancy', jsonb_build_object('mode', p_mode))
  on conflict (key) do update set value = excluded.value, updated_at = now();
end
$fn$;

comment on function @extschema@.enable_tenancy(text, text) is
  'Divides the schema between tenants by row-level security, told apart by role or by the setting langgraph.tenant.';
revoke all on function @extschema@.enable_tenancy(text, text) from public;
