-- Reads items by key: those that are there, with their position in the arrays, from 1. What has expired is not there.
--   p_refresh_ttl  one element an item: whether its time to live begins again
-- Where no refresh is asked for, or nothing found has a TTL, it writes nothing and works in a read-only transaction.
-- Locks: the items it refreshes. Errors: LG002.
create or replace function @extschema@.store_get(p_prefixes text[], p_keys text[], p_refresh_ttl boolean[])
returns table (item_position integer, prefix text, key text, value jsonb, created_at timestamptz, updated_at timestamptz)
language plpgsql
volatile
parallel unsafe
security invoker
rows 10
as $fn$
#variable_conflict use_column
declare
  v_refresh_prefixes text[];
  v_refresh_keys text[];
begin
  if p_prefixes is null or cardinality(p_prefixes) is distinct from cardinality(p_keys)
    or cardinality(p_prefixes) is distinct from cardinality(p_refresh_ttl) then
    perform @extschema@.reject_argument('items',
      format('There are %s prefixes, %s keys and %s refreshes.', coalesce(cardinality(p_prefixes)::text, 'null'),
        coalesce(cardinality(p_keys)::text, 'null'), coalesce(cardinality(p_refresh_ttl)::text, 'null')),
      'Pass arrays of one length.');
  end if;
  return query
  select i.position::integer, s.prefix, s.key, s.value, s.created_at, s.updated_at
  from unnest(p_prefixes, p_keys) with ordinality i (prefix, key, position)
  join @extschema@.store s on s.prefix = i.prefix and s.key = i.key
  where s.expires_at is null or s.expires_at > now()
  order by i.position;

  if true = any (p_refresh_ttl) then
    select array_agg(s.prefix), array_agg(s.key) into v_refresh_prefixes, v_refresh_keys
    from unnest(p_prefixes, p_keys, p_refresh_ttl) i (prefix, key, refresh)
    join @extschema@.store s on s.prefix = i.prefix and s.key = i.key
    where i.refresh and s.ttl_minutes is not null and s.expires_at > now();
    if v_refresh_keys is not null then
      perform @extschema@.store_refresh(v_refresh_prefixes, v_refresh_keys);
    end if;
  end if;
end
$fn$;

comment on function @extschema@.store_get(text[], text[], boolean[]) is
  'Reads items of the store by key; expired ones are absent; refreshes the TTL where asked.';
revoke all on function @extschema@.store_get(text[], text[], boolean[]) from public;
