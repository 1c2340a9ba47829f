-- The stored values of a checkpoint's channels, one row each. Primitive values are not here: they stand in the checkpoint's own
-- channel_values. In a FROM clause the planner inlines this function.
-- "lateral ... limit 1" forces one primary-key probe a channel. A plain join would hash every blob of the thread, because
-- jsonb_each_text is estimated at 100 rows whatever it returns.
-- Locks: none. Errors: none.
create or replace function @extschema@.channel_blobs(p_thread_id text, p_checkpoint_ns text, p_checkpoint jsonb)
returns table (channel text, type text, blob bytea)
language sql
stable
parallel safe
security invoker
rows 10
as $fn$
  select b.channel, b.type, b.blob
  from jsonb_each_text(p_checkpoint -> 'channel_versions') v
  cross join lateral (
    select cb.channel, cb.type, cb.blob
    from @extschema@.checkpoint_blobs cb
    where cb.thread_id = p_thread_id
      and cb.checkpoint_ns = p_checkpoint_ns
      and cb.channel = v.key
      and cb.version = v.value
    limit 1
  ) b
  where b.type <> 'empty'
$fn$;

comment on function @extschema@.channel_blobs(text, text, jsonb) is
  'Stored values of the channel versions a checkpoint names, one row each.';
revoke all on function @extschema@.channel_blobs(text, text, jsonb) from public;
