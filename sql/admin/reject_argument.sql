-- Raises LG002 for an argument that cannot be used; one place, so that every function says it in the same words.
-- Locks: none. Errors: LG002, always.
create or replace function @extschema@.reject_argument(p_name text, p_detail text, p_hint text default null)
returns void
language plpgsql
immutable
parallel safe
security invoker
set search_path = ''
as $fn$
begin
  raise exception using
    errcode = 'LG002',
    message = format('invalid %s', p_name),
    detail = p_detail,
    hint = coalesce(p_hint, '');
end
$fn$;

comment on function @extschema@.reject_argument(text, text, text) is 'Raises LG002: the named argument cannot be used.';
revoke all on function @extschema@.reject_argument(text, text, text) from public;
