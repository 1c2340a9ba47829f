-- Saves a checkpoint and the channel values that are new with it, in one statement.
-- p_channels, p_versions, p_types and p_blobs are parallel: the serialized value of each changed channel that is not
-- inline in p_checkpoint -> 'channel_values'. A version is immutable: the same bytes again are fine, other bytes are LG003
-- and nothing is saved. Encrypted values differ at every encryption, so of those only type and length are compared.
-- A checkpoint that exists already gets the new checkpoint and metadata, and keeps its parent.
-- Locks: the rows it writes. Errors: LG002, LG003.
create or replace function @extschema@.put_checkpoint(
  p_thread_id text,
  p_checkpoint_ns text,
  p_checkpoint_id text,
  p_parent_checkpoint_id text,
  p_checkpoint jsonb,
  p_metadata jsonb,
  p_channels text[] default '{}',
  p_versions text[] default '{}',
  p_types text[] default '{}',
  p_blobs bytea[] default '{}'
)
returns void
language plpgsql
volatile
parallel unsafe
security invoker
as $fn$
declare
  v_saved bigint;
begin
  if p_thread_id is null or p_thread_id = '' or p_checkpoint_ns is null or p_checkpoint_id is null or p_checkpoint_id = ''
    or p_parent_checkpoint_id = '' or p_parent_checkpoint_id = p_checkpoint_id
    or p_checkpoint is null or jsonb_typeof(p_checkpoint) <> 'object' or p_checkpoint ->> 'id' <> p_checkpoint_id
    or p_metadata is null or jsonb_typeof(p_metadata) <> 'object' then
    perform @extschema@.reject_checkpoint(p_thread_id, p_checkpoint_ns, p_checkpoint_id, p_parent_checkpoint_id,
      p_checkpoint, p_metadata);
  end if;
  if p_channels is null or cardinality(p_channels) is distinct from cardinality(p_versions)
    or cardinality(p_channels) is distinct from cardinality(p_types)
    or cardinality(p_channels) is distinct from cardinality(p_blobs)
    or array_position(p_channels, null) is not null
    or array_position(p_versions, null) is not null
    or array_position(p_types, null) is not null then
    perform @extschema@.reject_argument('channel values',
      format('There are %s channels, %s versions, %s types and %s blobs.', coalesce(cardinality(p_channels)::text, 'null'),
        coalesce(cardinality(p_versions)::text, 'null'), coalesce(cardinality(p_types)::text, 'null'),
        coalesce(cardinality(p_blobs)::text, 'null')),
      'Pass arrays of one length; only a blob may be null, and only with type "empty".');
  end if;

  if array_position(p_blobs, null) is not null then
    perform @extschema@.reject_argument('channel values',
      format('Channel %L has type %L and a null blob.', n.channel, n.type),
      'Pass null only with type "empty"; a null value is type "null" with an empty blob.')
    from unnest(p_channels, p_types, p_blobs) as n (channel, type, blob)
    where n.blob is null and n.type <> 'empty'
    limit 1;
  end if;

  -- unnest stands in the select list: as a table in FROM it would copy the blobs into a tuplestore first.
  with saved_blobs as (
    insert into @extschema@.checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
    select p_thread_id, p_checkpoint_ns, unnest(p_channels), unnest(p_versions), unnest(p_types), unnest(p_blobs)
    on conflict (thread_id, checkpoint_ns, channel, version) do nothing
    returning 1
  ), saved_checkpoint as (
    insert into @extschema@.checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata)
    values (p_thread_id, p_checkpoint_ns, p_checkpoint_id, p_parent_checkpoint_id, p_checkpoint, p_metadata)
    on conflict (thread_id, checkpoint_ns, checkpoint_id)
    do update set checkpoint = excluded.checkpoint, metadata = excluded.metadata
  )
  select count(*) into v_saved from saved_blobs;

  if v_saved < cardinality(p_channels) then
    perform @extschema@.reject_version_collision(p_thread_id, p_checkpoint_ns, p_channels, p_versions, p_types, p_blobs);
  end if;
end
$fn$;

comment on function @extschema@.put_checkpoint(text, text, text, text, jsonb, jsonb, text[], text[], text[], bytea[]) is
  'Saves a checkpoint and its changed channel values atomically. LG003 if a version exists with other bytes.';
revoke all on function @extschema@.put_checkpoint(text, text, text, text, jsonb, jsonb, text[], text[], text[], bytea[])
  from public;
