-- get_checkpoint for clients that keep their statements prepared: the planner puts this function into the statement itself, which
-- spares a call and a copy of the row, about a sixth of the time. To plan it takes longer than to run it, so that whoever
-- sends statements that are planned at every execution is better off with get_checkpoint, which keeps its plan.
-- The id is bounded on both sides rather than compared only when given, so that one cached plan probes the primary key in
-- both cases; U+10FFFF is above every identifier.
-- Locks: none. Errors: LG002.
create or replace function @extschema@.checkpoint_tuple(
  p_thread_id text,
  p_checkpoint_ns text,
  p_checkpoint_id text
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
language sql
stable
parallel safe
security invoker
rows 1
as $fn$
  select c.*, t.*
  from (
    select c.thread_id, c.checkpoint_ns, c.checkpoint_id, c.parent_checkpoint_id, c.checkpoint, c.metadata, c.created_at
    from @extschema@.checkpoints c
    where (p_thread_id <> '' and p_checkpoint_ns is not null and p_checkpoint_id is distinct from ''
        or @extschema@.reject_address(p_thread_id, p_checkpoint_ns, p_checkpoint_id))
      and c.thread_id = p_thread_id
      and c.checkpoint_ns = p_checkpoint_ns
      and c.checkpoint_id >= coalesce(p_checkpoint_id, '')
      and c.checkpoint_id <= coalesce(p_checkpoint_id, U&'\+10FFFF')
    order by c.checkpoint_id desc
    limit 1
  ) c
  cross join lateral @extschema@.checkpoint_contents(c.thread_id, c.checkpoint_ns, c.checkpoint_id, c.parent_checkpoint_id,
    c.checkpoint) t
$fn$;

comment on function @extschema@.checkpoint_tuple(text, text, text) is
  'One checkpoint as get_checkpoint reads it, for prepared statements: the planner puts this function into them.';
revoke all on function @extschema@.checkpoint_tuple(text, text, text) from public;
