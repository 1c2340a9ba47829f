-- The state of a thread as LangGraph's get_state returns it: one object with values, next, tasks, interrupts, metadata,
-- created_at, config and parent_config. Without p_checkpoint_id it is how things stand now: next has only tasks that are not
-- done, interrupts only what waits for an answer, values also what tasks that are done have written. With one it is a record:
-- all tasks of the superstep that followed, and all that they asked.
-- What a graph does not save, this cannot show:
--   channels that nothing was written to are not in values (LangGraph shows those with a reducer as empty)
--   nodes come in alphabetical order, after the packets that were sent
--   delta channels are rebuilt, and pending writes applied, by what the data shows of the reducers (see channel_reducer and
--   delta_values); p_reducers says it for certain, as {"channel": "replace" | "append" | "merge" | "add_messages" |
--   "delta_messages"}
-- Locks: none. Errors: LG001 when there is no such checkpoint; LG002; LG006 for damaged values.
create or replace function @extschema@_analytics.state_snapshot(
  p_thread_id text,
  p_checkpoint_ns text default '',
  p_checkpoint_id text default null,
  p_reducers jsonb default null
)
returns jsonb
language plpgsql
stable
parallel safe
security invoker
set search_path = ''
as $fn$
declare
  v_snapshot jsonb;
begin
  if p_thread_id is null or p_thread_id = '' or p_checkpoint_ns is null or p_checkpoint_id = ''
    or (p_reducers is not null and jsonb_typeof(p_reducers) <> 'object') then
    perform @extschema@.reject_argument('checkpoint to read',
      format('thread_id %L, checkpoint_ns %L, checkpoint_id %L, reducers %L.', p_thread_id, p_checkpoint_ns, p_checkpoint_id,
        p_reducers),
      'thread_id is needed; checkpoint_ns is empty for the root graph; checkpoint_id is null for now; reducers is an object.');
  end if;
  select @extschema@.checkpoint_snapshot(c.thread_id, c.checkpoint_ns, c.checkpoint_id, c.parent_checkpoint_id, c.checkpoint,
    c.metadata, c.created_at, p_checkpoint_id is null, p_reducers)
  into v_snapshot
  from @extschema@.checkpoint_at(p_thread_id, p_checkpoint_ns, p_checkpoint_id) c;
  if v_snapshot is null then
    perform @extschema@.reject_missing_checkpoint(p_thread_id, p_checkpoint_ns, p_checkpoint_id);
  end if;
  return v_snapshot;
end
$fn$;

comment on function @extschema@_analytics.state_snapshot(text, text, text, jsonb) is
  'The state of a thread, now or at a checkpoint, as LangGraph''s get_state returns it.';
revoke all on function @extschema@_analytics.state_snapshot(text, text, text, jsonb) from public;
