-- Takes a retention policy away, and says whether there was one.
-- Locks: the policy's row. Errors: none.
create or replace function @extschema@.drop_retention_policy(p_name text)
returns boolean
language plpgsql
volatile
parallel unsafe
security invoker
set search_path = ''
as $fn$
begin
  delete from @extschema@.retention_policies p where p.name = p_name;
  return found;
end
$fn$;

comment on function @extschema@.drop_retention_policy(text) is
  'Takes a retention policy away; says whether there was one.';
revoke all on function @extschema@.drop_retention_policy(text) from public;
