-- Part of store_list_namespaces: its conditions as regular expressions that all have to match a namespace; the labels with
-- which all that match begin; how many labels decide, null where the last ones count.
-- Locks: none. Errors: LG002.
create or replace function @extschema@.store_namespace_patterns(p_match_types text[], p_match_paths text[])
returns table (patterns text[], root text, decisive integer)
language plpgsql
immutable
parallel safe
security invoker
rows 1
as $fn$
begin
  if p_match_types is null or cardinality(p_match_types) is distinct from cardinality(p_match_paths) then
    perform @extschema@.reject_argument('match conditions',
      format('There are %s types and %s paths.', coalesce(cardinality(p_match_types)::text, 'null'),
        coalesce(cardinality(p_match_paths)::text, 'null')),
      'Pass arrays of one length.');
  end if;
  perform @extschema@.reject_argument('match condition', format('Type %L, path %L.', m.type, m.path),
    'The type is prefix or suffix; the path is labels joined by ".", none of them empty, where "*" stands for any one.')
  from unnest(p_match_types, p_match_paths) m (type, path)
  where m.type is null or m.type not in ('prefix', 'suffix') or m.path is null or (m.path <> '' and '.' || m.path || '.' like '%..%');

  return query
  select coalesce(array_agg(case m.type when 'prefix' then '^' || l.pattern || '(\.|$)' else '(^|\.)' || l.pattern || '$' end), '{}'),
    -- The longest of all: where they differ, nothing matches.
    coalesce((array_agg(l.root order by length(l.root) desc) filter (where m.type = 'prefix'))[1], ''),
    case when bool_or(m.type = 'suffix') then null else coalesce(max(l.labels), 0)::integer end
  from unnest(p_match_types, p_match_paths) m (type, path)
  cross join lateral (
    select count(*) as labels,
      string_agg(case l.label when '*' then '[^.]+' else regexp_replace(l.label, '([][\\^$.|?*+(){}-])', '\\\1', 'g') end, '\.'
        order by l.position) as pattern,
      coalesce(string_agg(l.label, '.' order by l.position) filter (where l.position < l.wildcard), '') as root
    from (
      select l.label, l.position, coalesce(min(l.position) filter (where l.label = '*') over (), 2147483647) as wildcard
      from unnest(string_to_array(m.path, '.')) with ordinality l (label, position)
    ) l
  ) l
  where m.path <> '';
end
$fn$;

comment on function @extschema@.store_namespace_patterns(text[], text[]) is
  'Part of store_list_namespaces: its conditions as regular expressions, and the labels that all matches begin with.';
revoke all on function @extschema@.store_namespace_patterns(text[], text[]) from public;
