-- What search this schema offers, always one row; nulls where enable_vector_index or enable_text_index was not called.
-- Read from the catalogs, so that it is true whoever changed the tables.
--   vector_schema   where pgvector lives
--   method          'hnsw', 'ivfflat', or 'flat' for no index
-- Locks: none. Errors: none.
create or replace function @extschema@.store_info()
returns table (
  dims integer,
  vector_type text,
  distance text,
  method text,
  text_config text,
  text_fields text[],
  vector_schema text,
  vector_version text
)
language plpgsql
stable
parallel safe
security invoker
rows 1
as $fn$
begin
  return query
  select a.atttypmod, t.typname::text,
    coalesce(case when o.opcname like '%\_cosine\_ops' then 'cosine' when o.opcname like '%\_l2\_ops' then 'l2'
      when o.opcname like '%\_ip\_ops' then 'inner_product' end, (v.value ->> 'distance'), case when a.attrelid is not null then 'cosine' end),
    coalesce(am.amname::text, case when a.attrelid is not null then 'flat' end),
    x.value ->> 'config',
    array(select f.value from jsonb_array_elements_text(x.value -> 'fields') f),
    n.nspname::text,
    (select e.extversion from pg_catalog.pg_extension e where e.extname = 'vector')
  from (select) one
  left join pg_catalog.pg_attribute a
    on a.attrelid = to_regclass('@extschema@.store_vectors') and a.attname = 'embedding' and not a.attisdropped
  left join pg_catalog.pg_type t on t.oid = a.atttypid
  left join pg_catalog.pg_namespace n on n.oid = t.typnamespace
  left join pg_catalog.pg_index i on i.indrelid = a.attrelid and i.indkey[0] = a.attnum and i.indisvalid
  left join pg_catalog.pg_opclass o on o.oid = i.indclass[0]
  left join pg_catalog.pg_am am on am.oid = o.opcmethod
  left join @extschema@.settings v on v.key = 'vector_index'
  left join @extschema@.settings x on x.key = 'text_index'
  limit 1;
end
$fn$;

comment on function @extschema@.store_info() is
  'Dimensions, type, distance and method of the vector index, configuration and fields of the text index; one row.';
revoke all on function @extschema@.store_info() from public;
