-- The elements of what Python iterates as a list, as a jsonb array: a list, or a decoded set, frozenset or deque. NULL for
-- anything else.
-- Locks: none. Errors: none.
create or replace function @extschema@.jsonb_items(p_value jsonb)
returns jsonb
language sql
immutable
strict
parallel safe
security invoker
as $fn$
  select case
    when jsonb_typeof(p_value) = 'array' then p_value
    when p_value ->> 'lc_type' in ('builtins.set', 'builtins.frozenset', 'collections.deque')
      and jsonb_typeof(p_value #> '{args,0}') = 'array' then p_value #> '{args,0}'
  end
$fn$;

comment on function @extschema@.jsonb_items(jsonb) is
  'The elements of a decoded list, set or deque as a jsonb array; null for anything else.';
revoke all on function @extschema@.jsonb_items(jsonb) from public;
