-- Part of store_put: makes the vectors of items that it has just written, and so locked, exactly the given ones.
-- Locks: the vectors of the items. Errors: LG002, LG008.
create or replace function @extschema@.store_put_vectors(
  p_prefixes text[],
  p_keys text[],
  p_values jsonb[],
  p_vector_items integer[],
  p_vector_fields text[],
  p_vector_hashes bytea[],
  p_vector_new boolean[],
  p_vectors real[]
)
returns void
language plpgsql
volatile
parallel unsafe
security invoker
as $fn$
declare
  v_dims integer;
  v_missing text;
begin
  v_dims := @extschema@.reject_store_vectors(p_values, p_vector_items, p_vector_fields, p_vector_hashes, p_vector_new, p_vectors);

  delete from @extschema@.store_vectors v
  using unnest(p_prefixes, p_keys) i (prefix, key)
  where v.prefix = i.prefix
    and v.key = i.key
    and not exists (
      select
      from unnest(p_vector_items, p_vector_fields) n (item, field_name)
      where p_prefixes[n.item] = v.prefix
        and p_keys[n.item] = v.key
        and n.field_name = v.field_name
        and n.item = (
          select max(o.position)
          from unnest(p_prefixes, p_keys) with ordinality o (prefix, key, position)
          where o.prefix = v.prefix and o.key = v.key
        )
    );

  -- A vector that is there with the same hash stays: it is that of the same text by the same embedder.
  insert into @extschema@.store_vectors as v (prefix, key, field_name, embedding, text_hash)
  select p_prefixes[n.item], p_keys[n.item], n.field_name, p_vectors[(n.ordinal - 1) * v_dims + 1 : n.ordinal * v_dims], n.text_hash
  from (
    select n.*, row_number() over (order by n.position) as ordinal
    from unnest(p_vector_items, p_vector_fields, p_vector_hashes, p_vector_new) with ordinality
      n (item, field_name, text_hash, is_new, position)
    where n.is_new
  ) n
  where not exists (
    select
    from unnest(p_prefixes, p_keys) with ordinality o (prefix, key, position)
    where o.prefix = p_prefixes[n.item] and o.key = p_keys[n.item] and o.position > n.item
  )
  order by 1, 2, 3
  on conflict (prefix, key, field_name) do update
  set embedding = excluded.embedding, text_hash = excluded.text_hash, updated_at = now()
  where excluded.text_hash is null or v.text_hash is distinct from excluded.text_hash;

  select format('Field %L of item %L in %L.', n.field_name, p_keys[n.item], p_prefixes[n.item]) into v_missing
  from unnest(p_vector_items, p_vector_fields, p_vector_hashes, p_vector_new) n (item, field_name, text_hash, is_new)
  where not n.is_new
    and not exists (
      select
      from unnest(p_prefixes, p_keys) with ordinality o (prefix, key, position)
      where o.prefix = p_prefixes[n.item] and o.key = p_keys[n.item] and o.position > n.item
    )
    and not exists (
      select
      from @extschema@.store_vectors v
      where v.prefix = p_prefixes[n.item]
        and v.key = p_keys[n.item]
        and v.field_name = n.field_name
        and v.text_hash = n.text_hash
    )
  limit 1;
  if v_missing is not null then
    raise exception using
      errcode = 'LG008',
      message = 'a vector to keep is not stored with that hash',
      detail = v_missing,
      hint = 'Embed the text and put the item again with its vector.';
  end if;
end
$fn$;

comment on function @extschema@.store_put_vectors(text[], text[], jsonb[], integer[], text[], bytea[], boolean[], real[]) is
  'Part of store_put: makes the vectors of items exactly the given ones.';
revoke all on function @extschema@.store_put_vectors(text[], text[], jsonb[], integer[], text[], bytea[], boolean[], real[])
  from public;
