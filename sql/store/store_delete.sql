-- Removes items of the store with their vectors; keys that are not there are none. Says how many rows it removed, expired
-- ones included.
-- Locks: the items it removes. Errors: LG002.
create or replace function @extschema@.store_delete(p_prefixes text[], p_keys text[])
returns bigint
language plpgsql
volatile
parallel unsafe
security invoker
as $fn$
declare
  v_removed bigint;
begin
  if p_prefixes is null or cardinality(p_prefixes) is distinct from cardinality(p_keys) then
    perform @extschema@.reject_argument('items',
      format('There are %s prefixes and %s keys.', coalesce(cardinality(p_prefixes)::text, 'null'),
        coalesce(cardinality(p_keys)::text, 'null')),
      'Pass arrays of one length.');
  end if;
  -- In the order in which store_put locks, so that the two never wait for each other. A statement of its own, because the
  -- one that waits would not see what it waited for.
  perform
  from @extschema@.store s
  join unnest(p_prefixes, p_keys) i (prefix, key) on i.prefix = s.prefix and i.key = s.key
  order by s.prefix, s.key
  for update of s;
  delete from @extschema@.store s using unnest(p_prefixes, p_keys) i (prefix, key) where s.prefix = i.prefix and s.key = i.key;
  get diagnostics v_removed = row_count;
  return v_removed;
end
$fn$;

comment on function @extschema@.store_delete(text[], text[]) is 'Removes items of the store by key; says how many.';
revoke all on function @extschema@.store_delete(text[], text[]) from public;
