-- The last step of XXH3, by which every bit of its state comes to bear on every bit of the hash.
-- Locks: none. Errors: none.
create or replace function @extschema@.xxh3_avalanche(p_hash bigint)
returns bigint
language plpgsql
immutable
strict
parallel safe
security invoker
as $fn$
declare
  v_hash bigint := p_hash # ((p_hash >> 37) & 134217727);
begin
  v_hash := (@extschema@.u64_product(v_hash, 1609587791953885689))[1];
  return v_hash # ((v_hash >> 32) & 4294967295);
end
$fn$;

comment on function @extschema@.xxh3_avalanche(bigint) is
  'The last step of XXH3.';
revoke all on function @extschema@.xxh3_avalanche(bigint) from public;
