-- Prunes threads, and says for each what went, or with p_dry_run what would go. Threads that do not exist are no error.
--   'keep_latest'  keeps the p_keep newest checkpoints of each namespace; with p_keep_heads also those from which no other
--                  continues, so that every branch can still be resumed. The namespace of a subgraph's call goes whole
--                  with the checkpoint of the root graph that made the call, and also where that checkpoint does not
--                  exist and the root graph has saved a newer one than the call did: nothing can resume it
--   'delete'       keeps nothing
-- Whatever the strategy, what is pinned stays, and so does what something that stays needs to read back as before: see
-- removable_checkpoints. 'keep_latest' also keeps a branch that waits for a human. The column kept counts what was
-- to go and had to stay.
-- Safe beside writers that continue from a checkpoint that stays, the newest of each namespace above all.
-- Locks: one thread after the other in the order of their ids (lock_thread), and the rows removed. Errors: LG002.
create or replace function @extschema@.prune(
  p_thread_ids text[],
  p_strategy text default 'keep_latest',
  p_keep integer default 1,
  p_dry_run boolean default false,
  p_keep_heads boolean default false
)
returns table (
  thread_id text,
  checkpoints bigint,
  checkpoint_blobs bigint,
  checkpoint_writes bigint,
  bytes bigint,
  kept bigint
)
language plpgsql
volatile
parallel unsafe
security invoker
rows 10
set search_path = ''
as $fn$
#variable_conflict use_column
begin
  if p_thread_ids is null or array_position(p_thread_ids, null) is not null or p_strategy is null
    or p_strategy not in ('keep_latest', 'delete') or p_keep is null or p_keep < 1 or p_dry_run is null
    or p_keep_heads is null then
    perform @extschema@.reject_argument('prune',
      format('thread_ids %L, strategy %L, keep %L, dry_run %L, keep_heads %L.', p_thread_ids, p_strategy, p_keep, p_dry_run,
        p_keep_heads),
      'strategy is "keep_latest" or "delete"; keep is at least 1; no argument may be null.');
  end if;
  -- In the order in which lock_threads_to_copy locks, whatever the language of the database.
  for thread_id in select distinct u.thread_id collate "C" from unnest(p_thread_ids) u (thread_id) order by 1 loop
    perform @extschema@.lock_thread(thread_id);
    select r.bytes, r.kept, r.checkpoints, r.checkpoint_blobs, r.checkpoint_writes
    into bytes, kept, checkpoints, checkpoint_blobs, checkpoint_writes
    from @extschema@.prune_thread(thread_id, p_strategy = 'delete', p_keep, p_keep_heads, null, p_dry_run) r;
    return next;
  end loop;
end
$fn$;

comment on function @extschema@.prune(text[], text, integer, boolean, boolean) is
  'Prunes threads without harming what stays: keep_latest or delete; counts rows and bytes, also when dry.';
revoke all on function @extschema@.prune(text[], text, integer, boolean, boolean) from public;
