-- Raises LG001 for a checkpoint that does not exist; one place, so that every function says it in the same words.
-- Locks: none. Errors: LG001, always.
create or replace function @extschema@.reject_missing_checkpoint(
  p_thread_id text,
  p_checkpoint_ns text,
  p_checkpoint_id text
)
returns void
language plpgsql
immutable
parallel safe
security invoker
set search_path = ''
as $fn$
begin
  raise exception using
    errcode = 'LG001',
    message = case
      when p_checkpoint_id is null then format('thread %L has no checkpoint', p_thread_id)
      else format('checkpoint %L does not exist', p_checkpoint_id)
    end,
    detail = format('Thread %L, namespace %L.', p_thread_id, p_checkpoint_ns),
    hint = 'list_checkpoints(thread_id) shows what there is, in every namespace.';
end
$fn$;

comment on function @extschema@.reject_missing_checkpoint(text, text, text) is 'Raises LG001: the checkpoint does not exist.';
revoke all on function @extschema@.reject_missing_checkpoint(text, text, text) from public;
