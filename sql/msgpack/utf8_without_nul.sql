-- Text of UTF-8 bytes that contain NUL, which Postgres text cannot hold: each NUL becomes U+FFFD, the replacement character.
-- Locks: none. Errors: 22021 for bytes that are not UTF-8.
create or replace function @extschema@.utf8_without_nul(p_bytes bytea)
returns text
language plpgsql
immutable
strict
parallel safe
security invoker
as $fn$
declare
  v_bytes bytea := p_bytes;
  v_at integer;
begin
  loop
    v_at := position('\x00'::bytea in v_bytes);
    exit when v_at = 0;
    v_bytes := overlay(v_bytes placing '\xefbfbd'::bytea from v_at for 1);
  end loop;
  return convert_from(v_bytes, 'UTF8');
end
$fn$;

comment on function @extschema@.utf8_without_nul(bytea) is
  'Text of UTF-8 bytes, with U+FFFD where they contain NUL.';
revoke all on function @extschema@.utf8_without_nul(bytea) from public;
