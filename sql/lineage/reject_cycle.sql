-- Raises LG006 for a chain of parents that runs in a circle; declared to return boolean so that a query can call it where it
-- finds one.
-- Locks: none. Errors: LG006, always.
create or replace function @extschema@.reject_cycle(p_thread_id text, p_checkpoint_ns text, p_checkpoint_id text)
returns boolean
language plpgsql
immutable
parallel safe
security invoker
set search_path = ''
as $fn$
begin
  raise exception using
    errcode = 'LG006',
    message = format('checkpoint %L is its own ancestor', p_checkpoint_id),
    detail = format('Thread %L, namespace %L.', p_thread_id, p_checkpoint_ns),
    hint = 'ancestors() and thread_tree() show the loop; set parent_checkpoint_id of the right row to null.';
end
$fn$;

comment on function @extschema@.reject_cycle(text, text, text) is 'Raises LG006: the chain of parents runs in a circle.';
revoke all on function @extschema@.reject_cycle(text, text, text) from public;
