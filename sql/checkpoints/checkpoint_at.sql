-- The row of one checkpoint: the named one, or the newest of the namespace when p_checkpoint_id is null. No row when there is
-- none. In a FROM clause the planner inlines this function.
-- The id is bounded on both sides rather than compared only when given, so that one cached plan probes the primary key in
-- both cases; U+10FFFF is above every identifier.
-- Locks: none. Errors: LG002.
create or replace function @extschema@.checkpoint_at(p_thread_id text, p_checkpoint_ns text, p_checkpoint_id text)
returns table (
  thread_id text,
  checkpoint_ns text,
  checkpoint_id text,
  parent_checkpoint_id text,
  checkpoint jsonb,
  metadata jsonb,
  created_at timestamptz
)
language sql
stable
parallel safe
security invoker
rows 1
as $fn$
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
$fn$;

comment on function @extschema@.checkpoint_at(text, text, text) is
  'The row of one checkpoint: the named one, or the newest; no row when there is none.';
revoke all on function @extschema@.checkpoint_at(text, text, text) from public;
