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
  v_items bigint[];
  v_missing text;
begin
  v_dims := @extschema@.reject_store_vectors(p_values, p_vector_items, p_vector_fields, p_vector_hashes, p_vector_new, p_vectors);

  -- Of several puts of one key the last counts.
  v_items := array(
    select max(i.position)
    from unnest(p_prefixes, p_keys) with ordinality i (prefix, key, position)
    group by i.prefix, i.key
  );
  delete from @extschema@.store_vectors v
  using unnest(v_items) i (item)
  where v.prefix = p_prefixes[i.item]
    and v.key = p_keys[i.item]
    and not exists (
      select from unnest(p_vector_items, p_vector_fields) n (item, field_name) where n.item = i.item and n.field_name = v.field_name
    );
  if cardinality(p_vector_items) = 0 then
    return;
  end if;

  -- A vector that is there with the same hash stays: it is that of the same text by the same embedder.
  insert into @extschema@.store_vectors as v (prefix, key, field_name, embedding, text_hash)
  select p_prefixes[n.item], p_keys[n.item], n.field_name, p_vectors[(n.ordinal - 1) * v_dims + 1 : n.ordinal * v_dims], n.text_hash
  from (
    select n.*, row_number() over (order by n.position) as ordinal
    from unnest(p_vector_items, p_vector_fields, p_vector_hashes, p_vector_new) with ordinality
      n (item, field_name, text_hash, is_new, position)
    where n.is_new
  ) n
  join unnest(v_items) i (item) on i.item = n.item
  on conflict (prefix, key, field_name) do update
  set embedding = excluded.embedding, text_hash = excluded.text_hash, updated_at = now()
  where excluded.text_hash is null or v.text_hash is distinct from excluded.text_hash;

  if not false = any (p_vector_new) then
    return;
  end if;
  select format('Field %L of item %L in %L.', n.field_name, p_keys[n.item], p_prefixes[n.item]) into v_missing
  from unnest(p_vector_items, p_vector_fields, p_vector_hashes, p_vector_new) n (item, field_name, text_hash, is_new)
  join unnest(v_items) i (item) on i.item = n.item
  where not n.is_new
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
