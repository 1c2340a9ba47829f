-- The product of two unsigned 64-bit numbers: its lower and its upper 64 bits.
-- Locks: none. Errors: none.
create or replace function @extschema@.u64_product(p_a bigint, p_b bigint)
returns bigint[]
language plpgsql
immutable
strict
parallel safe
security invoker
as $fn$
declare
  v_a numeric := case when p_a < 0 then p_a + 18446744073709551616 else p_a end;
  v_b numeric := case when p_b < 0 then p_b + 18446744073709551616 else p_b end;
  v_product numeric := v_a * v_b;
  v_high numeric := div(v_product, 18446744073709551616);
  v_low numeric := v_product - v_high * 18446744073709551616;
begin
  return array[
    case when v_low >= 9223372036854775808 then v_low - 18446744073709551616 else v_low end::bigint,
    case when v_high >= 9223372036854775808 then v_high - 18446744073709551616 else v_high end::bigint
  ];
end
$fn$;

comment on function @extschema@.u64_product(bigint, bigint) is
  'The lower and the upper 64 bits of the product of two unsigned 64-bit numbers.';
revoke all on function @extschema@.u64_product(bigint, bigint) from public;
