-- Who speaks in a message: human, ai, tool, system, function, remove (an instruction to remove a message), or the name that a
-- chat message gives. user, assistant and developer count as human, ai and system, and a piece of a streamed message as the
-- whole.
-- Locks: none. Errors: none.
create or replace function @extschema@.message_role(p_fields jsonb)
returns text
language sql
immutable
parallel safe
security invoker
as $fn$
  select case r.name
    when 'user' then 'human'
    when 'assistant' then 'ai'
    when 'developer' then 'system'
    when 'chat' then coalesce(p_fields ->> 'role', r.name)
    else r.name
  end
  from (
    select lower(regexp_replace(
      coalesce(p_fields ->> 'type', p_fields ->> 'role', substring(p_fields ->> 'lc_type' from '[^.]*$')),
      '(Message)?(Chunk)?$', ''
    )) as name
  ) r
$fn$;

comment on function @extschema@.message_role(jsonb) is 'Who speaks in a message: human, ai, tool, system, function, remove, or a name.';
revoke all on function @extschema@.message_role(jsonb) from public;
