-- Reads a stored (type, blob) pair as jsonb, whatever serializer wrote it. What SQL cannot read (encrypted values, pickles,
-- types it does not know) becomes an object that says so. NULL for type 'empty', which means no value.
-- Locks: none. Errors: LG006 for damaged MessagePack; 22P02 for damaged JSON; 22021 for strings that are not UTF-8.
create or replace function @extschema@.value_to_jsonb(p_type text, p_blob bytea)
returns jsonb
language plpgsql
immutable
parallel safe
security invoker
cost 1000
as $fn$
begin
  case
    when p_type = 'msgpack' then
      return @extschema@.msgpack_to_jsonb(p_blob);
    when p_type = 'null' then
      return 'null'::jsonb;
    when p_type = 'empty' then
      return null;
    when p_type = 'json' then
      return @extschema@.json_to_jsonb(p_blob);
    when p_type in ('bytes', 'bytearray') then
      return jsonb_build_object('lc_type', 'builtins.' || p_type, 'base64', translate(encode(p_blob, 'base64'), E'\n', ''));
    when p_type like '%+%' then
      return jsonb_build_object('lc_type', 'encrypted', 'type', split_part(p_type, '+', 1),
        'cipher', split_part(p_type, '+', 2), 'bytes', length(p_blob));
    else
      return jsonb_build_object('lc_type', 'unreadable', 'type', p_type, 'bytes', length(p_blob));
  end case;
end
$fn$;

comment on function @extschema@.value_to_jsonb(text, bytea) is
  'Reads a stored (type, blob) pair as jsonb; encrypted, pickled and unknown values become an object that says so.';
revoke all on function @extschema@.value_to_jsonb(text, bytea) from public;
