-- The decoded value that a checkpoint itself keeps of one channel; of the snapshot of a delta channel, what is in it. No row
-- where it keeps none.
-- Locks: none. Errors: LG006 for damaged values.
create or replace function @extschema@.checkpoint_channel_value(
  p_thread_id text,
  p_checkpoint_ns text,
  p_checkpoint jsonb,
  p_channel text
)
returns setof jsonb
language sql
stable
parallel safe
security invoker
rows 1
as $fn$
  select @extschema@.without_snapshot(
    case when b.type is null then p_checkpoint -> 'channel_values' -> p_channel
      else @extschema@.value_to_jsonb(b.type, b.blob) end
  )
  from (select) one
  left join lateral (
    select cb.type, cb.blob
    from @extschema@.checkpoint_blobs cb
    where cb.thread_id = p_thread_id
      and cb.checkpoint_ns = p_checkpoint_ns
      and cb.channel = p_channel
      and cb.version = p_checkpoint -> 'channel_versions' ->> p_channel
      and cb.type <> 'empty'
    limit 1
  ) b on true
  where b.type is not null or p_checkpoint -> 'channel_values' ? p_channel
$fn$;

comment on function @extschema@.checkpoint_channel_value(text, text, jsonb, text) is
  'The decoded value that a checkpoint itself keeps of one channel; no row where it keeps none.';
revoke all on function @extschema@.checkpoint_channel_value(text, text, jsonb, text) from public;
