-- The ID under which LangGraph saves the writes of a task: a hash of the checkpoint, the namespace, the step, the node, and
-- what triggers it (p_trigger: '__pregel_pull' and the sorted channels, or '__pregel_push' and the number of the packet).
-- NULL where it cannot be known: the checkpoint's ID is not hexadecimal, or the checkpoint is of format 1, which hashed by
-- SHA-1.
-- Locks: none. Errors: none.
create or replace function @extschema@.task_id(
  p_checkpoint_ns text,
  p_checkpoint jsonb,
  p_step integer,
  p_node text,
  p_trigger text
)
returns text
language plpgsql
immutable
strict
parallel safe
security invoker
set search_path = ''
as $fn$
declare
  v_salt text := replace(p_checkpoint ->> 'id', '-', '');
begin
  if v_salt is null or v_salt !~ '^([[:xdigit:]]{2})+$' or p_checkpoint -> 'v' = '1' then
    return null;
  end if;
  return encode(@extschema@.xxh3_128(decode(v_salt, 'hex') || convert_to(
    concat_ws('|', nullif(p_checkpoint_ns, ''), p_node) || p_step || p_node || p_trigger, 'UTF8')), 'hex')::uuid::text;
end
$fn$;

comment on function @extschema@.task_id(text, jsonb, integer, text, text) is
  'The ID that LangGraph gives a task of the superstep after a checkpoint; null where it cannot be known.';
revoke all on function @extschema@.task_id(text, jsonb, integer, text, text) from public;
