-- Part of store_search: whether a namespace and those below it have more items than that, expired ones included. Counts no
-- further, in the index alone.
-- Locks: none. Errors: none.
create or replace function @extschema@.store_has_more_than(p_prefix text, p_items bigint)
returns boolean
language plpgsql
stable
parallel safe
security invoker
as $fn$
declare
  v_from text := case p_prefix when '' then '' else p_prefix || '.' end;
  -- "/" is the character after "."; U+10FFFF is above every label.
  v_below text := case p_prefix when '' then U&'\+10FFFF\+10FFFF' else p_prefix || '/' end;
  v_items bigint;
begin
  select count(*) into v_items
  from (
    select from @extschema@.store s where s.prefix = p_prefix
    union all
    select from @extschema@.store s where s.prefix >= v_from and s.prefix < v_below
    limit p_items + 1
  ) i;
  return v_items > p_items;
end
$fn$;

comment on function @extschema@.store_has_more_than(text, bigint) is
  'Part of store_search: whether a namespace and those below it have more than so many items.';
revoke all on function @extschema@.store_has_more_than(text, bigint) from public;
