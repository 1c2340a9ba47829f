-- The values a checkpoint keeps itself, one row a channel: a blob (type, blob) or a primitive inline.
-- Locks: none. Errors: none.
create or replace function @extschema@.checkpoint_values(p_thread_id text, p_checkpoint_ns text, p_checkpoint jsonb)
returns table (channel text, is_value boolean, type text, blob bytea, inline_value jsonb)
language sql
stable
parallel safe
security invoker
rows 10
as $fn$
  select c.channel, true, b.type, b.blob, case when b.type is null then p_checkpoint -> 'channel_values' -> c.channel end
  from (
    select jsonb_object_keys(p_checkpoint -> 'channel_values')
    union
    select jsonb_object_keys(p_checkpoint -> 'channel_versions')
  ) c (channel)
  left join lateral (
    select cb.type, cb.blob
    from @extschema@.checkpoint_blobs cb
    where cb.thread_id = p_thread_id
      and cb.checkpoint_ns = p_checkpoint_ns
      and cb.channel = c.channel
      and cb.version = p_checkpoint -> 'channel_versions' ->> c.channel
      and cb.type <> 'empty'
    limit 1
  ) b on true
  where b.type is not null or p_checkpoint -> 'channel_values' ? c.channel
$fn$;

comment on function @extschema@.checkpoint_values(text, text, jsonb) is
  'The values a checkpoint keeps itself, one row a channel: as a blob or inline.';
revoke all on function @extschema@.checkpoint_values(text, text, jsonb) from public;
