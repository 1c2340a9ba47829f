-- Saves a checkpoint together with writes of its tasks, atomically and in one round trip: for runtimes that save both at
-- once. The arguments up to p_blobs are those of put_checkpoint; the others are parallel, one element a write, those of a
-- task in its order and with its one task path. The writes belong to this checkpoint.
-- Locks: the rows it writes. Errors: LG002, LG003.
create or replace function @extschema@.put_step(
  p_thread_id text,
  p_checkpoint_ns text,
  p_checkpoint_id text,
  p_parent_checkpoint_id text,
  p_checkpoint jsonb,
  p_metadata jsonb,
  p_channels text[],
  p_versions text[],
  p_types text[],
  p_blobs bytea[],
  p_write_task_ids text[],
  p_write_task_paths text[],
  p_write_channels text[],
  p_write_types text[],
  p_write_blobs bytea[]
)
returns void
language plpgsql
volatile
parallel unsafe
security invoker
as $fn$
declare
  v_task record;
begin
  if p_write_channels is null
    or cardinality(p_write_task_ids) is distinct from cardinality(p_write_channels)
    or cardinality(p_write_task_paths) is distinct from cardinality(p_write_channels)
    or cardinality(p_write_types) is distinct from cardinality(p_write_channels)
    or cardinality(p_write_blobs) is distinct from cardinality(p_write_channels) then
    perform @extschema@.reject_argument('writes',
      format('There are %s task ids, %s task paths, %s channels, %s types and %s blobs.',
        coalesce(cardinality(p_write_task_ids)::text, 'null'), coalesce(cardinality(p_write_task_paths)::text, 'null'),
        coalesce(cardinality(p_write_channels)::text, 'null'), coalesce(cardinality(p_write_types)::text, 'null'),
        coalesce(cardinality(p_write_blobs)::text, 'null')),
      'Pass arrays of one length, one element a write.');
  end if;

  perform @extschema@.put_checkpoint(p_thread_id, p_checkpoint_ns, p_checkpoint_id, p_parent_checkpoint_id, p_checkpoint,
    p_metadata, p_channels, p_versions, p_types, p_blobs);

  for v_task in
    select w.task_id, min(w.task_path) as task_path, max(w.task_path) as other_task_path, array_agg(w.channel order by w.position) as channels,
      array_agg(w.type order by w.position) as types, array_agg(w.blob order by w.position) as blobs
    from unnest(p_write_task_ids, p_write_task_paths, p_write_channels, p_write_types, p_write_blobs)
      with ordinality as w (task_id, task_path, channel, type, blob, position)
    group by w.task_id
    order by min(w.position)
  loop
    if v_task.task_path <> v_task.other_task_path then
      perform @extschema@.reject_argument('writes',
        format('Task %L has the paths %L and %L.', v_task.task_id, v_task.task_path, v_task.other_task_path),
        'Pass one task_path for all writes of a task.');
    end if;
    perform @extschema@.put_writes(p_thread_id, p_checkpoint_ns, p_checkpoint_id, v_task.task_id, v_task.task_path, null,
      v_task.channels, v_task.types, v_task.blobs);
  end loop;
end
$fn$;

comment on function @extschema@.put_step(text, text, text, text, jsonb, jsonb, text[], text[], text[], bytea[], text[],
  text[], text[], text[], bytea[]) is
  'Saves a checkpoint and the writes of its tasks atomically, in one round trip.';
revoke all on function @extschema@.put_step(text, text, text, text, jsonb, jsonb, text[], text[], text[], bytea[], text[],
  text[], text[], text[], bytea[]) from public;
