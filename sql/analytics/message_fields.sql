-- The fields of a message, whatever holds them: kwargs in the JSON of LangChain, the object itself elsewhere; with "type" for
-- the class where it stands beside the fields.
-- Locks: none. Errors: none.
create or replace function @extschema@.message_fields(p_message jsonb)
returns jsonb
language sql
immutable
parallel safe
security invoker
as $fn$
  select case
    when p_message ->> 'type' = 'constructor' and jsonb_typeof(p_message -> 'kwargs') = 'object'
      then jsonb_build_object('type', p_message #>> '{id,-1}') || (p_message -> 'kwargs')
    else p_message
  end
$fn$;

comment on function @extschema@.message_fields(jsonb) is 'The fields of a message in whichever encoding.';
revoke all on function @extschema@.message_fields(jsonb) from public;
