-- What search this schema offers: always one row, with nulls where enable_vector_index or enable_text_index was not called.
-- Read from the catalogs as far as those say it, so that it is true whoever changed the tables.
--   method           'hnsw', 'ivfflat', or 'flat' for no index
--   options          of the index, each as name=value
--   vector_schema    where pgvector lives; with vector_version null where it is not installed
-- Locks: none. Errors: none.
create or replace function @extschema@.store_info()
returns table (
  dims integer,
  vector_type text,
  distance text,
  method text,
  options text[],
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
-- Every search asks, and reading small catalogs from end to end takes three times as long.
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $fn$
begin
  select a.atttypmod, t.typname,
    case
      when o.opcname like '%\_cosine\_ops' then 'cosine'
      when o.opcname like '%\_l2\_ops' then 'l2'
      when o.opcname like '%\_ip\_ops' then 'inner_product'
      -- Without an index nothing but the setting says it; LangGraph takes cosine where it is told nothing.
      else coalesce((select s.value ->> 'distance' from @extschema@.settings s where s.key = 'vector_index'), 'cosine')
    end,
    coalesce(m.amname, 'flat'),
    coalesce(c.reloptions, '{}')
  into dims, vector_type, distance, method, options
  from pg_catalog.pg_attribute a
  join pg_catalog.pg_type t on t.oid = a.atttypid
  left join pg_catalog.pg_index i on i.indrelid = a.attrelid and i.indkey[0] = a.attnum and i.indisvalid
  left join pg_catalog.pg_class c on c.oid = i.indexrelid
  left join pg_catalog.pg_opclass o on o.oid = i.indclass[0]
  left join pg_catalog.pg_am m on m.oid = c.relam
  where a.attrelid = to_regclass('@extschema@.store_vectors')
    and a.attname = 'embedding'
  limit 1;

  select s.value ->> 'config', array(select f.value from jsonb_array_elements_text(s.value -> 'fields') f)
  into text_config, text_fields
  from @extschema@.settings s
  where s.key = 'text_index'
    and exists (
      select
      from pg_catalog.pg_attribute a
      where a.attrelid = '@extschema@.store'::regclass and a.attname = 'text_search' and not a.attisdropped
    );

  select n.nspname, e.extversion into vector_schema, vector_version
  from pg_catalog.pg_extension e
  join pg_catalog.pg_namespace n on n.oid = e.extnamespace
  where e.extname = 'vector';
  return next;
end
$fn$;

comment on function @extschema@.store_info() is
  'Dimensions, type, distance and method of the vector index, configuration and fields of the text index; one row.';
revoke all on function @extschema@.store_info() from public;
