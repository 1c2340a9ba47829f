-- Locks the source and the target of a copy, always in the order of their ids so that two copies cannot wait for each other,
-- and checks that the target is empty.
-- Locks: both threads (lock_thread). Errors: LG002.
create or replace function @extschema@.lock_threads_to_copy(p_source_thread_id text, p_target_thread_id text)
returns void
language plpgsql
volatile
parallel unsafe
security invoker
set search_path = ''
as $fn$
begin
  if p_source_thread_id is null or p_source_thread_id = '' or p_target_thread_id is null or p_target_thread_id = ''
    or p_source_thread_id = p_target_thread_id then
    perform @extschema@.reject_argument('threads to copy',
      format('The source is %L and the target %L.', p_source_thread_id, p_target_thread_id), 'Name two different threads.');
  end if;
  perform @extschema@.lock_thread(least(p_source_thread_id collate "C", p_target_thread_id collate "C"));
  perform @extschema@.lock_thread(greatest(p_source_thread_id collate "C", p_target_thread_id collate "C"));
  if exists (select from @extschema@.checkpoints c where c.thread_id = p_target_thread_id)
    or exists (select from @extschema@.checkpoint_blobs b where b.thread_id = p_target_thread_id)
    or exists (select from @extschema@.checkpoint_writes w where w.thread_id = p_target_thread_id) then
    perform @extschema@.reject_argument('target thread',
      format('Thread %L is not empty.', p_target_thread_id), 'Name a new thread, or remove this one with delete_thread.');
  end if;
end
$fn$;

comment on function @extschema@.lock_threads_to_copy(text, text) is
  'Locks the source and the target of a copy and checks that the target is empty.';
revoke all on function @extschema@.lock_threads_to_copy(text, text) from public;
