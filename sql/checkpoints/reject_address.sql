-- Raises LG002 for what cannot name a checkpoint. Returns boolean, so that it can stand in a condition.
-- Locks: none. Errors: LG002, always.
create or replace function @extschema@.reject_address(p_thread_id text, p_checkpoint_ns text, p_checkpoint_id text)
returns boolean
language plpgsql
immutable
parallel safe
security invoker
as $fn$
begin
  perform @extschema@.reject_argument('checkpoint to read',
    format('thread_id %L, checkpoint_ns %L, checkpoint_id %L.', p_thread_id, p_checkpoint_ns, p_checkpoint_id),
    'thread_id is needed; checkpoint_ns is empty for the root graph; checkpoint_id is null for the newest.');
end
$fn$;

comment on function @extschema@.reject_address(text, text, text) is 'Raises LG002 for what cannot name a checkpoint.';
revoke all on function @extschema@.reject_address(text, text, text) from public;
