-- Pins a checkpoint: no retention and no deletion removes it or what it needs, until it is unpinned. One of the root graph
-- also holds the newest checkpoint of each subgraph's call that it made, so that it can be resumed there. Pinning again
-- changes the reason.
-- Locks: the checkpoint's row against removal; the pin. Errors: LG001; LG002.
create or replace function @extschema@.pin_checkpoint(
  p_thread_id text,
  p_checkpoint_ns text,
  p_checkpoint_id text,
  p_reason text default null
)
returns void
language plpgsql
volatile
parallel unsafe
security invoker
set search_path = ''
as $fn$
begin
  if p_thread_id is null or p_thread_id = '' or p_checkpoint_ns is null or p_checkpoint_id is null
    or p_checkpoint_id = '' then
    perform @extschema@.reject_argument('checkpoint to pin',
      format('thread_id %L, checkpoint_ns %L, checkpoint_id %L.', p_thread_id, p_checkpoint_ns, p_checkpoint_id),
      'Name the checkpoint; checkpoint_ns is empty for the root graph.');
  end if;
  perform @extschema@.lock_thread(p_thread_id);
  perform from @extschema@.checkpoints c
  where c.thread_id = p_thread_id and c.checkpoint_ns = p_checkpoint_ns and c.checkpoint_id = p_checkpoint_id
  for key share;
  if not found then
    perform @extschema@.reject_missing_checkpoint(p_thread_id, p_checkpoint_ns, p_checkpoint_id);
  end if;
  insert into @extschema@.checkpoint_pins (thread_id, checkpoint_ns, checkpoint_id, reason)
  values (p_thread_id, p_checkpoint_ns, p_checkpoint_id, p_reason)
  on conflict (thread_id, checkpoint_ns, checkpoint_id) do update set reason = excluded.reason;
end
$fn$;

comment on function @extschema@.pin_checkpoint(text, text, text, text) is
  'Keeps a checkpoint, and what it needs, from every retention and deletion.';
revoke all on function @extschema@.pin_checkpoint(text, text, text, text) from public;
