-- Whether a checkpoint has writes of its own to a delta channel, so that the state of any child includes them. A channel is
-- known to be a delta channel by the update counters in the metadata of the checkpoint or of a child, or by a snapshot:
-- an inline true with a stored value behind it.
-- Locks: none. Errors: none.
create or replace function @extschema@.writes_delta_channel(p_thread_id text, p_checkpoint_ns text, p_checkpoint_id text)
returns boolean
language sql
stable
parallel safe
security invoker
set search_path = ''
as $fn$
  select exists (
    select
    from (
      select distinct w.channel
      from @extschema@.checkpoint_writes w
      where w.thread_id = p_thread_id
        and w.checkpoint_ns = p_checkpoint_ns
        and w.checkpoint_id = p_checkpoint_id
        and w.idx >= 0
    ) w
    cross join lateral (
      select c.checkpoint, c.metadata
      from @extschema@.checkpoints c
      where c.thread_id = p_thread_id
        and c.checkpoint_ns = p_checkpoint_ns
        and p_checkpoint_id in (c.checkpoint_id, c.parent_checkpoint_id)
    ) c
    where c.metadata -> 'counters_since_delta_snapshot' ? w.channel
      or (
        c.checkpoint -> 'channel_values' -> w.channel = 'true'
        and exists (
          select
          from @extschema@.checkpoint_blobs b
          where b.thread_id = p_thread_id
            and b.checkpoint_ns = p_checkpoint_ns
            and b.channel = w.channel
            and b.version = c.checkpoint -> 'channel_versions' ->> w.channel
        )
      )
  )
$fn$;

comment on function @extschema@.writes_delta_channel(text, text, text) is
  'Whether a checkpoint''s own writes go to a delta channel, so that they are part of every child''s state.';
revoke all on function @extschema@.writes_delta_channel(text, text, text) from public;
