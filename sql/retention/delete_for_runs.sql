-- Removes the checkpoints that the given runs made (metadata run_id), in every thread and namespace, with their writes, and
-- says what went from each thread; with p_dry_run what would. Runs that do not exist are no error. What is pinned stays, and
-- so does what a checkpoint of another run needs to read back as before (see removable_checkpoints): kept counts those.
-- Locks: one thread after the other in the order of their ids (lock_thread), and the rows removed. Errors: LG002.
create or replace function @extschema@.delete_for_runs(p_run_ids text[], p_dry_run boolean default false)
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
declare
  v_namespaces text[];
  v_ids text[];
  v_going_ns text[];
  v_going_ids text[];
begin
  if p_run_ids is null or array_position(p_run_ids, null) is not null or p_dry_run is null then
    perform @extschema@.reject_argument('run_ids', format('They are %L.', p_run_ids), 'Pass run ids, none of them null.');
  end if;
  for thread_id in
    select distinct c.thread_id
    from unnest(p_run_ids) r (run_id)
    join @extschema@.checkpoints c on c.metadata @> jsonb_build_object('run_id', r.run_id)
    order by 1
  loop
    perform @extschema@.lock_thread(thread_id);
    select coalesce(array_agg(c.checkpoint_ns), '{}'), coalesce(array_agg(c.checkpoint_id), '{}')
    into v_namespaces, v_ids
    from @extschema@.checkpoints c
    where c.thread_id = delete_for_runs.thread_id
      and c.metadata -> 'run_id' in (select to_jsonb(r.run_id) from unnest(p_run_ids) r (run_id));
    select coalesce(array_agg(g.checkpoint_ns), '{}'), coalesce(array_agg(g.checkpoint_id), '{}')
    into v_going_ns, v_going_ids
    from @extschema@.removable_checkpoints(thread_id, v_namespaces, v_ids) g;
    select r.bytes, cardinality(v_ids) - r.checkpoints, r.checkpoints, r.checkpoint_blobs, r.checkpoint_writes
    into bytes, kept, checkpoints, checkpoint_blobs, checkpoint_writes
    from @extschema@.remove_checkpoints(thread_id, v_namespaces, v_going_ns, v_going_ids, '{}', p_dry_run) r;
    return next;
  end loop;
end
$fn$;

comment on function @extschema@.delete_for_runs(text[], boolean) is
  'Removes what the given runs saved, except what is pinned or what other checkpoints need; says what went from each thread.';
revoke all on function @extschema@.delete_for_runs(text[], boolean) from public;
