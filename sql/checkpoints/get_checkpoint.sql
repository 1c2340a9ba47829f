-- Reads one checkpoint whole: the named one, or the newest of the namespace when p_checkpoint_id is null. No row when
-- there is none. The arrays (value_*, write_*, send_*) are those of checkpoint_contents.
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
begin
  return query
  select c.*, t.*
  from @extschema@.checkpoint_at(p_thread_id, p_checkpoint_ns, p_checkpoint_id) c
  cross join lateral @extschema@.checkpoint_contents(c.thread_id, c.checkpoint_ns, c.checkpoint_id, c.parent_checkpoint_id,
    c.checkpoint) t;
end
$fn$;

comment on function @extschema@.get_checkpoint(text, text, text) is
  'One checkpoint with its channel values and pending writes: the named one, or the newest; no row when there is none.';
revoke all on function @extschema@.get_checkpoint(text, text, text) from public;
