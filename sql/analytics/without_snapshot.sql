-- The value in the snapshot of a delta channel; any other value as it is.
-- Locks: none. Errors: none.
create or replace function @extschema@.without_snapshot(p_value jsonb)
returns jsonb
language sql
immutable
parallel safe
security invoker
as $fn$
  select case when p_value ->> 'lc_type' = 'langgraph.checkpoint.serde.types._DeltaSnapshot' then p_value #> '{args,0}'
    else p_value end
$fn$;

comment on function @extschema@.without_snapshot(jsonb) is 'The value in the snapshot of a delta channel; any other value as it is.';
revoke all on function @extschema@.without_snapshot(jsonb) from public;
