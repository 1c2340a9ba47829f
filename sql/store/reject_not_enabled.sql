-- Raises LG004 for a feature that this schema does not have yet; one place, so that it is always said in the same words.
-- Locks: none. Errors: LG004, always.
create or replace function @extschema@.reject_not_enabled(p_feature text, p_function text)
returns void
language plpgsql
immutable
parallel safe
security invoker
set search_path = ''
as $fn$
begin
  raise exception using
    errcode = 'LG004',
    message = format('%s is not enabled', p_feature),
    detail = format('%s has not been called in this schema.', p_function),
    hint = format('Let the owner of the schema call %s once.', p_function);
end
$fn$;

comment on function @extschema@.reject_not_enabled(text, text) is 'Raises LG004: the feature is not enabled in this schema.';
revoke all on function @extschema@.reject_not_enabled(text, text) from public;
