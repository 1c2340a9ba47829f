-- Makes an index by which store_search finds what is equal to a filter's values among many items. It is worth having where
-- namespaces of ten thousands of items are searched by such filters, and costs every put and every refresh of a TTL about a
-- quarter more WAL, more for values with many parts. Called again it changes nothing.
-- "create index concurrently store_value_idx on store using gin (value jsonb_path_ops)" makes the same and lets writes go on.
-- Locks: writes to store while the index is built. Errors: none.
create or replace function @extschema@.enable_filter_index()
returns void
language plpgsql
volatile
parallel unsafe
security invoker
set search_path = ''
as $fn$
begin
  if to_regclass('@extschema@.store_value_idx') is null then
    execute 'create index store_value_idx on @extschema@.store using gin (value jsonb_path_ops)';
    comment on index @extschema@.store_value_idx is 'Filters of store_search by equality in large namespaces.';
  end if;
end
$fn$;

comment on function @extschema@.enable_filter_index() is
  'Makes an index for filters by equality in large namespaces; costs writes.';
revoke all on function @extschema@.enable_filter_index() from public;
