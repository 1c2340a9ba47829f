-- Part of store_search: the equalities of a filter as one containment, which an index on store.value can serve and which is
-- estimated from statistics, or null. It keeps at least what the filter does.
-- Locks: none. Errors: none.
create or replace function @extschema@.store_filter_narrowing(p_filter jsonb)
returns text
language plpgsql
immutable
parallel safe
security invoker
as $fn$
declare
  v_equal jsonb;
begin
  if p_filter is null or jsonb_typeof(p_filter) <> 'object' then
    return null;
  end if;
  select jsonb_object_agg(e.key, e.operand) into v_equal
  from (
    select f.key, case when jsonb_typeof(f.value) <> 'object' then f.value else f.value -> '$eq' end as operand
    from jsonb_each(p_filter) f
  ) e
  -- A key with a dot may be a path, and what is missing equals null.
  where position('.' in e.key) = 0 and e.operand <> 'null';
  return case when v_equal is not null then format('s.value @> %L', v_equal) end;
end
$fn$;

comment on function @extschema@.store_filter_narrowing(jsonb) is
  'Part of store_search: the equalities of a filter as one containment, or null.';
revoke all on function @extschema@.store_filter_narrowing(jsonb) from public;
