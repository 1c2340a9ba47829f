-- The IEEE 754 number whose bits are given: msgpack keeps floats as raw bytes, and SQL has no cast from bits to float.
-- p_bits holds a double (p_width 64) or, in its low half, a single (p_width 32).
-- Locks: none. Errors: none.
create or replace function @extschema@.msgpack_float(p_bits bigint, p_width integer)
returns double precision
language plpgsql
immutable
strict
parallel safe
security invoker
as $fn$
declare
  v_fraction_bits integer := case p_width when 64 then 52 else 23 end;
  v_exponent_mask integer := case p_width when 64 then 2047 else 255 end;
  v_exponent integer := ((p_bits >> v_fraction_bits) & v_exponent_mask)::integer;
  v_fraction bigint := p_bits & ((1::bigint << v_fraction_bits) - 1);
  v_negative boolean := (p_bits >> (p_width - 1)) & 1 = 1;
  v_power integer;
  v_value double precision;
begin
  if v_exponent = v_exponent_mask then
    return case when v_fraction <> 0 then 'NaN' when v_negative then '-Infinity' else 'Infinity' end::double precision;
  end if;
  if v_exponent > 0 then
    v_fraction := v_fraction | (1::bigint << v_fraction_bits);
  else
    v_exponent := 1;
  end if;
  v_power := v_exponent - v_fraction_bits - v_exponent_mask / 2;
  -- In two steps, because a power below -1022 would be rounded before it is multiplied.
  if v_power < -1000 then
    v_value := v_fraction::double precision * 2::double precision ^ (v_power + 60) * 2::double precision ^ (-60);
  else
    v_value := v_fraction::double precision * 2::double precision ^ v_power;
  end if;
  return case when v_negative then -v_value else v_value end;
end
$fn$;

comment on function @extschema@.msgpack_float(bigint, integer) is
  'The IEEE 754 number with the given bits, 32 or 64 wide.';
revoke all on function @extschema@.msgpack_float(bigint, integer) from public;
