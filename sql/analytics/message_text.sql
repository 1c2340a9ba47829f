-- The text of a message's content: the content itself where it is text, its text parts joined with line breaks where it is a
-- list of parts; parts that are not text (images, calls of tools) are left out. NULL where there is no text.
-- Locks: none. Errors: none.
create or replace function @extschema@.message_text(p_content jsonb)
returns text
language sql
immutable
parallel safe
security invoker
as $fn$
  select case jsonb_typeof(p_content)
    when 'string' then p_content #>> '{}'
    when 'array' then (
      select string_agg(case jsonb_typeof(p.part) when 'string' then p.part #>> '{}' else p.part ->> 'text' end, E'\n'
        order by p.position)
      from jsonb_array_elements(p_content) with ordinality p (part, position)
      where jsonb_typeof(p.part) = 'string' or jsonb_typeof(p.part -> 'text') = 'string'
    )
  end
$fn$;

comment on function @extschema@.message_text(jsonb) is 'The text of a message''s content, whether that is text or a list of parts.';
revoke all on function @extschema@.message_text(jsonb) from public;
