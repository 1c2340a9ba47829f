-- Whether a checkpoint has writes of its own to a delta channel, so that the state of any child includes them. A channel is
-- known to be a delta channel by the update counters in the metadata of the checkpoint or of a child, or by a snapshot:
-- an inline true with a stored value behind it. Where the checkpoint itself does not tell, the namespace is read once, because
-- no index finds children.
-- Locks: none. Errors: none.
create or replace function @extschema@.writes_delta_channel(p_thread_id text, p_checkpoint_ns text, p_checkpoint_id text)
returns boolean
language sql
stable
parallel safe
security invoker
set search_path = ''
as $fn$
  with written as materialized (
    select distinct w.channel
    from @extschema@.checkpoint_writes w
    where w.thread_id = p_thread_id
      and w.checkpoint_ns = p_checkpoint_ns
      and w.checkpoint_id = p_checkpoint_id
      and w.idx >= 0
  )
  select exists (select from written) and exists (
    select
    from (
      -- In this order, so that children are looked for only where the checkpoint does not tell.
      select c.checkpoint, c.metadata
      from @extschema@.checkpoints c
      where c.thread_id = p_thread_id
        and c.checkpoint_ns = p_checkpoint_ns
        and c.checkpoint_id = p_checkpoint_id
      union all
      select c.checkpoint, c.metadata
      from @extschema@.checkpoints c
      where c.thread_id = p_thread_id
        and c.checkpoint_ns = p_checkpoint_ns
        and c.parent_checkpoint_id = p_checkpoint_id
    ) c
    -- "offset 0", for a join could look for the children of one channel after the other.
    where exists (
      select
      from written w
      where c.metadata -> 'counters_since_delta_snapshot' ? w.channel
        or c.checkpoint -> 'channel_values' -> w.channel = 'true' and (
          select true
          from @extschema@.checkpoint_blobs b
          where b.thread_id = p_thread_id
            and b.checkpoint_ns = p_checkpoint_ns
            and b.channel = w.channel
            and b.version = c.checkpoint -> 'channel_versions' ->> w.channel
          limit 1
        )
      offset 0
    )
  )
$fn$;

comment on function @extschema@.writes_delta_channel(text, text, text) is
  'Whether a checkpoint''s own writes go to a delta channel, so that they are part of every child''s state.';
revoke all on function @extschema@.writes_delta_channel(text, text, text) from public;
