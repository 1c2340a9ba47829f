-- A step of XXH3: the two halves of a product, one laid over the other.
-- Locks: none. Errors: none.
create or replace function @extschema@.xxh3_fold(p_a bigint, p_b bigint)
returns bigint
language plpgsql
immutable
strict
parallel safe
security invoker
as $fn$
declare
  v_product bigint[] := @extschema@.u64_product(p_a, p_b);
begin
  return v_product[1] # v_product[2];
end
$fn$;

comment on function @extschema@.xxh3_fold(bigint, bigint) is
  'A step of XXH3: the exclusive or of the halves of a product of 64-bit numbers.';
revoke all on function @extschema@.xxh3_fold(bigint, bigint) from public;
