-- Channels of a checkpoint whose value should be stored and is not: the version is there, neither a blob nor an inline value
-- is, and the version is new with this checkpoint although tasks wrote to the channel (those of the parent, or tasks whose
-- writes are stored with the checkpoint itself). Channels without writes are no evidence: those that live for one step keep a
-- version and no value. Nor are channels that updated_channels does not name: the step emptied them, and the next one may
-- write to them again. Where a runtime does not note it, that is taken for granted of the channels that start nodes.
-- Locks: none. Errors: none.
create or replace function @extschema@.missing_values(p_thread_id text, p_checkpoint_ns text, p_checkpoint_id text)
returns table (channel text, version text)
language sql
stable
parallel safe
security invoker
rows 1
set search_path = ''
as $fn$
  select v.key, v.value
  from @extschema@.checkpoints c
  cross join lateral jsonb_each_text(c.checkpoint -> 'channel_versions') v
  left join @extschema@.checkpoints p
    on p.thread_id = c.thread_id and p.checkpoint_ns = c.checkpoint_ns and p.checkpoint_id = c.parent_checkpoint_id
  where c.thread_id = p_thread_id
    and c.checkpoint_ns = p_checkpoint_ns
    and c.checkpoint_id = p_checkpoint_id
    and v.value is distinct from p.checkpoint -> 'channel_versions' ->> v.key
    and not coalesce(c.checkpoint -> 'channel_values' ? v.key, false)
    and not exists (
      select
      from @extschema@.checkpoint_blobs b
      where b.thread_id = c.thread_id
        and b.checkpoint_ns = c.checkpoint_ns
        and b.channel = v.key
        and b.version = v.value
    )
    and exists (
      select
      from @extschema@.checkpoint_writes w
      where w.thread_id = c.thread_id
        and w.checkpoint_ns = c.checkpoint_ns
        and w.checkpoint_id in (c.parent_checkpoint_id, c.checkpoint_id)
        and w.channel = v.key
    )
    and case
      when jsonb_typeof(c.checkpoint -> 'updated_channels') = 'array' then c.checkpoint -> 'updated_channels' ? v.key
      else v.key <> '__start__' and not starts_with(v.key, 'branch:to:')
    end
    and v.key not in (select d.channel from @extschema@.delta_channels(p_thread_id, p_checkpoint_ns) d (channel))
$fn$;

comment on function @extschema@.missing_values(text, text, text) is
  'Channels of a checkpoint whose value should be stored and is not.';
revoke all on function @extschema@.missing_values(text, text, text) from public;
