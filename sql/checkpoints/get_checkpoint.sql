-- Reads one checkpoint whole: the named one, or the newest of the namespace when p_checkpoint_id is null. No row when
-- there is none. Values that are not inline in checkpoint -> 'channel_values' come as parallel arrays (value_*), pending
-- writes likewise (write_*, in the order they apply), and for checkpoints older than format 4 the packets of
-- pending_sends (send_*). Arrays without elements are null.
-- The id is bounded on both sides rather than compared only when given, so that one cached plan probes the primary key in
-- both cases; U+10FFFF is above every identifier.
-- Locks: none. Errors: LG002.
create or replace function @extschema@.get_checkpoint(
  p_thread_id text,
  p_checkpoint_ns text default '',
  p_checkpoint_id text default null
)
returns table (
  thread_id text,
  checkpoint_ns text,
  checkpoint_id text,
  parent_checkpoint_id text,
  checkpoint jsonb,
  metadata jsonb,
  created_at timestamptz,
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
language plpgsql
stable
parallel safe
security invoker
rows 1
as $fn$
#variable_conflict use_column
begin
  if p_thread_id is null or p_thread_id = '' or p_checkpoint_ns is null or p_checkpoint_id = '' then
    perform @extschema@.reject_argument('checkpoint to read',
      format('thread_id %L, checkpoint_ns %L, checkpoint_id %L.', p_thread_id, p_checkpoint_ns, p_checkpoint_id),
      'thread_id is needed; checkpoint_ns is empty for the root graph; checkpoint_id is null for the newest.');
  end if;
  return query
  select c.thread_id, c.checkpoint_ns, c.checkpoint_id, c.parent_checkpoint_id, c.checkpoint, c.metadata, c.created_at,
    v.channels, v.types, v.blobs,
    w.task_ids, w.task_paths, w.idxs, w.channels, w.types, w.blobs,
    s.types, s.blobs
  from (
    select *
    from @extschema@.checkpoints c
    where c.thread_id = p_thread_id
      and c.checkpoint_ns = p_checkpoint_ns
      and c.checkpoint_id >= coalesce(p_checkpoint_id, '')
      and c.checkpoint_id <= coalesce(p_checkpoint_id, U&'\+10FFFF')
    order by c.checkpoint_id desc
    limit 1
  ) c
  cross join lateral @extschema@.channel_blobs(c.thread_id, c.checkpoint_ns, c.checkpoint) v
  cross join lateral @extschema@.pending_writes(c.thread_id, c.checkpoint_ns, c.checkpoint_id) w
  cross join lateral @extschema@.pending_sends(c.thread_id, c.checkpoint_ns, c.parent_checkpoint_id, c.checkpoint) s;
end
$fn$;

comment on function @extschema@.get_checkpoint(text, text, text) is
  'One checkpoint with its channel values and pending writes: the named one, or the newest; no row when there is none.';
revoke all on function @extschema@.get_checkpoint(text, text, text) from public;
