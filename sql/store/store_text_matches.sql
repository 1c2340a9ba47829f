-- Part of store_search: the items that match a text, ranked from 1. One of its words is enough, more of them rank higher. With
-- a "phrase" or a -word it is read as a web search, and all of it has to match.
-- Locks: none. Errors: LG004.
create or replace function @extschema@.store_text_matches(p_conditions text, p_query text, p_limit bigint)
returns table (rank bigint, prefix text, key text, score double precision)
language plpgsql
volatile
parallel unsafe
security invoker
rows 10
set jit = off
as $fn$
#variable_conflict use_column
declare
  v_config regconfig := (select i.text_config::regconfig from @extschema@.store_info() i);
  v_query tsquery;
begin
  if v_config is null then
    perform @extschema@.reject_not_enabled('text search', 'enable_text_index');
  end if;
  -- Who writes quotes or a minus means them, as in a web search.
  if p_query ~ '"|(^|\s)-\S' then
    v_query := websearch_to_tsquery(v_config, p_query);
  else
    select string_agg('''' || replace(replace(l.lexeme, '\', '\\'), '''', '''''') || '''', ' | ')::tsquery into v_query
    from unnest(to_tsvector(v_config, p_query)) l;
  end if;
  return query execute format($sql$
    select row_number() over (order by c.score desc, c.prefix, c.key), c.prefix, c.key, c.score
    from (
      select s.prefix, s.key, ts_rank(s.text_search, $1, 1)::double precision as score
      from %s.store s
      where s.text_search @@ $1 and %s
    ) c
    order by c.score desc, c.prefix, c.key
    limit $2
    $sql$, '@extschema@'::text, p_conditions)
  using v_query, p_limit;
end
$fn$;

comment on function @extschema@.store_text_matches(text, text, bigint) is
  'Part of store_search: the items that match a text, best first.';
revoke all on function @extschema@.store_text_matches(text, text, bigint) from public;
