-- Saves what one task wrote. p_channels, p_types and p_blobs are parallel, in the order of the task's writes.
-- p_idxs null (the usual case) numbers them: reserved channels by reserved_write_index, others by position from 0.
-- A call that writes reserved channels only replaces what is stored; in any other call stored writes win, so that a task
-- that runs again does not change what it wrote first.
-- The checkpoint need not exist yet: a runtime may save writes and checkpoints in any order.
-- Locks: the rows it writes. Errors: LG002.
create or replace function @extschema@.put_writes(
  p_thread_id text,
  p_checkpoint_ns text,
  p_checkpoint_id text,
  p_task_id text,
  p_task_path text,
  p_idxs integer[],
  p_channels text[],
  p_types text[],
  p_blobs bytea[]
)
returns void
language plpgsql
volatile
parallel unsafe
security invoker
as $fn$
declare
  v_count integer := cardinality(p_channels);
  v_idxs integer[] := p_idxs;
begin
  if p_thread_id is null or p_thread_id = '' or p_checkpoint_ns is null or p_checkpoint_id is null or p_checkpoint_id = ''
    or p_task_id is null or p_task_path is null then
    perform @extschema@.reject_argument('writes',
      format('thread_id %L, checkpoint_ns %L, checkpoint_id %L, task_id %L, task_path %L.', p_thread_id, p_checkpoint_ns,
        p_checkpoint_id, p_task_id, p_task_path),
      'None may be null, and thread_id and checkpoint_id may not be empty.');
  end if;
  if v_count is null or v_count is distinct from cardinality(p_types) or v_count is distinct from cardinality(p_blobs)
    or (p_idxs is not null and v_count <> cardinality(p_idxs))
    or array_position(p_channels, null) is not null
    or array_position(p_types, null) is not null
    or array_position(p_blobs, null) is not null
    or array_position(p_idxs, null) is not null then
    perform @extschema@.reject_argument('writes',
      format('There are %s channels, %s types, %s blobs and %s indexes.', coalesce(v_count::text, 'null'),
        coalesce(cardinality(p_types)::text, 'null'), coalesce(cardinality(p_blobs)::text, 'null'),
        coalesce(cardinality(p_idxs)::text, 'no')),
      'Pass arrays of one length without nulls; a null value is type "null" with an empty blob.');
  end if;

  if v_idxs is null then
    v_idxs := '{}';
    for i in 1 .. v_count loop
      v_idxs[i] := coalesce(@extschema@.reserved_write_index(p_channels[i]), i - 1);
    end loop;
  end if;

  if v_count = 0 then
    return;
  elsif 0 > all (v_idxs) then
    insert into @extschema@.checkpoint_writes
      (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob)
    select p_thread_id, p_checkpoint_ns, p_checkpoint_id, p_task_id, p_task_path, w.idx, w.channel, w.type, w.blob
    from (
      -- The last write of a channel counts; an upsert may not touch one row twice.
      select distinct on (u.idx) u.idx, u.channel, u.type, u.blob
      from unnest(v_idxs, p_channels, p_types, p_blobs) with ordinality as u (idx, channel, type, blob, position)
      order by u.idx, u.position desc
    ) w
    on conflict (thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
    do update set channel = excluded.channel, type = excluded.type, blob = excluded.blob;
  elsif v_count = 1 then
    insert into @extschema@.checkpoint_writes
      (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob)
    values
      (p_thread_id, p_checkpoint_ns, p_checkpoint_id, p_task_id, p_task_path, v_idxs[1], p_channels[1], p_types[1], p_blobs[1])
    on conflict (thread_id, checkpoint_ns, checkpoint_id, task_id, idx) do nothing;
  else
    -- Looking for each row before it is inserted is a quarter of the work. Where there are many, they are tried without, in a
    -- subtransaction, which costs a transaction ID.
    if v_count >= 8 then
      begin
        insert into @extschema@.checkpoint_writes
          (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob)
        select p_thread_id, p_checkpoint_ns, p_checkpoint_id, p_task_id, p_task_path, unnest(v_idxs), unnest(p_channels),
          unnest(p_types), unnest(p_blobs);
        return;
      exception
        when unique_violation then
          null; -- the task ran before: what it wrote then stays
      end;
    end if;
    insert into @extschema@.checkpoint_writes
      (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob)
    select p_thread_id, p_checkpoint_ns, p_checkpoint_id, p_task_id, p_task_path, unnest(v_idxs), unnest(p_channels),
      unnest(p_types), unnest(p_blobs)
    on conflict (thread_id, checkpoint_ns, checkpoint_id, task_id, idx) do nothing;
  end if;
end
$fn$;

comment on function @extschema@.put_writes(text, text, text, text, text, integer[], text[], text[], bytea[]) is
  'Saves what one task wrote. Reserved channels alone replace what is stored; otherwise stored writes win.';
revoke all on function @extschema@.put_writes(text, text, text, text, text, integer[], text[], text[], bytea[]) from public;
