-- Whether a channel that has a value offers it to the nodes that it triggers: a join does not until all have arrived, and the
-- channels of a deferred node, whose value is a pair [value, whether all else is done], do not until all else is done.
-- Locks: none. Errors: none.
create or replace function @extschema@.is_available(p_channel text, p_value jsonb)
returns boolean
language plpgsql
immutable
strict
parallel safe
security invoker
as $fn$
declare
  v_deferred boolean := jsonb_typeof(p_value) = 'array' and jsonb_array_length(p_value) = 2
    and jsonb_typeof(p_value -> 1) = 'boolean';
  v_arrived integer;
begin
  if p_channel = '__pregel_tasks' then
    return coalesce(jsonb_array_length(@extschema@.jsonb_items(p_value)) > 0, false);
  elsif starts_with(p_channel, 'branch:to:') then
    return not v_deferred or p_value -> 1 = 'true';
  elsif not starts_with(p_channel, 'join:') then
    return true;
  end if;
  -- By length, because a node's name may contain the plus sign that separates names.
  select length(string_agg(n.name, '+')) into v_arrived
  from jsonb_array_elements_text(
    @extschema@.jsonb_items(case when v_deferred then p_value -> 0 else p_value end)
  ) n (name);
  return coalesce(v_arrived = length(substring(p_channel from '^join:(.*):[^:]*$')), false)
    and (not v_deferred or p_value -> 1 = 'true');
end
$fn$;

comment on function @extschema@.is_available(text, jsonb) is
  'Whether a channel that has a value offers it to the nodes that it triggers.';
revoke all on function @extschema@.is_available(text, jsonb) from public;
