-- Where each message of a channel first appears on the way to a checkpoint: the oldest of its ancestors whose state holds it,
-- under the message's key (see message_key). Of a delta channel also what tasks wrote, which is state from the next
-- checkpoint on. Checkpoints that retention has removed are not considered.
-- A long conversation stores each message in many versions of the list; lists are cut into the bytes of their elements, and
-- of equal elements only one is decoded.
-- Locks: none. Errors: LG006 for damaged values.
create or replace function @extschema@.message_origins(
  p_thread_id text,
  p_checkpoint_ns text,
  p_checkpoint_id text,
  p_channel text
)
returns table (key text, checkpoint_id text, created_at timestamptz)
language plpgsql
stable
parallel safe
security invoker
rows 100
set jit = off
as $fn$
#variable_conflict use_column
begin
  return query
  with path as materialized (
    select a.depth, a.checkpoint_id, a.created_at, c.checkpoint -> 'channel_versions' ->> p_channel as version
    from @extschema@.ancestors(p_thread_id, p_checkpoint_ns, p_checkpoint_id) a
    cross join lateral (
      select k.checkpoint
      from @extschema@.checkpoints k
      where k.thread_id = p_thread_id
        and k.checkpoint_ns = p_checkpoint_ns
        and k.checkpoint_id = a.checkpoint_id
      limit 1
    ) c
  ), stored as (
    select v.depth, b.type, b.blob
    from (select p.version, max(p.depth) as depth from path p where p.version is not null group by p.version) v
    cross join lateral (
      select cb.type, cb.blob
      from @extschema@.checkpoint_blobs cb
      where cb.thread_id = p_thread_id
        and cb.checkpoint_ns = p_checkpoint_ns
        and cb.channel = p_channel
        and cb.version = v.version
        and cb.type <> 'empty'
      limit 1
    ) b
    union all
    select p.depth - 1, w.type, w.blob
    from path p
    join @extschema@.checkpoint_writes w
      on w.thread_id = p_thread_id
        and w.checkpoint_ns = p_checkpoint_ns
        and w.checkpoint_id = p.checkpoint_id
        and w.channel = p_channel
    where p.depth > 0
      and p_channel in (select d.channel from @extschema@.delta_channels(p_thread_id, p_checkpoint_ns) d (channel))
  ), messages as (
    select e.depth, @extschema@.msgpack_to_jsonb(e.value) as message
    from (
      select i.value, max(s.depth) as depth
      from stored s
      cross join lateral @extschema@.msgpack_items(s.blob) i
      where s.type = 'msgpack' and @extschema@.msgpack_kind(s.blob) = 'array'
      group by i.value
    ) e
    union all
    select s.depth, m.message
    from stored s
    cross join lateral @extschema@.without_snapshot(@extschema@.value_to_jsonb(s.type, s.blob)) v (value)
    cross join lateral jsonb_array_elements(
      case when jsonb_typeof(v.value) = 'array' then v.value else jsonb_build_array(v.value) end
    ) m (message)
    where not (s.type = 'msgpack' and @extschema@.msgpack_kind(s.blob) is not distinct from 'array')
  )
  select o.key, p.checkpoint_id, p.created_at
  from (select @extschema@.message_key(m.message) as key, max(m.depth) as depth from messages m group by 1) o
  join path p on p.depth = o.depth;
end
$fn$;

comment on function @extschema@.message_origins(text, text, text, text) is
  'The checkpoint in which each message of a channel first appears on the way to a checkpoint.';
revoke all on function @extschema@.message_origins(text, text, text, text) from public;
