-- Refuses items that store_put must not write, saying which and why.
-- Locks: none. Errors: LG002.
create or replace function @extschema@.reject_store_items(
  p_prefixes text[],
  p_keys text[],
  p_values jsonb[],
  p_ttl_minutes double precision[]
)
returns void
language plpgsql
immutable
parallel safe
security invoker
as $fn$
begin
  if p_prefixes is null or cardinality(p_prefixes) is distinct from cardinality(p_keys)
    or cardinality(p_prefixes) is distinct from cardinality(p_values)
    or cardinality(p_prefixes) is distinct from cardinality(p_ttl_minutes) then
    perform @extschema@.reject_argument('items',
      format('There are %s prefixes, %s keys, %s values and %s TTLs.', coalesce(cardinality(p_prefixes)::text, 'null'),
        coalesce(cardinality(p_keys)::text, 'null'), coalesce(cardinality(p_values)::text, 'null'),
        coalesce(cardinality(p_ttl_minutes)::text, 'null')),
      'Pass arrays of one length; a null value removes the item, a null TTL never expires.');
  end if;
  perform
    case
      when i.prefix is null or i.key is null then
        @extschema@.reject_argument('item', format('Prefix %L, key %L.', i.prefix, i.key), 'Neither may be null.')
      when i.prefix = '' or '.' || i.prefix || '.' like '%..%' then
        @extschema@.reject_argument('namespace', format('%L has an empty label.', i.prefix),
          'Join one label or more with "."; none is empty or contains ".".')
      -- To remove what cannot be there is no error.
      when i.value is not null and (i.prefix = 'langgraph' or i.prefix like 'langgraph.%') then
        @extschema@.reject_argument('namespace', format('%L begins with the reserved label %L.', i.prefix, 'langgraph'),
          'Choose another first label.')
      when jsonb_typeof(i.value) <> 'object' then
        @extschema@.reject_argument('value', format('Item %L in %L is not a JSON object but %s.', i.key, i.prefix, jsonb_typeof(i.value)),
          'Wrap it, for example as {"value": ...}; SQL null removes the item.')
      when i.ttl_minutes <= 0 or i.ttl_minutes > 1e10 then
        @extschema@.reject_argument('TTL', format('Item %L in %L has a TTL of %s minutes.', i.key, i.prefix, i.ttl_minutes),
          'Pass minutes, more than 0 and at most 1e10, fractions too; null never expires.')
    end
  from unnest(p_prefixes, p_keys, p_values, p_ttl_minutes) i (prefix, key, value, ttl_minutes)
  where i.prefix is null or i.key is null or i.prefix = '' or '.' || i.prefix || '.' like '%..%'
    or i.value is not null and (i.prefix = 'langgraph' or i.prefix like 'langgraph.%') or jsonb_typeof(i.value) <> 'object' or i.ttl_minutes <= 0 or i.ttl_minutes > 1e10;
end
$fn$;

comment on function @extschema@.reject_store_items(text[], text[], jsonb[], double precision[]) is
  'Raises LG002 for the first item that cannot be put.';
revoke all on function @extschema@.reject_store_items(text[], text[], jsonb[], double precision[]) from public;
