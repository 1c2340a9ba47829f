-- One comparison of a filter as an SQL condition on the value of row "s"; see store_filter_condition.
-- Locks: none. Errors: LG002.
create or replace function @extschema@.store_filter_comparison(p_path text, p_operator text, p_operand jsonb)
returns text
language plpgsql
immutable
parallel safe
security invoker
as $fn$
declare
  v_value text;
  v_compare text;
  v_text text := p_operand #>> '{}';
begin
  v_value := format('s.value -> %L', p_path);
  if position('.' in p_path) > 0 then
    v_value := format('coalesce(%s, s.value #> %L)', v_value, string_to_array(p_path, '.'));
  end if;
  case p_operator
    when '$eq' then
      if jsonb_typeof(p_operand) = 'null' then
        return format('coalesce(%s, ''null'') = ''null''', v_value);
      end if;
      return format('%s = %L', v_value, p_operand);
    when '$ne' then
      return format('coalesce(%s, ''null'') <> %L', v_value, p_operand);
    when '$in', '$nin' then
      if jsonb_typeof(p_operand) <> 'array' then
        perform @extschema@.reject_argument('filter',
          format('The operand of %s under %L is not an array: %s.', p_operator, p_path, left(p_operand::text, 100)),
          format('Pass {"%s": [value, ...]}.', p_operator));
      end if;
      return format('%scoalesce(%s, ''null'') = any (%L::jsonb[])', case p_operator when '$nin' then 'not ' else '' end, v_value,
        array(select e.value from jsonb_array_elements(p_operand) e));
    when '$exists' then
      if jsonb_typeof(p_operand) <> 'boolean' then
        perform @extschema@.reject_argument('filter',
          format('The operand of $exists under %L is not true or false: %s.', p_path, left(p_operand::text, 100)),
          'Pass {"$exists": true} or {"$exists": false}.');
      end if;
      return format('(%s) is %s null', v_value, case when p_operand::boolean then 'not' else '' end);
    when '$gt', '$gte', '$lt', '$lte' then
      v_compare := case p_operator when '$gt' then '>' when '$gte' then '>=' when '$lt' then '<' else '<=' end;
    else
      perform @extschema@.reject_argument('filter', format('Unknown operator %L under %L.', p_operator, p_path),
        'The operators are $eq, $ne, $gt, $gte, $lt, $lte, $in, $nin and $exists.');
  end case;
  case jsonb_typeof(p_operand)
    when 'number', 'boolean' then
      return format('(jsonb_typeof(%s) = %L and %s %s %L)', v_value, jsonb_typeof(p_operand), v_value, v_compare, p_operand);
    when 'string' then
      if @extschema@.store_timestamp(v_text) is null then
        return format('(jsonb_typeof(%s) = ''string'' and (%s) #>> ''{}'' %s %L collate "C")', v_value, v_value, v_compare, v_text);
      end if;
      return format('(jsonb_typeof(%1$s) = ''string'' and coalesce(%4$s.store_timestamp((%1$s) #>> ''{}'') %2$s %4$s.store_timestamp(%3$L), '
        '(%1$s) #>> ''{}'' %2$s %3$L collate "C"))', v_value, v_compare, v_text, '@extschema@'::text);
    else
      return 'false';
  end case;
end
$fn$;

comment on function @extschema@.store_filter_comparison(text, text, jsonb) is
  'One comparison of a filter of store_search as an SQL condition on the value of row s.';
revoke all on function @extschema@.store_filter_comparison(text, text, jsonb) from public;
