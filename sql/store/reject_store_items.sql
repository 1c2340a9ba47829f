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
declare
  v_item record;
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

  select i.* into v_item
  from unnest(p_prefixes, p_keys, p_values, p_ttl_minutes) i (prefix, key, value, ttl_minutes)
  where i.prefix is null or i.key is null or i.prefix = '' or '.' || i.prefix || '.' like '%..%'
    or (i.value is not null and i.prefix || '.' like 'langgraph.%') or jsonb_typeof(i.value) <> 'object' or i.ttl_minutes <= 0 or i.ttl_minutes > 1e10
  limit 1;
  if not found then
    return;
  end if;
  if v_item.prefix is null or v_item.key is null then
    perform @extschema@.reject_argument('item', format('Prefix %L, key %L.', v_item.prefix, v_item.key), 'Neither may be null.');
  elsif v_item.prefix = '' or '.' || v_item.prefix || '.' like '%..%' then
    perform @extschema@.reject_argument('namespace', format('%L has an empty label.', v_item.prefix),
      'Join one label or more with "."; none is empty or contains ".".');
  elsif v_item.value is not null and v_item.prefix || '.' like 'langgraph.%' then
    perform @extschema@.reject_argument('namespace', format('%L begins with the reserved label %L.', v_item.prefix, 'langgraph'),
      'Choose another first label.');
  elsif jsonb_typeof(v_item.value) <> 'object' then
    perform @extschema@.reject_argument('value',
      format('That of key %L in %L is not a JSON object but of type %s.', v_item.key, v_item.prefix, jsonb_typeof(v_item.value)),
      'Wrap it in an object with one field; SQL null removes the item.');
  end if;
  perform @extschema@.reject_argument('TTL',
    format('That of key %L in %L is %s minutes.', v_item.key, v_item.prefix, v_item.ttl_minutes),
    'Pass minutes, more than 0 and at most 1e10, fractions too; null never expires.');
end
$fn$;

comment on function @extschema@.reject_store_items(text[], text[], jsonb[], double precision[]) is
  'Raises LG002 for the first item that cannot be put.';
revoke all on function @extschema@.reject_store_items(text[], text[], jsonb[], double precision[]) from public;
