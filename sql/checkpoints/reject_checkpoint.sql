-- Says which argument of a checkpoint cannot be saved. Called only once one is known to be wrong.
-- Locks: none. Errors: LG002, always.
create or replace function @extschema@.reject_checkpoint(
  p_thread_id text,
  p_checkpoint_ns text,
  p_checkpoint_id text,
  p_parent_checkpoint_id text,
  p_checkpoint jsonb,
  p_metadata jsonb
)
returns void
language plpgsql
immutable
parallel safe
security invoker
set search_path = ''
as $fn$
begin
  if p_thread_id is null or p_thread_id = '' then
    perform @extschema@.reject_argument('thread_id', 'It is null or empty.', 'Pass the identifier of the conversation.');
  elsif p_checkpoint_ns is null then
    perform @extschema@.reject_argument('checkpoint_ns', 'It is null.', 'Pass the empty string for the root graph.');
  elsif p_checkpoint_id is null or p_checkpoint_id = '' then
    perform @extschema@.reject_argument('checkpoint_id', 'It is null or empty.', 'new_checkpoint_id(step) makes one.');
  elsif p_parent_checkpoint_id = '' then
    perform @extschema@.reject_argument('parent_checkpoint_id', 'It is empty.', 'Pass null for a first checkpoint.');
  elsif p_parent_checkpoint_id = p_checkpoint_id then
    perform @extschema@.reject_argument('parent_checkpoint_id',
      format('Checkpoint %L would be its own parent.', p_checkpoint_id), 'Pass the checkpoint this one continues from.');
  elsif p_checkpoint is null or jsonb_typeof(p_checkpoint) <> 'object' then
    perform @extschema@.reject_argument('checkpoint', 'It is not a JSON object.',
      'Pass v, id, ts, channel_values, channel_versions and versions_seen.');
  elsif p_checkpoint ->> 'id' <> p_checkpoint_id then
    perform @extschema@.reject_argument('checkpoint',
      format('Its id is %L, and checkpoint_id is %L.', p_checkpoint ->> 'id', p_checkpoint_id), 'Pass the same id twice.');
  else
    perform @extschema@.reject_argument('metadata', 'It is not a JSON object.', 'Pass {} when there is none.');
  end if;
end
$fn$;

comment on function @extschema@.reject_checkpoint(text, text, text, text, jsonb, jsonb) is
  'Raises LG002: says which argument of a checkpoint cannot be saved.';
revoke all on function @extschema@.reject_checkpoint(text, text, text, text, jsonb, jsonb) from public;
