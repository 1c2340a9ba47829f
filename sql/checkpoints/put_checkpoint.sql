-- Saves a checkpoint and the channel values that are new with it.
-- p_channels, p_versions, p_types and p_blobs are parallel: the serialized value of each changed channel that is not
-- inline in p_checkpoint -> 'channel_values'. One more of them may come by itself, as p_channel, p_version, p_type and p_blob,
-- if it is not null: an array is copied several times on its way here, which a value of 100 KB feels.
-- A version is immutable: the same bytes again are fine, other bytes are LG003 and nothing is saved. Encrypted values differ
-- at every encryption, so of those only type and length are compared.
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
  p_blobs bytea[] default '{}',
  p_channel text default null,
  p_version text default null,
  p_type text default null,
  p_blob bytea default null
)
returns void
language plpgsql
volatile
parallel unsafe
security invoker
as $fn$
declare
  v_count integer := cardinality(p_channels);
  v_saved bigint;
begin
  if p_thread_id is null or p_thread_id = '' or p_checkpoint_ns is null or p_checkpoint_id is null or p_checkpoint_id = ''
    or p_parent_checkpoint_id = '' or p_parent_checkpoint_id = p_checkpoint_id
    or p_checkpoint is null or jsonb_typeof(p_checkpoint) <> 'object' or p_checkpoint ->> 'id' <> p_checkpoint_id
    or p_metadata is null or jsonb_typeof(p_metadata) <> 'object' then
    perform @extschema@.reject_checkpoint(p_thread_id, p_checkpoint_ns, p_checkpoint_id, p_parent_checkpoint_id,
      p_checkpoint, p_metadata);
  end if;
  if v_count is null or v_count is distinct from cardinality(p_versions) or v_count is distinct from cardinality(p_types)
    or v_count is distinct from cardinality(p_blobs)
    or array_position(p_channels, null) is not null
    or array_position(p_versions, null) is not null
    or array_position(p_types, null) is not null then
    perform @extschema@.reject_argument('channel values',
      format('There are %s channels, %s versions, %s types and %s blobs.', coalesce(v_count::text, 'null'),
        coalesce(cardinality(p_versions)::text, 'null'), coalesce(cardinality(p_types)::text, 'null'),
        coalesce(cardinality(p_blobs)::text, 'null')),
      'Pass arrays of one length; only a blob may be null, and only with type "empty".');
  end if;

  if num_nulls(p_channel, p_version, p_type, p_blob) not in (0, 4) then
    perform @extschema@.reject_argument('channel values',
      format('The value by itself has channel %L, version %L, type %L and a blob of %s bytes.', p_channel, p_version, p_type,
        coalesce(length(p_blob)::text, 'null')),
      'Pass all four or none; a null blob, with type "empty", goes into the arrays.');
  end if;

  -- Statements of their own: a CTE for all of them costs more to begin than to run.
  if p_channel is not null then
    insert into @extschema@.checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
    values (p_thread_id, p_checkpoint_ns, p_channel, p_version, p_type, p_blob)
    on conflict (thread_id, checkpoint_ns, channel, version) do nothing;
    if not found then
      perform @extschema@.reject_version_collision(p_thread_id, p_checkpoint_ns, array[p_channel], array[p_version],
        array[p_type], array[p_blob]);
    end if;
  end if;
  if v_count > 0 then
    -- unnest stands in the select list: as a table in FROM it would copy the blobs into a tuplestore first.
    insert into @extschema@.checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
    select p_thread_id, p_checkpoint_ns, n.channel, n.version, n.type, n.blob
    from (
      select unnest(p_channels) as channel, unnest(p_versions) as version, unnest(p_types) as type, unnest(p_blobs) as blob
    ) n
    where n.blob is not null or n.type = 'empty'
    on conflict (thread_id, checkpoint_ns, channel, version) do nothing;
    get diagnostics v_saved = row_count;
    if v_saved < v_count then
      perform @extschema@.reject_argument('channel values',
        format('Channel %L has type %L and a null blob.', n.channel, n.type),
        'Pass null only with type "empty"; a null value is type "null" with an empty blob.')
      from unnest(p_channels, p_types, p_blobs) as n (channel, type, blob)
      where n.blob is null and n.type <> 'empty'
      limit 1;
      perform @extschema@.reject_version_collision(p_thread_id, p_checkpoint_ns, p_channels, p_versions, p_types, p_blobs);
    end if;
  end if;
  insert into @extschema@.checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata)
  values (p_thread_id, p_checkpoint_ns, p_checkpoint_id, p_parent_checkpoint_id, p_checkpoint, p_metadata)
  on conflict (thread_id, checkpoint_ns, checkpoint_id)
  do update set checkpoint = excluded.checkpoint, metadata = excluded.metadata;
end
$fn$;

comment on function @extschema@.put_checkpoint(text, text, text, text, jsonb, jsonb, text[], text[], text[], bytea[], text,
  text, text, bytea) is
  'Saves a checkpoint and its changed channel values atomically. LG003 if a version exists with other bytes.';
revoke all on function @extschema@.put_checkpoint(text, text, text, text, jsonb, jsonb, text[], text[], text[], bytea[], text,
  text, text, bytea) from public;
