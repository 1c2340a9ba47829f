-- The sum of two unsigned 64-bit numbers, without the carry: bigint would overflow.
-- Locks: none. Errors: none.
create or replace function @extschema@.u64_add(p_a bigint, p_b bigint)
returns bigint
language sql
immutable
strict
parallel safe
security invoker
as $fn$
  select (((p_a >> 32) + (p_b >> 32) + (((p_a & 4294967295) + (p_b & 4294967295)) >> 32)) << 32)
    | (((p_a & 4294967295) + (p_b & 4294967295)) & 4294967295)
$fn$;

comment on function @extschema@.u64_add(bigint, bigint) is
  'The lower 64 bits of the sum of two unsigned 64-bit numbers.';
revoke all on function @extschema@.u64_add(bigint, bigint) from public;
