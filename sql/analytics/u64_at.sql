-- The 64 bits of eight bytes, the lowest first; of u64 values in this directory only the bits count, not the sign.
-- Locks: none. Errors: 2202E where there are fewer than eight bytes.
create or replace function @extschema@.u64_at(p_bytes bytea, p_offset integer)
returns bigint
language sql
immutable
strict
parallel safe
security invoker
as $fn$
  select (get_byte(p_bytes, p_offset + 7)::bigint << 56) | (get_byte(p_bytes, p_offset + 6)::bigint << 48)
    | (get_byte(p_bytes, p_offset + 5)::bigint << 40) | (get_byte(p_bytes, p_offset + 4)::bigint << 32)
    | (get_byte(p_bytes, p_offset + 3)::bigint << 24) | (get_byte(p_bytes, p_offset + 2)::bigint << 16)
    | (get_byte(p_bytes, p_offset + 1)::bigint << 8) | get_byte(p_bytes, p_offset)::bigint
$fn$;

comment on function @extschema@.u64_at(bytea, integer) is
  'The 64 bits of eight bytes of a value, the lowest byte first.';
revoke all on function @extschema@.u64_at(bytea, integer) from public;
