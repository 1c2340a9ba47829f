-- The delta channels of a namespace: those whose value is rebuilt from the writes of ancestors. They are known by the update
-- counters that runtimes keep in metadata, and by snapshots: an inline true with a blob behind it.
-- Locks: none. Errors: none.
create or replace function @extschema@.delta_channels(p_thread_id text, p_checkpoint_ns text default '')
returns setof text
language sql
stable
parallel safe
security invoker
rows 4
set search_path = ''
as $fn$
  select distinct n.channel
  from @extschema@.checkpoints c
  cross join lateral (
    select k.channel
    from jsonb_object_keys(
      case when jsonb_typeof(c.metadata -> 'counters_since_delta_snapshot') = 'object'
        then c.metadata -> 'counters_since_delta_snapshot' end
    ) k (channel)
    union all
    select v.key
    from jsonb_each(c.checkpoint -> 'channel_values') v
    cross join lateral (
      select
      from @extschema@.checkpoint_blobs b
      where b.thread_id = p_thread_id
        and b.checkpoint_ns = p_checkpoint_ns
        and b.channel = v.key
        and b.version = c.checkpoint -> 'channel_versions' ->> v.key
        and b.type <> 'empty'
      limit 1
    ) b
    where v.value = 'true'
  ) n
  where c.thread_id = p_thread_id and c.checkpoint_ns = p_checkpoint_ns
$fn$;

comment on function @extschema@.delta_channels(text, text) is
  'Channels of a namespace whose value is rebuilt from the writes of ancestors.';
revoke all on function @extschema@.delta_channels(text, text) from public;
