-- Removes a thread: its checkpoints, blobs, writes and TTL, in every namespace. Says how many rows of each went; a thread
-- that does not exist is no error.
-- Where guards are on (enable_guards), it waits for those who write to the thread, and they cannot bring it back.
-- Locks: the rows it removes; an advisory lock of the transaction on the thread (guard_key). Errors: LG002; LG005 when a checkpoint of the thread is pinned.
create or replace function @extschema@.delete_thread(p_thread_id text)
returns table (checkpoints bigint, checkpoint_blobs bigint, checkpoint_writes bigint)
language plpgsql
volatile
parallel unsafe
security invoker
rows 1
set search_path = ''
as $fn$
#variable_conflict use_column
declare
  v_pins bigint;
begin
  if p_thread_id is null or p_thread_id = '' then
    perform @extschema@.reject_argument('thread_id', 'It is null or empty.', 'Pass the identifier of the conversation.');
  end if;
  select count(*) into v_pins from @extschema@.checkpoint_pins p where p.thread_id = p_thread_id;
  if v_pins > 0 then
    raise exception using
      errcode = 'LG005',
      message = format('thread %L is pinned', p_thread_id),
      detail = format('%s of its checkpoints are in checkpoint_pins.', v_pins),
      hint = 'Remove the pins first, if the thread really is to go.';
  end if;

  perform pg_advisory_xact_lock(@extschema@.guard_key(p_thread_id));
  return query
  with ttl as (
    delete from @extschema@.thread_ttls t where t.thread_id = p_thread_id
  ), c as (
    delete from @extschema@.checkpoints t where t.thread_id = p_thread_id returning 1
  ), w as (
    delete from @extschema@.checkpoint_writes t where t.thread_id = p_thread_id returning 1
  ), b as (
    delete from @extschema@.checkpoint_blobs t where t.thread_id = p_thread_id returning 1
  )
  select (select count(*) from c), (select count(*) from b), (select count(*) from w);
end
$fn$;

comment on function @extschema@.delete_thread(text) is
  'Removes a thread with all its namespaces; says how many rows of each table went. LG005 if it is pinned.';
revoke all on function @extschema@.delete_thread(text) from public;
