-- Whether a decoded value is a message: a LangChain message as MessagePack or JSON holds it, or a plain object with role (or
-- type) and content.
-- Locks: none. Errors: none.
create or replace function @extschema@.is_message(p_value jsonb)
returns boolean
language sql
immutable
parallel safe
security invoker
as $fn$
  select coalesce(jsonb_typeof(p_value) = 'object' and case
    when p_value ? 'lc_type' then p_value ->> 'lc_type' ~ '^langchain(_core)?\..*Message(Chunk)?$'
    when p_value ->> 'type' = 'constructor' then p_value #>> '{id,-1}' ~ 'Message(Chunk)?$'
    else p_value ? 'content' and coalesce(p_value ->> 'role', p_value ->> 'type') in ('human', 'user', 'ai', 'assistant',
      'tool', 'system', 'developer', 'function', 'remove', 'chat')
  end, false)
$fn$;

comment on function @extschema@.is_message(jsonb) is
  'Whether a decoded value is a message: of LangChain in either encoding, or an object with role and content.';
revoke all on function @extschema@.is_message(jsonb) from public;
