-- Lists the namespaces that have items, sorted by byte. Expired items give none.
--   p_match_types, p_match_paths  parallel: 'prefix' or 'suffix', and labels joined by ".", of which "*" stands for any one;
--                                 all have to match, and an empty path matches everything
--   p_max_depth                   cuts longer namespaces to so many labels; each comes once
-- It goes from one namespace to the next by the primary key, so that it costs what there are of namespaces below the
-- labels with which a prefix begins, not of items, and stops after the limit. Where namespaces are small, reading the index
-- on end costs less than going from one to the next.
-- Locks: none. Errors: LG002.
create or replace function @extschema@.store_list_namespaces(
  p_match_types text[] default '{}',
  p_match_paths text[] default '{}',
  p_max_depth integer default null,
  p_limit integer default 100,
  p_offset integer default 0
)
returns table (namespace text)
language plpgsql
stable
parallel safe
security invoker
rows 100
set jit = off
-- A bitmap reads all that a prefix has before the first row; before the first analyze it looks cheap.
set enable_bitmapscan = off
set enable_seqscan = off
as $fn$
declare
  v_wanted bigint := p_limit::bigint + p_offset;
  v_patterns text[];
  v_root text collate "C";            -- the labels below which all that match are; empty for everything
  v_decisive integer;                 -- how many labels decide whether a namespace matches; null for all of them
  v_from text collate "C";
  v_below text collate "C";
  v_namespace text collate "C";
  v_found text[] := '{}';
  v_enough bigint := v_wanted;        -- how many have to be found for the limit, counting those found twice
  v_distinct bigint;
  v_last text collate "C";
  v_complete_at text collate "C";     -- from here on comes nothing that belongs before the last one wanted
begin
  if p_limit is null or p_limit < 0 or p_offset is null or p_offset < 0 or p_max_depth < 1 then
    perform @extschema@.reject_argument('list of namespaces',
      format('max_depth %L, limit %L, offset %L.', p_max_depth, p_limit, p_offset),
      'max_depth is at least 1, or null for no cut; limit and offset are not negative.');
  end if;
  select m.patterns, m.root, m.decisive into v_patterns, v_root, v_decisive
  from @extschema@.store_namespace_patterns(p_match_types, p_match_paths) m;
  if v_wanted = 0 then
    return;
  end if;

  -- "/" is the character after "."; U+10FFFF is above every label.
  v_below := case v_root when '' then U&'\+10FFFF\+10FFFF' else v_root || '/' end;
  v_from := case v_root when '' then '' else v_root || '.' end;
  if p_max_depth is null and (v_decisive is null or v_decisive <= coalesce(cardinality(string_to_array(v_root, '.')), 0)) and (
    select count(*) < 40 * count(distinct i.prefix)
    from (select s.prefix from @extschema@.store s where s.prefix >= v_from and s.prefix < v_below order by s.prefix limit 1000) i
  ) then
    v_found := array(
      select d.namespace
      from (
        -- "offset 0", for else the patterns would be tried on every item instead of every namespace.
        select distinct s.prefix as namespace
        from @extschema@.store s
        where s.prefix >= v_from and s.prefix < v_below
        order by 1
        offset 0
      ) d
      where d.namespace ~ all (v_patterns)
        -- A value, for a join could lose the order, and not stop after the limit.
        and (
          select true
          from @extschema@.store s
          where s.prefix = d.namespace
            and (s.expires_at is null or s.expires_at > now())
          limit 1
        )
      order by d.namespace
      limit v_wanted
    );
    if v_root <> '' and v_root ~ all (v_patterns) and exists (
      select
      from @extschema@.store s
      where s.prefix = v_root
        and (s.expires_at is null or s.expires_at > now())
    ) then
      v_found := v_root || v_found;
    end if;
    return query
    select f.namespace from unnest(v_found) with ordinality f (namespace, position) order by f.position limit p_limit offset p_offset;
    return;
  end if;

  for v_namespace, v_from in
    with recursive walk (namespace, matches, next) as (
      select v_root, false, v_root
      union all
      select c.namespace, s.matches,
        case
          -- Between "a" and "a." comes "a-b".
          when s.prefix > v_root and s.prefix < v_root || '.' and v_root <> '' then v_root || '.'
          -- Past everything below, or to what is next: nothing sorts between a text and itself with the least character.
          when s.prefix > c.namespace then c.namespace || '/'
          else s.prefix || U&'\0001'
        end
      from walk w
      cross join lateral (
        select s.prefix, s.prefix ~ all (v_patterns) as matches
        from @extschema@.store s
        where s.prefix >= w.next
          and s.prefix < v_below
          and (s.expires_at is null or s.expires_at > now())
        order by s.prefix
        limit 1
      ) s
      cross join lateral (select case when s.matches then p_max_depth else v_decisive end as depth) d
      cross join lateral (
        select (case
          when d.depth is null then s.prefix
          else array_to_string((string_to_array(s.prefix, '.'))[:d.depth], '.')
        end) collate "C" as namespace
      ) c
    )
    select w.namespace, w.next from walk w where w.matches
  loop
    v_found := v_found || v_namespace;
    if cardinality(v_found) >= v_enough and (v_complete_at is null or v_from >= v_complete_at) then
      exit when p_max_depth is null;
      select max(f.namespace), count(*) into v_last, v_distinct
      from (select distinct f.namespace collate "C" as namespace from unnest(v_found) f (namespace) order by 1 limit v_wanted) f;
      v_enough := cardinality(v_found) + v_wanted - v_distinct;
      -- "a-b" is found before "a", if that is cut from "a.c": so "a", and what begins so, has to be passed as well.
      v_complete_at := case when v_distinct = v_wanted then
        coalesce(substring(v_last from '^((?:[^.]+\.){' || p_max_depth - 1 || '}[^.][^\x01-\x2d.]*)[\x01-\x2d]'), v_last) || '/' end;
      exit when v_from >= v_complete_at;
    end if;
  end loop;
  return query
  select distinct f.namespace collate "C" as namespace from unnest(v_found) f (namespace) order by 1 limit p_limit offset p_offset;
end
$fn$;

comment on function @extschema@.store_list_namespaces(text[], text[], integer, integer, integer) is
  'Namespaces that have items, sorted, narrowed by prefix and suffix patterns and cut to a depth.';
revoke all on function @extschema@.store_list_namespaces(text[], text[], integer, integer, integer) from public;
