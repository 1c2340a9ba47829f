-- Trigger of the tables of threads while tenancy is on: a thread id belongs to the tenant that used it first, whatever table it
-- came to first. Without this, a row of another tenant under the same key would make an insert "on conflict do nothing" lose
-- the value in silence, and retention would count the checkpoints of both as one thread's.
-- Security definer, because it has to see that a thread is somebody else's: thread_tenants shows each tenant only its own.
-- Locks: the thread's row of thread_tenants, when it is new. Errors: LG007.
create or replace function @extschema@.claim_thread()
returns trigger
language plpgsql
volatile
parallel unsafe
security definer
set search_path = ''
as $fn$
declare
  v_tenant text;
begin
  if new.tenant is null then
    raise exception using
      errcode = 'LG007',
      message = 'no tenant is set',
      detail = format('Nobody would own the new row of %s.', tg_relid::regclass),
      hint = 'Name the tenant to act for: select set_config(''langgraph.tenant'', ''the tenant'', true).';
  end if;
  select t.tenant into v_tenant from @extschema@.thread_tenants t where t.thread_id = new.thread_id;
  if not found then
    insert into @extschema@.thread_tenants (thread_id, tenant) values (new.thread_id, new.tenant)
    on conflict (thread_id) do nothing;
    select t.tenant into v_tenant from @extschema@.thread_tenants t where t.thread_id = new.thread_id;
  end if;
  if v_tenant is distinct from new.tenant then
    raise exception using
      errcode = 'LG007',
      message = format('thread %L belongs to another tenant', new.thread_id),
      detail = 'A thread id belongs to the tenant that used it first, also after the thread was deleted.',
      hint = 'Use another thread id, such as a UUID, or one that begins with the tenant.';
  end if;
  return new;
end
$fn$;

comment on function @extschema@.claim_thread() is
  'Trigger: a thread belongs to the tenant that used its id first; LG007 for all others.';
revoke all on function @extschema@.claim_thread() from public;
