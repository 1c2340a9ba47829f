-- Where a checkpoint keeps the value of one channel itself: the version of its blob, or the value inline. No row when it
-- keeps none, as a delta channel does between snapshots. A blob wins over what is inline: for a snapshot that is only the
-- marker true. In a FROM clause the planner inlines this function.
-- Locks: none. Errors: none.
create or replace function @extschema@.stored_value(
  p_thread_id text,
  p_checkpoint_ns text,
  p_checkpoint jsonb,
  p_channel text
)
returns table (blob_version text, inline_value jsonb)
language sql
stable
parallel safe
security invoker
rows 1
as $fn$
  select b.version, case when b.version is null then c.inline_value end
  from (
    select p_checkpoint -> 'channel_values' -> p_channel as inline_value,
      p_checkpoint -> 'channel_versions' ->> p_channel as version
  ) c
  left join lateral (
    select cb.version
    from @extschema@.checkpoint_blobs cb
    where cb.thread_id = p_thread_id
      and cb.checkpoint_ns = p_checkpoint_ns
      and cb.channel = p_channel
      and cb.version = c.version
      and cb.type <> 'empty'
    limit 1
  ) b on true
  where b.version is not null or c.inline_value <> 'null'
$fn$;

comment on function @extschema@.stored_value(text, text, jsonb, text) is
  'Where a checkpoint itself keeps a channel''s value: version of the blob, or inline; no row when it keeps none.';
revoke all on function @extschema@.stored_value(text, text, jsonb, text) from public;
