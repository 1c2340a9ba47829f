-- Says which texts need no embedding, because a vector is stored for that field of that item with that hash: their
-- positions in the arrays, from 1. Expired items count as absent.
-- Locks: none. Errors: LG002.
create or replace function @extschema@.store_unchanged(p_prefixes text[], p_keys text[], p_fields text[], p_hashes bytea[])
returns table (item_position integer)
language plpgsql
stable
parallel safe
security invoker
rows 100
as $fn$
begin
  if p_prefixes is null or cardinality(p_prefixes) is distinct from cardinality(p_keys)
    or cardinality(p_prefixes) is distinct from cardinality(p_fields)
    or cardinality(p_prefixes) is distinct from cardinality(p_hashes) then
    perform @extschema@.reject_argument('texts',
      format('There are %s prefixes, %s keys, %s fields and %s hashes.', coalesce(cardinality(p_prefixes)::text, 'null'),
        coalesce(cardinality(p_keys)::text, 'null'), coalesce(cardinality(p_fields)::text, 'null'),
        coalesce(cardinality(p_hashes)::text, 'null')),
      'Pass arrays of one length, one element a text.');
  end if;
  if to_regclass('@extschema@.store_vectors') is null then
    return;
  end if;
  return query
  select t.position::integer
  from unnest(p_prefixes, p_keys, p_fields, p_hashes) with ordinality t (prefix, key, field_name, text_hash, position)
  join @extschema@.store_vectors v
    on v.prefix = t.prefix and v.key = t.key and v.field_name = t.field_name and v.text_hash = t.text_hash
  join @extschema@.store s on s.prefix = t.prefix and s.key = t.key and (s.expires_at is null or s.expires_at > now())
  order by t.position;
end
$fn$;

comment on function @extschema@.store_unchanged(text[], text[], text[], bytea[]) is
  'Positions of the texts whose vector is stored with that hash and so need not be embedded again.';
revoke all on function @extschema@.store_unchanged(text[], text[], text[], bytea[]) from public;
