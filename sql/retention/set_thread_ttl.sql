-- Lets sweep remove a thread once nothing was put for p_idle_ttl; null takes the TTL away. It stands above the idle_ttl of
-- retention policies for this thread. The thread need not exist yet.
-- Locks: the TTL's row. Errors: LG002.
create or replace function @extschema@.set_thread_ttl(p_thread_id text, p_idle_ttl interval)
returns void
language plpgsql
volatile
parallel unsafe
security invoker
set search_path = ''
as $fn$
begin
  if p_thread_id is null or p_thread_id = '' or p_idle_ttl <= interval '0' then
    perform @extschema@.reject_argument('thread TTL', format('thread_id %L, idle_ttl %L.', p_thread_id, p_idle_ttl),
      'Name the thread; the interval is positive, or null for none.');
  end if;
  if p_idle_ttl is null then
    delete from @extschema@.thread_ttls t where t.thread_id = p_thread_id;
    return;
  end if;
  insert into @extschema@.thread_ttls (thread_id, idle_ttl)
  values (p_thread_id, p_idle_ttl)
  on conflict (thread_id) do update set idle_ttl = excluded.idle_ttl;
end
$fn$;

comment on function @extschema@.set_thread_ttl(text, interval) is
  'Lets sweep remove a thread once it was idle for so long; null takes the TTL away.';
revoke all on function @extschema@.set_thread_ttl(text, interval) from public;
