-- What tells one message of a list from another: its ID, or where it has none its content.
-- Locks: none. Errors: none.
create or replace function @extschema@.message_key(p_message jsonb)
returns text
language sql
immutable
parallel safe
security invoker
as $fn$
  select coalesce(@extschema@.message_fields(p_message) ->> 'id', md5(p_message::text))
$fn$;

comment on function @extschema@.message_key(jsonb) is 'What tells one message of a list from another: its ID, or its content.';
revoke all on function @extschema@.message_key(jsonb) from public;
