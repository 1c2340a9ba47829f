-- Reads JSON as Python and JavaScript write it, which is more than jsonb takes: an escaped NUL and a surrogate without its
-- other half (half an emoji, where a stream was cut) become U+FFFD, and NaN, Infinity and -Infinity become strings.
-- An escaped backslash before an escape is not part of it, so each pattern counts backslashes.
-- Locks: none. Errors: 22P02 for damaged JSON; 22021 for strings that are not UTF-8.
create or replace function @extschema@.json_to_jsonb(p_bytes bytea)
returns jsonb
language plpgsql
immutable
strict
parallel safe
security invoker
cost 1000
as $fn$
declare
  v_json text := @extschema@.utf8_without_nul(p_bytes);
begin
  if v_json ~ '\\u0000' then
    v_json := regexp_replace(v_json, '(?<!\\)((?:\\\\)*)\\u0000', '\1\\ufffd', 'g');
  end if;
  if v_json ~* '\\ud[89a-f]' then
    v_json := regexp_replace(v_json,
      '(?<!\\)((?:\\\\)*)\\u[dD][89abAB][[:xdigit:]]{2}(?!\\u[dD][c-fC-F][[:xdigit:]]{2})', '\1\\ufffd', 'g');
    v_json := regexp_replace(v_json,
      '(?<!\\)(?<![^\\](?:\\\\)*\\u[dD][89abAB][[:xdigit:]]{2})((?:\\\\)*)\\u[dD][c-fC-F][[:xdigit:]]{2}', '\1\\ufffd', 'g');
  end if;
  if v_json ~ 'NaN|Infinity' then
    -- Token by token, because the same letters in a string are text.
    select string_agg(case when t.token[1] in ('NaN', 'Infinity', '-Infinity') then '"' || t.token[1] || '"'
      else t.token[1] end, '' order by t.position)
    into v_json
    from regexp_matches(v_json, '("(?:[^"\\]|\\.)*"|NaN|-?Infinity|[^"NI-]+|.)', 'g') with ordinality t (token, position);
  end if;
  return v_json::jsonb;
end
$fn$;

comment on function @extschema@.json_to_jsonb(bytea) is
  'Reads JSON of Python and JavaScript as jsonb; what jsonb cannot hold becomes U+FFFD or a string.';
revoke all on function @extschema@.json_to_jsonb(bytea) from public;
