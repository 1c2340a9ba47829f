-- Part of store_search: the items nearest to a vector, found from the nearest vectors on, whose items are looked at until
-- enough match. Nulls where that gives no answer: too few of the nearest match, or more are equally near than it looked at.
--   p_filter      condition on row "s" of store, or null
--   p_distance    of row "v" of store_vectors to $1, as the index orders it
--   p_method      of the index to follow; null measures every vector of the namespace instead
--   p_candidates  how many vectors of matching items make it sure
--   p_reach       how many vectors of the index it looks at before it gives up
--   p_effort      ef_search of hnsw, probes of ivfflat, unless the session's own setting is higher
--   p_horizon     distance from which on the index does not have everything
-- Locks: none. Errors: none.
create or replace function @extschema@.store_vector_scan(
  p_prefix text,
  p_filter text,
  p_distance text,
  p_query real[],
  p_limit bigint,
  p_method text,
  p_candidates bigint,
  p_reach bigint,
  p_effort integer,
  p_horizon double precision,
  out prefixes text[],
  out keys text[],
  out distances double precision[]
)
language plpgsql
volatile
parallel unsafe
security invoker
as $fn$
declare
  v_namespace text := coalesce(@extschema@.store_prefix_condition('v', p_prefix), 'true');
  v_item text := case when p_filter is not null then format('cross join lateral (select from %s.store s '
    'where s.prefix = v.prefix and s.key = v.key and %s limit 1) s', '@extschema@'::text, p_filter) end;
  v_nearest text;
  v_names text[];
  v_values text[];
  v_farthest double precision;
  v_exhausted boolean;
begin
  if p_method is null then
    v_nearest := format('select v.prefix, v.key, %s as distance from %s.store_vectors v where %s order by 3 limit $2',
      p_distance, '@extschema@'::text, v_namespace);
  else
    v_nearest := format('select v.prefix, v.key, v.distance from (select v.prefix, v.key, %1$s as distance '
      'from %2$s.store_vectors v order by %1$s limit $3) v %3$s where %4$s limit $2', p_distance, '@extschema@'::text, v_item, v_namespace);
    if p_method = 'hnsw' then
      v_names := array['enable_seqscan', 'enable_sort', 'hnsw.iterative_scan', 'hnsw.max_scan_tuples', 'hnsw.ef_search'];
      v_values := array['off', 'off', 'relaxed_order', (100 * p_reach)::text,
        least(greatest(p_effort, current_setting('hnsw.ef_search', true)::integer), 1000)::text];
    else
      v_names := array['enable_seqscan', 'enable_sort', 'ivfflat.iterative_scan', 'ivfflat.probes'];
      v_values := array['off', 'off', 'relaxed_order', greatest(p_effort, current_setting('ivfflat.probes', true)::integer)::text];
    end if;
    v_values := @extschema@.store_set_local(v_names, v_values);
  end if;
  execute format('select array_agg(n.prefix), array_agg(n.key), array_agg(n.distance), max(n.distance), count(*) < $2 from (%s) n', v_nearest)
  into prefixes, keys, distances, v_farthest, v_exhausted
  using p_query, p_candidates, p_reach;
  perform @extschema@.store_set_local(v_names, v_values);

  select array_agg(c.prefix order by c.position), array_agg(c.key order by c.position), array_agg(c.distance order by c.position)
  into prefixes, keys, distances
  from (
    select n.prefix, n.key, min(n.distance) as distance, row_number() over (order by min(n.distance), n.prefix, n.key) as position
    from unnest(prefixes, keys, distances) n (prefix, key, distance)
    join @extschema@.store s on s.prefix = n.prefix and s.key = n.key
    where s.expires_at is null or s.expires_at > now()
    group by n.prefix, n.key
    order by position
    limit p_limit
  ) c;
  if not (v_exhausted and p_method is null
    or coalesce(cardinality(keys) = p_limit and distances[p_limit] < v_farthest and distances[p_limit] < p_horizon, false))
  then
    prefixes := null;
    keys := null;
    distances := null;
  end if;
end
$fn$;

comment on function @extschema@.store_vector_scan(text, text, text, real[], bigint, text, bigint, bigint, integer, double precision) is
  'Part of store_search: the items nearest to a vector from the nearest vectors on; nulls where that gives no answer.';
revoke all on function @extschema@.store_vector_scan(text, text, text, real[], bigint, text, bigint, bigint, integer, double precision)
  from public;
