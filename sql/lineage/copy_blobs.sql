-- Copies every value a checkpoint refers to under a new version, and returns {channel: new version}. Kinds stay:
--   integer versions   one version for all such channels, a million above every integer of the namespace. A client counts
--                      on from the highest integer it sees, on each branch by itself; one above would be the very next
--                      version of the branch that is left behind, and the two would collide.
--   other versions     for each channel that has a stored value, the one after its highest; a random fraction keeps
--                      branches apart.
-- Locks: the rows it writes. Errors: none of its own.
create or replace function @extschema@.copy_blobs(p_thread_id text, p_checkpoint_ns text, p_checkpoint jsonb)
returns jsonb
language plpgsql
volatile
parallel unsafe
security invoker
set search_path = ''
as $fn$
declare
  v_integers jsonb;
  v_texts jsonb;
  v_versions jsonb;
begin
  select jsonb_object_agg(c.key, to_jsonb(m.highest + 1000000))
  into v_integers
  from jsonb_each(p_checkpoint -> 'channel_versions') c
  cross join (
    select floor(max(u.version)) as highest
    from (
      select (v.value #>> '{}')::numeric as version
      from @extschema@.checkpoints k
      cross join lateral jsonb_each(k.checkpoint -> 'channel_versions') v
      where k.thread_id = p_thread_id
        and k.checkpoint_ns = p_checkpoint_ns
        and jsonb_typeof(v.value) = 'number'
      union all
      select b.version::numeric
      from @extschema@.checkpoint_blobs b
      where b.thread_id = p_thread_id
        and b.checkpoint_ns = p_checkpoint_ns
        and b.version ~ '^[0-9]{1,30}(\.[0-9]+)?$'
        and not b.version ~ '^[0-9]{32}'
    ) u
  ) m
  where jsonb_typeof(c.value) = 'number';

  select jsonb_object_agg(v.key, to_jsonb(@extschema@.next_channel_version(h.version)))
  into v_texts
  from jsonb_each(p_checkpoint -> 'channel_versions') v
  cross join lateral (
    select b.version
    from @extschema@.checkpoint_blobs b
    where b.thread_id = p_thread_id and b.checkpoint_ns = p_checkpoint_ns and b.channel = v.key
    -- The counter's length first: not every client pads it.
    order by length(split_part(b.version, '.', 1)) desc, b.version desc
    limit 1
  ) h
  where jsonb_typeof(v.value) = 'string'
    and exists (
      select
      from @extschema@.checkpoint_blobs b
      where b.thread_id = p_thread_id and b.checkpoint_ns = p_checkpoint_ns and b.channel = v.key
        and b.version = v.value #>> '{}'
    );
  v_versions := coalesce(v_integers, '{}') || coalesce(v_texts, '{}');

  insert into @extschema@.checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
  select p_thread_id, p_checkpoint_ns, v.key, v_versions ->> v.key, b.type, b.blob
  from jsonb_each_text(p_checkpoint -> 'channel_versions') v
  cross join lateral (
    select cb.type, cb.blob
    from @extschema@.checkpoint_blobs cb
    where cb.thread_id = p_thread_id
      and cb.checkpoint_ns = p_checkpoint_ns
      and cb.channel = v.key
      and cb.version = v.value
    limit 1
  ) b;
  return v_versions;
end
$fn$;

comment on function @extschema@.copy_blobs(text, text, jsonb) is
  'Copies the values a checkpoint refers to under versions above all others; returns {channel: new version}.';
revoke all on function @extschema@.copy_blobs(text, text, jsonb) from public;
