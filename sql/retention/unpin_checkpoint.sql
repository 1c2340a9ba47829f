-- Takes a pin away, and says whether there was one.
-- Locks: the pin. Errors: none.
create or replace function @extschema@.unpin_checkpoint(p_thread_id text, p_checkpoint_ns text, p_checkpoint_id text)
returns boolean
language plpgsql
volatile
parallel unsafe
security invoker
set search_path = ''
as $fn$
begin
  delete from @extschema@.checkpoint_pins p
  where p.thread_id = p_thread_id and p.checkpoint_ns = p_checkpoint_ns and p.checkpoint_id = p_checkpoint_id;
  return found;
end
$fn$;

comment on function @extschema@.unpin_checkpoint(text, text, text) is 'Takes a pin away; says whether there was one.';
revoke all on function @extschema@.unpin_checkpoint(text, text, text) from public;
