-- The version that follows p_current, of the same kind: an integer (as JavaScript clients count) stays an integer, anything
-- else becomes Python's text of a zero-padded counter and a random fraction, which sorts by counter. Null begins at 1.
-- Locks: none. Errors: LG002.
create or replace function @extschema@.next_channel_version(p_current text)
returns text
language plpgsql
volatile
parallel safe
security invoker
set search_path = ''
as $fn$
begin
  if p_current ~ '^[0-9]{1,30}$' then
    return (p_current::numeric + 1)::text;
  elsif p_current is null or p_current ~ '^[0-9]+\.' then
    return lpad((coalesce(split_part(p_current, '.', 1)::numeric, 0) + 1)::text, 32, '0')
      || '.' || lpad(random()::text, 16, '0');
  end if;
  perform @extschema@.reject_argument('channel version',
    format('%L begins with no counter.', p_current), 'Pass the channel''s current version, or null for its first.');
end
$fn$;

comment on function @extschema@.next_channel_version(text) is
  'The channel version after this one, of the same kind; null for the first.';
revoke all on function @extschema@.next_channel_version(text) from public;
