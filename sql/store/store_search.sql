-- Searches the items of a namespace and those below it, best first; ties go by prefix and key.
--   p_prefix        labels joined by "."; whole labels match; '' is everything
--   p_filter        see store_filter_condition
--   p_query_vector  of the dimensions of the vector index; p_query_text in plain words
--   p_mode          'vector', 'text', 'hybrid' (reciprocal rank fusion of both) or 'none' (most recently updated first); null
--                   goes by which queries are there
--   score           the higher the better: cosine similarity, inner product or minus the distance; rank of text; null without query
-- Locks: the items whose TTL it refreshes. Errors: LG002, LG004.
create or replace function @extschema@.store_search(
  p_prefix text,
  p_filter jsonb default null,
  p_limit integer default 10,
  p_offset integer default 0,
  p_refresh_ttl boolean default true,
  p_query_vector real[] default null,
  p_query_text text default null,
  p_mode text default null
)
returns table (prefix text, key text, value jsonb, created_at timestamptz, updated_at timestamptz, score double precision)
language plpgsql
volatile
parallel unsafe
security invoker
rows 10
set jit = off
as $fn$
#variable_conflict use_column
declare
  v_mode text := coalesce(p_mode, case
    when p_query_vector is not null and p_query_text is not null then 'hybrid'
    when p_query_vector is not null then 'vector'
    when p_query_text is not null then 'text'
    else 'none' end);
  v_filter text := @extschema@.store_filter_condition(p_filter);
  v_conditions text;
  v_first integer := least(p_offset, 2147483646) + 1;
  v_prefixes text[];
  v_keys text[];
  v_scores double precision[];
  v_expires boolean;
  v_expiring boolean := false;
begin
  if p_prefix is null or p_limit is null or p_limit < 0 or p_offset is null or p_offset < 0 or p_refresh_ttl is null then
    perform @extschema@.reject_argument('search',
      format('prefix %L, limit %L, offset %L, refresh_ttl %L.', p_prefix, p_limit, p_offset, p_refresh_ttl),
      'None may be null; the prefix of everything is empty; limit and offset are not negative.');
  end if;
  if v_mode not in ('vector', 'text', 'hybrid', 'none') or (v_mode in ('vector', 'hybrid') and p_query_vector is null)
    or (v_mode in ('text', 'hybrid') and p_query_text is null) then
    perform @extschema@.reject_argument('mode', format('Mode %L with %s query vector and %s query text.', v_mode,
        case when p_query_vector is null then 'no' else 'a' end, case when p_query_text is null then 'no' else 'a' end),
      'Mode is vector, text, hybrid or none; vector and hybrid need a query vector, text and hybrid a query text.');
  end if;
  v_conditions := concat_ws(' and ', '(s.expires_at is null or s.expires_at > now())',
    @extschema@.store_prefix_condition('s', p_prefix), v_filter);

  case v_mode
    when 'none' then
      -- Without an index that serves it, or in a small namespace, it only costs.
      if v_filter is not null and @extschema@.store_has_more_than(p_prefix, 1000) and @extschema@.store_has_filter_index() then
        v_conditions := concat_ws(' and ', v_conditions, @extschema@.store_filter_narrowing(p_filter));
      end if;
      execute format($sql$
        select array_agg(c.prefix), array_agg(c.key), array_fill(null::double precision, array[count(*)::integer])
        from (
          select s.prefix, s.key
          from %s.store s
          where %s
          order by s.updated_at desc, s.prefix, s.key
          limit $1 offset $2
        ) c
        $sql$, '@extschema@'::text, v_conditions)
      into v_prefixes, v_keys, v_scores
      using p_limit, p_offset;
    when 'hybrid' then
      select array_agg(c.prefix order by c.position), array_agg(c.key order by c.position), array_agg(c.score order by c.position)
      into v_prefixes, v_keys, v_scores
      from (
        select c.prefix, c.key, sum(1.0 / (60 + c.rank))::double precision as score,
          row_number() over (order by sum(1.0 / (60 + c.rank)) desc, c.prefix, c.key) as position
        from (
          select v.prefix, v.key, v.rank
          from @extschema@.store_vector_matches(p_prefix, p_filter, v_filter, p_query_vector, greatest(2 * (p_limit::bigint + p_offset), 50)) m
          cross join unnest(m.prefixes, m.keys) with ordinality v (prefix, key, rank)
          union all
          select t.prefix, t.key, t.rank
          from @extschema@.store_text_matches(v_conditions, p_query_text, greatest(2 * (p_limit::bigint + p_offset), 50)) t
        ) c
        group by c.prefix, c.key
        order by position
        limit p_limit offset p_offset
      ) c;
    when 'vector' then
      select c.prefixes[v_first:], c.keys[v_first:], c.scores[v_first:]
      into v_prefixes, v_keys, v_scores
      from @extschema@.store_vector_matches(p_prefix, p_filter, v_filter, p_query_vector, p_limit::bigint + p_offset) c;
    else
      select array_agg(c.prefix order by c.rank), array_agg(c.key order by c.rank), array_agg(c.score order by c.rank)
      into v_prefixes, v_keys, v_scores
      from @extschema@.store_text_matches(v_conditions, p_query_text, p_limit::bigint + p_offset) c
      where c.rank > p_offset;
  end case;

  for prefix, key, value, created_at, updated_at, score, v_expires in
    select s.prefix, s.key, s.value, s.created_at, s.updated_at, c.score, s.ttl_minutes is not null
    from unnest(v_prefixes, v_keys, v_scores) with ordinality c (prefix, key, score, position)
    join @extschema@.store s on s.prefix = c.prefix and s.key = c.key
    order by c.position
  loop
    v_expiring := v_expiring or v_expires;
    return next;
  end loop;
  if p_refresh_ttl and v_expiring then
    perform @extschema@.store_refresh(v_prefixes, v_keys);
  end if;
end
$fn$;

comment on function @extschema@.store_search(text, jsonb, integer, integer, boolean, real[], text, text) is
  'Searches a namespace and those below it by filter and by vector, text, both or time of update, best first.';
revoke all on function @extschema@.store_search(text, jsonb, integer, integer, boolean, real[], text, text) from public;
