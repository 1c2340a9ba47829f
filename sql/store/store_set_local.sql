-- Part of store_search: sets settings until the end of the transaction and gives what they were, so that a second call puts
-- them back. null is the default of a setting. What an error interrupts is undone with the transaction or the savepoint.
-- Locks: none. Errors: none.
create or replace function @extschema@.store_set_local(p_names text[], p_values text[])
returns text[]
language plpgsql
volatile
parallel unsafe
security invoker
as $fn$
declare
  v_before text[];
begin
  for i in 1 .. coalesce(cardinality(p_names), 0) loop
    -- null where the library that has the setting is not loaded yet.
    v_before[i] := current_setting(p_names[i], true);
    perform set_config(p_names[i], p_values[i], true);
  end loop;
  return v_before;
end
$fn$;

comment on function @extschema@.store_set_local(text[], text[]) is
  'Part of store_search: sets settings for the transaction and gives what they were, to put them back.';
revoke all on function @extschema@.store_set_local(text[], text[]) from public;
