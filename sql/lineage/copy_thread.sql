-- Copies a whole thread: every checkpoint with its id, metadata and times, every value and write, in every namespace. The
-- target has to be empty. Says what was copied; a source that does not exist copies nothing.
-- Locks: both threads (lock_thread). Errors: LG002 for a target that is not empty, or is the source.
create or replace function @extschema@.copy_thread(p_source_thread_id text, p_target_thread_id text)
returns table (checkpoints bigint, checkpoint_blobs bigint, checkpoint_writes bigint)
language plpgsql
volatile
parallel unsafe
security invoker
rows 1
set search_path = ''
as $fn$
#variable_conflict use_column
begin
  perform @extschema@.lock_threads_to_copy(p_source_thread_id, p_target_thread_id);
  return query
  with c as (
    insert into @extschema@.checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint,
      metadata, created_at, updated_at)
    select p_target_thread_id, s.checkpoint_ns, s.checkpoint_id, s.parent_checkpoint_id, s.type, s.checkpoint, s.metadata,
      s.created_at, s.updated_at
    from @extschema@.checkpoints s
    where s.thread_id = p_source_thread_id
    returning 1
  ), b as (
    insert into @extschema@.checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob, created_at)
    select p_target_thread_id, s.checkpoint_ns, s.channel, s.version, s.type, s.blob, s.created_at
    from @extschema@.checkpoint_blobs s
    where s.thread_id = p_source_thread_id
    returning 1
  ), w as (
    insert into @extschema@.checkpoint_writes (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob,
      task_path, created_at)
    select p_target_thread_id, s.checkpoint_ns, s.checkpoint_id, s.task_id, s.idx, s.channel, s.type, s.blob, s.task_path,
      s.created_at
    from @extschema@.checkpoint_writes s
    where s.thread_id = p_source_thread_id
    returning 1
  )
  select (select count(*) from c), (select count(*) from b), (select count(*) from w);
end
$fn$;

comment on function @extschema@.copy_thread(text, text) is
  'Copies a whole thread to an empty one; says how many rows of each table.';
revoke all on function @extschema@.copy_thread(text, text) from public;
