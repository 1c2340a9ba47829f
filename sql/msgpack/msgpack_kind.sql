-- Whether MessagePack is a 'map' or an 'array'; null for anything else.
-- Locks: none. Errors: none.
create or replace function @extschema@.msgpack_kind(p_bytes bytea)
returns text
language sql
immutable
strict
parallel safe
security invoker
as $fn$
  select case
    when length(p_bytes) = 0 then null
    when get_byte(p_bytes, 0) between 128 and 143 or get_byte(p_bytes, 0) in (222, 223) then 'map'
    when get_byte(p_bytes, 0) between 144 and 159 or get_byte(p_bytes, 0) in (220, 221) then 'array'
  end
$fn$;

comment on function @extschema@.msgpack_kind(bytea) is 'Whether MessagePack is a map or an array; null for anything else.';
revoke all on function @extschema@.msgpack_kind(bytea) from public;
