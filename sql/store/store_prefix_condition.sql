-- The SQL condition that a row of store, or store_vectors, is in a namespace or one below it: two ranges of the primary key,
-- for between "a" and "a." come "a!" and "a-b". Null for the empty prefix, which is all.
-- Locks: none. Errors: none.
create or replace function @extschema@.store_prefix_condition(p_row text, p_prefix text)
returns text
language plpgsql
immutable
parallel safe
security invoker
as $fn$
begin
  if p_prefix = '' then
    return null;
  end if;
  -- "/" is the character after ".".
  return format('(%1$I.prefix = %2$L or (%1$I.prefix >= %3$L and %1$I.prefix < %4$L))', p_row, p_prefix, p_prefix || '.', p_prefix || '/');
end
$fn$;

comment on function @extschema@.store_prefix_condition(text, text) is
  'The SQL condition that a row is in a namespace or one below it; null for the empty prefix.';
revoke all on function @extschema@.store_prefix_condition(text, text) from public;
