-- Makes or replaces a retention policy; see the table retention_policies for what each rule means. At least one rule is
-- needed. p_thread_pattern (LIKE) and p_metadata_filter select the threads; null selects all.
-- Locks: the policy's row. Errors: LG002.
create or replace function @extschema@.set_retention_policy(
  p_name text,
  p_thread_pattern text default null,
  p_metadata_filter jsonb default null,
  p_idle_ttl interval default null,
  p_max_age interval default null,
  p_keep_last integer default null,
  p_enabled boolean default true
)
returns void
language plpgsql
volatile
parallel unsafe
security invoker
set search_path = ''
as $fn$
begin
  if p_name is null or p_name = '' or p_enabled is null
    or (p_idle_ttl is null and p_max_age is null and p_keep_last is null)
    or p_idle_ttl <= interval '0' or p_max_age <= interval '0' or p_keep_last < 1
    or (p_metadata_filter is not null and jsonb_typeof(p_metadata_filter) <> 'object') then
    perform @extschema@.reject_argument('retention policy',
      format('name %L, idle_ttl %L, max_age %L, keep_last %L, metadata_filter %L.', p_name, p_idle_ttl, p_max_age,
        p_keep_last, p_metadata_filter),
      'A policy has a name and at least one of idle_ttl, max_age and keep_last, all positive.');
  end if;
  insert into @extschema@.retention_policies
    (name, thread_pattern, metadata_filter, idle_ttl, max_age, keep_last, enabled)
  values (p_name, p_thread_pattern, p_metadata_filter, p_idle_ttl, p_max_age, p_keep_last, p_enabled)
  on conflict (name) do update set
    thread_pattern = excluded.thread_pattern,
    metadata_filter = excluded.metadata_filter,
    idle_ttl = excluded.idle_ttl,
    max_age = excluded.max_age,
    keep_last = excluded.keep_last,
    enabled = excluded.enabled;
end
$fn$;

comment on function @extschema@.set_retention_policy(text, text, jsonb, interval, interval, integer, boolean) is
  'Makes or replaces a retention policy, which sweep applies.';
revoke all on function @extschema@.set_retention_policy(text, text, jsonb, interval, interval, integer, boolean) from public;
