-- Applies the thread's TTL and every retention policy that matches it, and says what went; with p_dry_run what would. The
-- strictest of several policies counts. A thread is idle since its last checkpoint or write was saved.
-- The caller has locked the thread.
-- Locks: the rows removed. Errors: none of its own.
create or replace function @extschema@.sweep_thread(p_thread_id text, p_dry_run boolean default false)
returns table (checkpoints bigint, checkpoint_blobs bigint, checkpoint_writes bigint, bytes bigint, kept bigint)
language plpgsql
volatile
parallel unsafe
security invoker
rows 1
set search_path = ''
as $fn$
#variable_conflict use_column
declare
  v_metadata jsonb;
  v_last timestamptz;
  v_idle_ttl interval;
  v_max_age interval;
  v_keep_last integer;
begin
  select c.metadata into v_metadata
  from @extschema@.checkpoints c
  where c.thread_id = p_thread_id
  order by c.checkpoint_ns, c.checkpoint_id desc
  limit 1;
  select min(p.idle_ttl), min(p.max_age), min(p.keep_last) into v_idle_ttl, v_max_age, v_keep_last
  from @extschema@.retention_policies p
  where p.enabled
    and (p.thread_pattern is null or p_thread_id like p.thread_pattern)
    and (p.metadata_filter is null or v_metadata @> p.metadata_filter);
  select coalesce(max(t.idle_ttl), v_idle_ttl) into v_idle_ttl
  from @extschema@.thread_ttls t
  where t.thread_id = p_thread_id;

  if v_idle_ttl is not null then
    select greatest(
      (select max(c.updated_at) from @extschema@.checkpoints c where c.thread_id = p_thread_id),
      (select max(w.created_at) from @extschema@.checkpoint_writes w where w.thread_id = p_thread_id)
    ) into v_last;
  end if;
  if v_last < now() - v_idle_ttl then
    return query select r.* from @extschema@.prune_thread(p_thread_id, true, null, false, null, p_dry_run) r;
    -- Nobody decided that this thread is to stay away: whoever comes back after so long begins anew.
    if not p_dry_run then
      delete from @extschema@.deleted_threads d where d.thread_id = p_thread_id;
    end if;
  elsif v_keep_last is not null or v_max_age is not null then
    return query select r.*
    from @extschema@.prune_thread(p_thread_id, false, v_keep_last, false, now() - v_max_age, p_dry_run) r;
  else
    return query select 0::bigint, 0::bigint, 0::bigint, 0::bigint, 0::bigint;
  end if;
end
$fn$;

comment on function @extschema@.sweep_thread(text, boolean) is
  'Applies the TTL and the retention policies of one thread that the caller has locked.';
revoke all on function @extschema@.sweep_thread(text, boolean) from public;
