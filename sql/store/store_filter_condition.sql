-- Makes a filter of store_search an SQL condition on the value of "s", a row of store; null for one that keeps everything.
-- A filter is an object of {path: condition}, all of which have to hold. A condition is
--   a value          the item's value there equals it, as jsonb
--   {"$op": operand} with one operator or more, all of which have to hold:
--     $eq, $ne             equal or not, as jsonb: 1 equals 1.0; what is missing equals null
--     $in, $nin            equal to one of an array or to none
--     $gt $gte $lt $lte    numbers as numbers; strings by byte, or in time when both are ISO 8601 timestamps; false before true.
--                          Values of two kinds, and what is missing, are in no order: no such comparison holds
--     $exists              whether the path is there, be it null
-- $ne and $nin are exactly what $eq and $in are not, so they keep items that lack the path. A path is a key, or keys and array
-- positions joined by "."; where an item has the whole path as a key, that counts.
-- Locks: none. Errors: LG002.
create or replace function @extschema@.store_filter_condition(p_filter jsonb)
returns text
language plpgsql
immutable
parallel safe
security invoker
as $fn$
declare
  v_conditions text[] := '{}';
  v_path text;
  v_condition jsonb;
  v_operator text;
  v_operand jsonb;
begin
  if p_filter is null or jsonb_typeof(p_filter) = 'null' then
    return null;
  end if;
  if jsonb_typeof(p_filter) <> 'object' then
    perform @extschema@.reject_argument('filter', format('It is not a JSON object: %s.', left(p_filter::text, 100)),
      'Pass {"path": value} or {"path": {"$gt": value}}.');
  end if;
  for v_path, v_condition in select e.key, e.value from jsonb_each(p_filter) e loop
    if v_path like '$%' then
      perform @extschema@.reject_argument('filter', format('%L stands where a path is expected.', v_path),
        'Operators stand under a path, as in {"path": {"$gt": 1}}; all conditions have to hold, there is no $and, $or or $not.');
    end if;
    if jsonb_typeof(v_condition) <> 'object' or not jsonb_path_exists(v_condition, '$.keyvalue() ? (@.key starts with "$")') then
      if jsonb_path_exists(v_condition, '$.** ? (@.type() == "object").keyvalue() ? (@.key starts with "$")') then
        perform @extschema@.reject_argument('filter',
          format('Under %L an operator stands inside a value: %s.', v_path, left(v_condition::text, 100)),
          'Write the path with dots, as in {"a.b": {"$gt": 1}}; {"$eq": value} compares with a value as it is.');
      end if;
      v_condition := jsonb_build_object('$eq', v_condition);
    end if;
    for v_operator, v_operand in select e.key, e.value from jsonb_each(v_condition) e loop
      v_conditions := v_conditions || @extschema@.store_filter_comparison(v_path, v_operator, v_operand);
    end loop;
  end loop;
  return nullif(array_to_string(v_conditions, ' and '), '');
end
$fn$;

comment on function @extschema@.store_filter_condition(jsonb) is
  'Makes a filter of store_search an SQL condition on the value of row s; null for one that keeps everything.';
revoke all on function @extschema@.store_filter_condition(jsonb) from public;
