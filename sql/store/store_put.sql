-- Writes items of the store and removes others, in one statement's transaction. The first four arrays are parallel, one
-- element an item; of several for one key the last counts.
--   p_values       null removes the item
--   p_ttl_minutes  fractions count; null never expires
-- The vectors of the items, one element a vector, in the order of the vectors that are new:
--   p_vector_items   position of the item in the first arrays, from 1
--   p_vector_fields  path of the embedded field, as LangGraph names it
--   p_vector_hashes  hash of the text (and of what embedded it), by which a client knows it again; may be null when new
--   p_vector_new     false keeps the stored vector of that field, whose hash has to be this one
--   p_vectors        the new vectors, one after the other
-- An item's vectors are afterwards exactly these. LG008 means that a vector to keep is not there with that hash: nothing is
-- written, and the client embeds the text and tries again.
-- Locks: the items it writes and removes. Errors: LG002, LG004, LG008.
create or replace function @extschema@.store_put(
  p_prefixes text[],
  p_keys text[],
  p_values jsonb[],
  p_ttl_minutes double precision[],
  p_vector_items integer[] default '{}',
  p_vector_fields text[] default '{}',
  p_vector_hashes bytea[] default '{}',
  p_vector_new boolean[] default '{}',
  p_vectors real[] default '{}'
)
returns void
language plpgsql
volatile
parallel unsafe
security invoker
as $fn$
declare
  v_has_vectors boolean := to_regclass('@extschema@.store_vectors') is not null;
begin
  perform @extschema@.reject_store_items(p_prefixes, p_keys, p_values, p_ttl_minutes);
  if not v_has_vectors and cardinality(p_vector_items) > 0 then
    perform @extschema@.reject_not_enabled('vector search', 'enable_vector_index');
  end if;

  -- In the order of the key, so that no two puts wait for each other. That holds for items to be removed too, whether they are
  -- there or not: these go through as null, which no value is.
  insert into @extschema@.store as s (prefix, key, value, expires_at, ttl_minutes)
  select i.prefix, i.key, coalesce(i.value, 'null'), now() + i.ttl_minutes * interval '1 minute', i.ttl_minutes
  from (
    select distinct on (i.prefix collate "C", i.key collate "C") i.*
    from unnest(p_prefixes, p_keys, p_values, p_ttl_minutes) with ordinality i (prefix, key, value, ttl_minutes, position)
    order by i.prefix collate "C", i.key collate "C", i.position desc
  ) i
  on conflict (prefix, key) do update
  set value = excluded.value,
    -- What had expired is a new item.
    created_at = case when s.expires_at <= now() then now() else s.created_at end,
    updated_at = now(),
    expires_at = excluded.expires_at,
    ttl_minutes = excluded.ttl_minutes
  where excluded.value <> 'null';
  if array_position(p_values, null) is not null then
    delete from @extschema@.store s
    using (
      select distinct on (i.prefix, i.key) i.prefix, i.key, i.value
      from unnest(p_prefixes, p_keys, p_values) with ordinality i (prefix, key, value, position)
      order by i.prefix, i.key, i.position desc
    ) i
    where i.value is null and s.prefix = i.prefix and s.key = i.key;
  end if;

  if v_has_vectors then
    perform @extschema@.store_put_vectors(p_prefixes, p_keys, p_values, p_vector_items, p_vector_fields, p_vector_hashes,
      p_vector_new, p_vectors);
  end if;
end
$fn$;

comment on function @extschema@.store_put(text[], text[], jsonb[], double precision[], integer[], text[], bytea[], boolean[],
  real[]) is 'Writes items of the store with their vectors, and removes those whose value is null; the last put of a key wins.';
revoke all on function @extschema@.store_put(text[], text[], jsonb[], double precision[], integer[], text[], bytea[], boolean[],
  real[]) from public;
