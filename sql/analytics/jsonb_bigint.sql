-- A whole number in jsonb as bigint; NULL for anything else, and for numbers that bigint does not hold.
-- Locks: none. Errors: none.
create or replace function @extschema@.jsonb_bigint(p_value jsonb)
returns bigint
language sql
immutable
strict
parallel safe
security invoker
as $fn$
  select case when jsonb_typeof(p_value) = 'number' and abs((p_value #>> '{}')::numeric) < 9223372036854775807
    then trunc((p_value #>> '{}')::numeric)::bigint end
$fn$;

comment on function @extschema@.jsonb_bigint(jsonb) is 'A number in jsonb as bigint; null for anything else.';
revoke all on function @extschema@.jsonb_bigint(jsonb) from public;
