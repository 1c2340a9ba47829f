-- The newest checkpoint of a namespace. In a FROM clause the planner inlines this function, and probes by key.
-- Locks: none. Errors: none.
create or replace function @extschema@.newest_checkpoint(p_thread_id text, p_checkpoint_ns text)
returns table (checkpoint_id text, created_at timestamptz)
language sql
stable
parallel safe
security invoker
rows 1
as $fn$
  select c.checkpoint_id, c.created_at
  from @extschema@.checkpoints c
  where c.thread_id = p_thread_id
    and c.checkpoint_ns = p_checkpoint_ns
  order by c.checkpoint_id desc
  limit 1
$fn$;

comment on function @extschema@.newest_checkpoint(text, text) is 'The newest checkpoint of a namespace; no row when there is none.';
revoke all on function @extschema@.newest_checkpoint(text, text) from public;
