-- Refuses vectors that store_put must not write, saying which and why; gives the dimensions of the index.
-- Locks: none. Errors: LG002.
create or replace function @extschema@.reject_store_vectors(
  p_values jsonb[],
  p_vector_items integer[],
  p_vector_fields text[],
  p_vector_hashes bytea[],
  p_vector_new boolean[],
  p_vectors real[]
)
returns integer
language plpgsql
stable
parallel safe
security invoker
as $fn$
declare
  v_count integer := cardinality(p_vector_items);
  v_new integer := cardinality(array_positions(p_vector_new, true));
  v_dims integer;
begin
  if v_count is null or v_count is distinct from cardinality(p_vector_fields)
    or v_count is distinct from cardinality(p_vector_hashes) or v_count is distinct from cardinality(p_vector_new) then
    perform @extschema@.reject_argument('vectors',
      format('There are %s items, %s fields, %s hashes and %s marks of what is new.', coalesce(v_count::text, 'null'),
        coalesce(cardinality(p_vector_fields)::text, 'null'), coalesce(cardinality(p_vector_hashes)::text, 'null'),
        coalesce(cardinality(p_vector_new)::text, 'null')),
      'Pass arrays of one length, one element a vector.');
  end if;
  if v_count = 0 then
    return 0;
  end if;
  perform @extschema@.reject_argument('vector',
    format('Vector %s: item %s of %s, field %L, hash %s, new %s.', n.position, n.item, cardinality(p_values), n.field_name,
      coalesce(n.text_hash::text, 'null'), n.is_new),
    'The item is a position in the items and is not removed; only the hash of a new vector may be null; a field comes once.')
  from (
    select n.*, row_number() over (partition by n.item, n.field_name order by n.position) as repetition
    from unnest(p_vector_items, p_vector_fields, p_vector_hashes, p_vector_new) with ordinality
      n (item, field_name, text_hash, is_new, position)
  ) n
  where n.item is null or n.item not between 1 and cardinality(p_values) or p_values[n.item] is null
    or n.field_name is null or n.is_new is null or (not n.is_new and n.text_hash is null) or n.repetition > 1;
  select i.dims into v_dims from @extschema@.store_info() i;
  if cardinality(p_vectors) is distinct from v_new * v_dims then
    perform @extschema@.reject_argument('vectors',
      format('There are %s numbers for %s new vectors of %s dimensions.', coalesce(cardinality(p_vectors)::text, 'null'), v_new, v_dims),
      'Pass the new vectors one after the other, each with the dimensions that store_info names.');
  end if;
  if p_vectors && array['NaN', 'Infinity', '-Infinity']::real[] or array_position(p_vectors, null) is not null then
    perform @extschema@.reject_argument('vectors', 'There is a null, a NaN or an infinite number in them.',
      'Pass finite numbers.');
  end if;
  return v_dims;
end
$fn$;

comment on function @extschema@.reject_store_vectors(jsonb[], integer[], text[], bytea[], boolean[], real[]) is
  'Raises LG002 for vectors that cannot be put; gives the dimensions of the vector index.';
revoke all on function @extschema@.reject_store_vectors(jsonb[], integer[], text[], bytea[], boolean[], real[]) from public;
