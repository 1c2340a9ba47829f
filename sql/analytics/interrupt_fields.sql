-- What a task asks, from a write to __interrupt__: a list of {"value": ..., "id": ...} with the other fields that LangGraph's
-- Interrupt has, whatever client wrote it.
-- Locks: none. Errors: none.
create or replace function @extschema@.interrupt_fields(p_write jsonb)
returns jsonb
language sql
immutable
parallel safe
security invoker
as $fn$
  select coalesce(jsonb_agg(
    case
      when i.interrupt ->> 'lc_type' = 'langgraph.types.Interrupt'
        or jsonb_typeof(i.interrupt) = 'object' and i.interrupt ? 'value' and not i.interrupt ? 'lc_type'
        then '{"id": null}' || (i.interrupt - 'lc_type')
      else jsonb_build_object('value', i.interrupt, 'id', null)
    end
    order by i.position), '[]')
  from jsonb_array_elements(coalesce(@extschema@.jsonb_items(p_write), jsonb_build_array(p_write)))
    with ordinality i (interrupt, position)
$fn$;

comment on function @extschema@.interrupt_fields(jsonb) is
  'What a task asks, from a write to __interrupt__, as a list of objects with value and id.';
revoke all on function @extschema@.interrupt_fields(jsonb) from public;
