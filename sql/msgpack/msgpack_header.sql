-- The header of a MessagePack 'map' or 'array' with so many entries, in its shortest form.
-- Locks: none. Errors: none.
create or replace function @extschema@.msgpack_header(p_kind text, p_count integer)
returns bytea
language sql
immutable
strict
parallel safe
security invoker
as $fn$
  select decode(case
    when p_count < 16 then to_hex(case p_kind when 'map' then 128 else 144 end + p_count)
    when p_count < 65536 then case p_kind when 'map' then 'de' else 'dc' end || lpad(to_hex(p_count), 4, '0')
    else case p_kind when 'map' then 'df' else 'dd' end || lpad(to_hex(p_count), 8, '0')
  end, 'hex')
$fn$;

comment on function @extschema@.msgpack_header(text, integer) is
  'The shortest header of a MessagePack map or array with so many entries.';
revoke all on function @extschema@.msgpack_header(text, integer) from public;
