-- Part of enable_text_index: paths as LangGraph writes them, as jsonpath; none for "$", the whole value.
-- Locks: none. Errors: LG002.
create or replace function @extschema@.store_text_paths(p_fields text[])
returns jsonpath[]
language plpgsql
immutable
parallel safe
security invoker
set search_path = ''
as $fn$
declare
  v_field text;
begin
  if p_fields is null or cardinality(p_fields) = 0 then
    perform @extschema@.reject_argument('fields', 'There are none.', 'Pass the paths of the texts, or {$} for the whole value.');
  end if;
  foreach v_field in array p_fields loop
    -- Names, "*" and [subscripts], joined by dots.
    if v_field is null or v_field !~ '^(\$|[^].[{}*$]+(\[(-?\d{1,9}|\*)\])*|\*)(\.([^].[{}*]+(\[(-?\d{1,9}|\*)\])*|\*))*$'
      or v_field ~ '^\$.' then
      perform @extschema@.reject_argument('field', format('%L is not a path.', v_field),
        'Write paths as a.b, list[0], list[-1], list[*] or *, each as a field of its own; $ is the whole value.');
    end if;
  end loop;
  if '$' = any (p_fields) then
    return '{}';
  end if;
  return array(
    select ('lax $' || (
      select string_agg(case p.part[1] when '*' then '.*' else '.' || to_json(p.part[1])::text end
        || regexp_replace(p.part[2], '\[-(\d+)\]', '[last - \1 + 1]', 'g'), '' order by p.position)
      from regexp_matches(f.field, '([^].[]+)((?:\[[^]]*\])*)', 'g') with ordinality p (part, position)
    ))::jsonpath
    from unnest(p_fields) with ordinality f (field, position)
    order by f.position
  );
end
$fn$;

comment on function @extschema@.store_text_paths(text[]) is
  'Part of enable_text_index: paths as LangGraph writes them, as jsonpath; none for the whole value.';
revoke all on function @extschema@.store_text_paths(text[]) from public;
