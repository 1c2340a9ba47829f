-- What a checkpoint is read with, as parallel arrays: the values that are not inline in checkpoint -> 'channel_values' (value_*),
-- its pending writes in the order they apply (write_*), and for checkpoints older than format 4 the packets of pending_sends
-- (send_*). Arrays without elements are null. In a FROM clause the planner inlines this function.
-- Locks: none. Errors: none.
create or replace function @extschema@.checkpoint_contents(
  p_thread_id text,
  p_checkpoint_ns text,
  p_checkpoint_id text,
  p_parent_checkpoint_id text,
  p_checkpoint jsonb
)
returns table (
  value_channels text[],
  value_types text[],
  value_blobs bytea[],
  write_task_ids text[],
  write_task_paths text[],
  write_idxs integer[],
  write_channels text[],
  write_types text[],
  write_blobs bytea[],
  send_types text[],
  send_blobs bytea[]
)
language sql
stable
parallel safe
security invoker
rows 1
as $fn$
  select v.channels, v.types, v.blobs,
    w.task_ids, w.task_paths, w.idxs, w.channels, w.types, w.blobs,
    s.types, s.blobs
  from (
    select array_agg(b.channel) as channels, array_agg(b.type) as types, array_agg(b.blob) as blobs
    from @extschema@.channel_blobs(p_thread_id, p_checkpoint_ns, p_checkpoint) b
  ) v
  cross join (
    select array_agg(p.task_id) as task_ids, array_agg(p.task_path) as task_paths, array_agg(p.idx) as idxs,
      array_agg(p.channel) as channels, array_agg(p.type) as types, array_agg(p.blob) as blobs
    from @extschema@.pending_writes(p_thread_id, p_checkpoint_ns, p_checkpoint_id) p
  ) w
  cross join (
    select array_agg(p.type) as types, array_agg(p.blob) as blobs
    from @extschema@.pending_sends(p_thread_id, p_checkpoint_ns, p_parent_checkpoint_id, p_checkpoint) p
  ) s
$fn$;

comment on function @extschema@.checkpoint_contents(text, text, text, text, jsonb) is
  'What a checkpoint is read with, as parallel arrays: stored values, pending writes, packets of its parent.';
revoke all on function @extschema@.checkpoint_contents(text, text, text, text, jsonb) from public;
