-- Part of store_search: whether an index on store.value serves containment, as enable_filter_index makes it, whatever its name.
-- Locks: none. Errors: none.
create or replace function @extschema@.store_has_filter_index()
returns boolean
language plpgsql
stable
parallel safe
security invoker
as $fn$
begin
  return exists (
    select
    from pg_catalog.pg_index i
    join pg_catalog.pg_opclass o on o.oid = i.indclass[0]
    where i.indrelid = '@extschema@.store'::regclass and o.opcname = 'jsonb_path_ops' and i.indisvalid
  );
end
$fn$;

comment on function @extschema@.store_has_filter_index() is
  'Part of store_search: whether an index on store.value serves containment.';
revoke all on function @extschema@.store_has_filter_index() from public;
