-- The states that a thread has had, newest first, as LangGraph's get_state_history returns them: each snapshot is the record
-- that state_snapshot gives for that checkpoint. p_filter keeps checkpoints whose metadata contains it, p_before those with a
-- smaller id, p_limit so many.
-- Locks: none. Errors: LG002; LG006 for damaged values.
create or replace function @extschema@_analytics.state_history(
  p_thread_id text,
  p_checkpoint_ns text default '',
  p_filter jsonb default null,
  p_before text default null,
  p_limit bigint default null,
  p_reducers jsonb default null
)
returns table (checkpoint_id text, created_at timestamptz, snapshot jsonb)
language plpgsql
stable
parallel safe
security invoker
rows 100
set search_path = ''
as $fn$
begin
  if p_thread_id is null or p_checkpoint_ns is null or (p_reducers is not null and jsonb_typeof(p_reducers) <> 'object') then
    perform @extschema@.reject_argument('history of states',
      format('thread_id %L, checkpoint_ns %L, reducers %L.', p_thread_id, p_checkpoint_ns, p_reducers),
      'thread_id is needed; checkpoint_ns is empty for the root graph; reducers is an object.');
  end if;
  return query
  select l.checkpoint_id, l.created_at, @extschema@.checkpoint_snapshot(l.thread_id, l.checkpoint_ns, l.checkpoint_id,
    l.parent_checkpoint_id, l.checkpoint, l.metadata, l.created_at, false, p_reducers)
  from @extschema@.list_checkpoints(p_thread_id, p_checkpoint_ns, p_filter, p_before, p_limit, false) l;
end
$fn$;

comment on function @extschema@_analytics.state_history(text, text, jsonb, text, bigint, jsonb) is
  'The states that a thread has had, newest first, as LangGraph''s get_state_history returns them.';
revoke all on function @extschema@_analytics.state_history(text, text, jsonb, text, bigint, jsonb) from public;
