-- Part of store_search: the items nearest to a vector, each by its best vector, nearest first; nulls where there are none.
-- A namespace so small, or a filter that keeps so few, that measuring what matches costs no more than following the index is
-- searched exactly. So is what the index does not find enough of soon: then few items near the query match, and of what is
-- farther off an index misses more and more.
--   p_filter     as the caller gave it, or null
--   p_condition  the same on row "s" of store
-- Locks: none. Errors: LG002, LG004.
create or replace function @extschema@.store_vector_matches(
  p_prefix text,
  p_filter jsonb,
  p_condition text,
  p_query real[],
  p_limit bigint,
  out prefixes text[],
  out keys text[],
  out scores double precision[]
)
language plpgsql
volatile
parallel unsafe
security invoker
as $fn$
declare
  v_index record;
  v_exact text;     -- distance of row "v" of store_vectors to $1
  v_indexed text;   -- the same as the index orders it
  v_most integer := 0;  -- the score of what is at no distance
  v_candidates bigint;
  v_reach bigint := 0;  -- vectors of the index that are worth looking at
  v_least bigint;
  v_large boolean;
  v_narrowing text;
  v_options text;
  v_effort integer;
begin
  select i.*, case when c.reltuples < 0 then pg_relation_size(c.oid) / 2048 else c.reltuples end as vectors,
    case when t.reltuples > 0 and c.reltuples > t.reltuples then c.reltuples / t.reltuples else 1 end as vectors_per_item
  into v_index
  from @extschema@.store_info() i
  left join pg_catalog.pg_class c on c.oid = to_regclass('@extschema@.store_vectors')
  left join pg_catalog.pg_class t on t.oid = '@extschema@.store'::regclass;
  perform @extschema@.reject_query_vector(p_query, v_index.dims);
  v_indexed := format('v.embedding operator(%1$I.%2$s) $1::%1$I.%3$I', v_index.vector_schema,
    case v_index.distance when 'cosine' then '<=>' when 'l2' then '<->' else '<#>' end, v_index.vector_type);
  -- The cosine distance of a vector of zeros is NaN, which is no number to return: it is as near as a right angle. No index
  -- has such vectors.
  if v_index.distance = 'cosine' then
    v_exact := format('coalesce(nullif(%s, ''NaN''), 1)', v_indexed);
    v_most := 1;
  else
    v_exact := format('0 + (%s)', v_indexed);
  end if;

  -- More than asked for, since an iterative scan finds its later batches only nearly in order.
  v_candidates := ceil(greatest(2 * p_limit, p_limit + 10) * v_index.vectors_per_item);
  v_least := greatest(500, sqrt(4 * p_limit * v_index.vectors));
  v_large := case
    when p_prefix = '' and v_index.vectors / v_index.vectors_per_item > 2 * v_least then true
    else @extschema@.store_has_more_than(p_prefix, v_least)
  end;
  if v_large and v_index.method <> 'flat' and v_candidates <= 250
    and string_to_array(v_index.vector_version, '.')::integer[] >= '{0,8}'
  then
    v_reach := @extschema@.store_vector_reach(p_prefix, p_condition, v_candidates, v_index.vectors, v_least);
  end if;
  if v_reach > 0 or p_condition is null then
    v_options := array_to_string(v_index.options, ' ');
    -- The less effort went into building a graph, or the farther the way, the more it takes not to get lost in it.
    v_effort := case v_index.method
      when 'hnsw' then least(greatest(100, 8000 / coalesce(substring(v_options from 'ef_construction=(\d+)')::integer, 64),
        4 * v_candidates, least(v_reach / 3, 400)), 1000)
      else greatest(20, coalesce(substring(v_options from 'lists=(\d+)')::integer, 100) / 10)
    end;
    select s.prefixes, s.keys, s.distances into prefixes, keys, scores
    from @extschema@.store_vector_scan(p_prefix, p_condition,
      case when v_reach > 0 then v_indexed else v_exact end, p_query, p_limit, case when v_reach > 0 then v_index.method end,
      v_candidates, v_reach, v_effort,
      case when v_index.distance = 'cosine' and v_reach > 0 then 1 else double precision 'infinity' end) s;
  end if;

  if prefixes is null then
    if v_large and @extschema@.store_has_filter_index() then
      v_narrowing := @extschema@.store_filter_narrowing(p_filter);
    end if;
    execute format($sql$
      select array_agg(c.prefix), array_agg(c.key), array_agg(c.distance)
      from (
        select s.prefix, s.key, (
          select min(%1$s) from %2$s.store_vectors v where v.prefix = s.prefix and v.key = s.key
        ) as distance
        from %2$s.store s
        where %3$s
        order by distance, s.prefix, s.key
        limit $2
      ) c
      where c.distance is not null
      $sql$, v_exact, '@extschema@'::text, concat_ws(' and ', '(s.expires_at is null or s.expires_at > now())',
        @extschema@.store_prefix_condition('s', p_prefix), p_condition, v_narrowing))
    into prefixes, keys, scores
    using p_query, p_limit;
  end if;
  scores := array(select v_most - d.distance from unnest(scores) with ordinality d (distance, position) order by d.position);
end
$fn$;

comment on function @extschema@.store_vector_matches(text, jsonb, text, real[], bigint) is
  'Part of store_search: the items nearest to a vector, each by its best vector.';
revoke all on function @extschema@.store_vector_matches(text, jsonb, text, real[], bigint) from public;
