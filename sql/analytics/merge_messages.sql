-- A list of messages after an update (one message or a list), as LangGraph's reducers leave it: a message takes the place of
-- the one with its ID, others go to the end, and a removal removes the message of its ID.
--   p_delta false  add_messages: the ID __remove_all__ removes everything before it, and a message that is written again
--                  after its removal keeps its place
--   p_delta true   the reducer of messages in delta channels: that ID is one like any other, and such a message goes to the end
-- Locks: none. Errors: none.
create or replace function @extschema@.merge_messages(p_current jsonb, p_update jsonb, p_delta boolean default false)
returns jsonb
language plpgsql
immutable
parallel safe
security invoker
set search_path = ''
as $fn$
declare
  v_merged jsonb[] := array(
    select e.value from jsonb_array_elements(
      case jsonb_typeof(p_current) when 'array' then p_current when 'object' then jsonb_build_array(p_current) end
    ) with ordinality e (value, position)
    order by e.position
  );
  v_places jsonb := '{}';
  v_removed jsonb := '{}';
  v_message jsonb;
  v_id text;
  v_place integer;
begin
  for i in 1 .. cardinality(v_merged) loop
    v_id := @extschema@.message_fields(v_merged[i]) ->> 'id';
    if v_id is not null then
      v_places := v_places || jsonb_build_object(v_id, i);
    end if;
  end loop;
  for v_message in
    select e.value
    from jsonb_array_elements(case jsonb_typeof(p_update) when 'array' then p_update else jsonb_build_array(p_update) end)
      with ordinality e (value, position)
    order by e.position
  loop
    v_id := @extschema@.message_fields(v_message) ->> 'id';
    v_place := (v_places ->> v_id)::integer;
    if @extschema@.message_role(@extschema@.message_fields(v_message)) = 'remove' then
      if v_id = '__remove_all__' and not p_delta then
        v_merged := '{}';
        v_places := '{}';
        v_removed := '{}';
      elsif v_place is not null then
        v_removed := v_removed || jsonb_build_object(v_place::text, true);
        if p_delta then
          v_places := v_places - v_id;
        end if;
      end if;
    elsif v_place is not null then
      v_merged[v_place] := v_message;
      v_removed := v_removed - v_place::text;
    else
      v_merged := array_append(v_merged, v_message);
      if v_id is not null then
        v_places := v_places || jsonb_build_object(v_id, cardinality(v_merged));
      end if;
    end if;
  end loop;
  return coalesce((
    select jsonb_agg(m.message order by m.place)
    from unnest(v_merged) with ordinality m (message, place)
    where not v_removed ? m.place::text
  ), '[]');
end
$fn$;

comment on function @extschema@.merge_messages(jsonb, jsonb, boolean) is
  'A list of messages after an update, as LangGraph''s reducers of messages leave it.';
revoke all on function @extschema@.merge_messages(jsonb, jsonb, boolean) from public;
