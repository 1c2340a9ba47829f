-- Merges two MessagePack values as states merge: of two maps, the later entry of a key wins, in the place of the first; two
-- arrays are joined; of anything else the later value stands. Elements are moved as bytes, never decoded.
-- Keys are equal when their bytes are.
-- Locks: none. Errors: LG006 for bytes that end too early.
create or replace function @extschema@.msgpack_merge(p_first bytea, p_second bytea)
returns bytea
language plpgsql
immutable
strict
parallel safe
security invoker
set search_path = ''
as $fn$
declare
  v_first text := @extschema@.msgpack_kind(p_first);
  v_count integer;
  v_body bytea;
begin
  if v_first is null or v_first is distinct from @extschema@.msgpack_kind(p_second) then
    return p_second;
  end if;
  if v_first = 'array' then
    select count(*), string_agg(i.value, ''::bytea order by i.part, i.ordinal) into v_count, v_body
    from (
      select 1 as part, f.ordinal, f.value from @extschema@.msgpack_items(p_first) f
      union all
      select 2, s.ordinal, s.value from @extschema@.msgpack_items(p_second) s
    ) i;
    return @extschema@.msgpack_header('array', v_count) || coalesce(v_body, '');
  end if;
  select count(*), string_agg(k.key || k.value, ''::bytea order by k.place) into v_count, v_body
  from (
    select i.key, min(i.part * 4294967296 + i.ordinal) as place,
      (array_agg(i.value order by i.part desc, i.ordinal desc))[1] as value
    from (
      select 1::bigint as part, f.ordinal, f.key, f.value from @extschema@.msgpack_items(p_first) f
      union all
      select 2, s.ordinal, s.key, s.value from @extschema@.msgpack_items(p_second) s
    ) i
    group by i.key
  ) k;
  return @extschema@.msgpack_header('map', v_count) || coalesce(v_body, '');
end
$fn$;

comment on function @extschema@.msgpack_merge(bytea, bytea) is
  'Merges two MessagePack values: maps by key, arrays joined, otherwise the second; without decoding elements.';
revoke all on function @extschema@.msgpack_merge(bytea, bytea) from public;
