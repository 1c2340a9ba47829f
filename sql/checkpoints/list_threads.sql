-- Threads, the most recently active first: activity is when a checkpoint was last saved.
--   p_filter  keeps threads whose newest checkpoint's metadata contains it
--   p_before  keeps threads last active before this time, for the next page
--   status    of the newest checkpoint of the root graph: 'interrupted' when a task waits for a human, 'error' when one
--             failed, otherwise 'idle'
-- With a limit it follows an index from the newest checkpoint on, and costs what the threads it passes hold.
-- Locks: none. Errors: LG002.
create or replace function @extschema@.list_threads(
  p_filter jsonb default null,
  p_before timestamptz default null,
  p_limit bigint default null
)
returns table (
  thread_id text,
  namespaces bigint,
  checkpoints bigint,
  first_activity timestamptz,
  last_activity timestamptz,
  status text,
  newest_checkpoint_id text,
  metadata jsonb
)
language plpgsql
stable
parallel safe
security invoker
rows 100
set jit = off
as $fn$
#variable_conflict use_column
declare
  v_seen jsonb := '{}';
  v_found bigint := 0;
  v_thread text;
  v_threads refcursor;
begin
  if p_limit < 0 or (p_filter is not null and jsonb_typeof(p_filter) <> 'object') then
    perform @extschema@.reject_argument('list of threads', format('filter %L, limit %L.', p_filter, p_limit),
      'A filter is a JSON object; a limit is not negative.');
  end if;

  if p_limit is null then
    open v_threads for
      select c.thread_id
      from @extschema@.checkpoints c
      where c.created_at < coalesce(p_before, 'infinity')
      group by c.thread_id
      order by max(c.created_at) desc, c.thread_id;
  else
    -- A thread comes once for each of its checkpoints; the first time is its newest.
    open v_threads for
      select c.thread_id
      from @extschema@.checkpoints c
      where c.created_at < coalesce(p_before, 'infinity')
      order by c.created_at desc;
  end if;
  loop
    exit when v_found >= p_limit;
    fetch v_threads into v_thread;
    exit when not found;
    if p_limit is not null then
      continue when v_seen ? v_thread;
      v_seen := v_seen || jsonb_build_object(v_thread, true);
    end if;
    select count(distinct c.checkpoint_ns), count(*), min(c.created_at), max(c.created_at)
    into namespaces, checkpoints, first_activity, last_activity
    from @extschema@.checkpoints c
    where c.thread_id = v_thread;
    continue when last_activity >= p_before;
    select c.checkpoint_id, c.metadata into newest_checkpoint_id, metadata
    from @extschema@.checkpoints c
    where c.thread_id = v_thread
      and c.checkpoint_ns = (
        select n.checkpoint_ns
        from @extschema@.checkpoints n
        where n.thread_id = v_thread
        order by n.checkpoint_ns
        limit 1
      )
    order by c.checkpoint_id desc
    limit 1;
    continue when not metadata @> p_filter;
    select case
        when bool_or(w.channel = '__error__') then 'error'
        when bool_or(w.channel = '__interrupt__') then 'interrupted'
        else 'idle'
      end
    into status
    from @extschema@.checkpoint_writes w
    where w.thread_id = v_thread
      and w.checkpoint_ns = ''
      and w.checkpoint_id = newest_checkpoint_id
      and w.idx < 0;
    thread_id := v_thread;
    v_found := v_found + 1;
    return next;
  end loop;
  close v_threads;
end
$fn$;

comment on function @extschema@.list_threads(jsonb, timestamptz, bigint) is
  'Threads, the most recently active first, with counts and whether they wait for a human.';
revoke all on function @extschema@.list_threads(jsonb, timestamptz, bigint) from public;
