-- Raises LG006 for MessagePack that ends too early or holds a byte that begins no value.
-- Locks: none. Errors: LG006, always.
create or replace function @extschema@.reject_truncated(p_length integer, p_at integer)
returns void
language plpgsql
immutable
parallel safe
security invoker
set search_path = ''
as $fn$
begin
  raise exception using
    errcode = 'LG006',
    message = 'MessagePack value ends too early',
    detail = format('%s bytes are stored, and the value at byte %s needs more, or begins with a byte that begins none.',
      p_length, p_at),
    hint = 'The stored bytes are damaged; rebuild_blobs may recover them, and fsck() lists such rows.';
end
$fn$;

comment on function @extschema@.reject_truncated(integer, integer) is 'Raises LG006: MessagePack ends too early.';
revoke all on function @extschema@.reject_truncated(integer, integer) from public;
