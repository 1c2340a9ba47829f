-- LangGraph's StateSnapshot of one checkpoint, given its row; what state_snapshot and state_history return. p_live says how
-- things stand rather than how they stood: next has only tasks that are not done, interrupts only what waits for an answer,
-- and values include what tasks that are done have written.
-- Locks: none. Errors: LG002; LG006 for damaged values.
create or replace function @extschema@.checkpoint_snapshot(
  p_thread_id text,
  p_checkpoint_ns text,
  p_checkpoint_id text,
  p_parent_checkpoint_id text,
  p_checkpoint jsonb,
  p_metadata jsonb,
  p_created_at timestamptz,
  p_live boolean,
  p_reducers jsonb
)
returns jsonb
language plpgsql
stable
parallel safe
security invoker
set search_path = ''
as $fn$
declare
  v_channels jsonb := @extschema@.state_values(p_thread_id, p_checkpoint_ns, p_checkpoint_id, p_checkpoint, p_metadata,
    p_reducers);
  v_values jsonb;
  v_root boolean := p_checkpoint -> 'channel_versions' ? '__root__' or exists (
    select
    from @extschema@.checkpoint_writes w
    where w.thread_id = p_thread_id
      and w.checkpoint_ns = p_checkpoint_ns
      and w.checkpoint_id = p_checkpoint_id
      and w.channel = '__root__'
  );
  v_tasks jsonb := '[]';
  v_done text[] := '{}';
  v_next jsonb := '[]';
  v_interrupts jsonb := '[]';
  v_config jsonb := jsonb_build_object('thread_id', p_thread_id, 'checkpoint_ns', p_checkpoint_ns);
  v_nested text;
  v_task record;
  v_write record;
begin
  select coalesce(jsonb_object_agg(v.channel, v.value), '{}') into v_values
  from jsonb_each(v_channels) v (channel, value)
  where @extschema@.is_state_channel(v.channel);

  for v_task in
    select t.id, t.name, t.path, t.finished, t.error,
      case when p_live and t.finished then '[]' else t.interrupts end as interrupts,
      case when v_root then t.result -> '__root__' else t.result end as result
    from @extschema@.snapshot_tasks(p_thread_id, p_checkpoint_ns, p_checkpoint_id, p_parent_checkpoint_id, p_checkpoint,
      p_metadata, v_channels) t
  loop
    v_nested := concat_ws('|', nullif(p_checkpoint_ns, ''), v_task.name || ':' || v_task.id);
    v_tasks := v_tasks || jsonb_build_object(
      'id', v_task.id,
      'name', v_task.name,
      'path', case when starts_with(v_task.path, '~__pregel_pull, ') then jsonb_build_array('__pregel_pull', v_task.name)
        else jsonb_build_array('__pregel_push', split_part(v_task.path, ', ', 2)::integer, false) end,
      'error', v_task.error,
      'interrupts', v_task.interrupts,
      'state', case when exists (
        select
        from @extschema@.checkpoints c
        where c.thread_id = p_thread_id
          and c.checkpoint_ns = v_nested
      ) then jsonb_build_object('configurable', jsonb_build_object('thread_id', p_thread_id, 'checkpoint_ns', v_nested)) end,
      'result', v_task.result
    );
    v_interrupts := v_interrupts || v_task.interrupts;
    if p_live and v_task.finished then
      v_done := v_done || v_task.id;
    else
      v_next := v_next || to_jsonb(v_task.name);
    end if;
  end loop;

  -- What the runtime counts as state although the superstep is not over: first what a Command wrote, under a task ID of
  -- zeros, then what tasks that are done have written.
  for v_write in
    select w.channel, w.task_id = '00000000-0000-0000-0000-000000000000' as is_command,
      array_agg(@extschema@.value_to_jsonb(w.type, w.blob) order by w.task_path, w.task_id, w.idx) as written
    from @extschema@.checkpoint_writes w
    where w.thread_id = p_thread_id
      and w.checkpoint_ns = p_checkpoint_ns
      and w.checkpoint_id = p_checkpoint_id
      and @extschema@.is_state_channel(w.channel)
      and (w.task_id = '00000000-0000-0000-0000-000000000000' or w.task_id = any (v_done))
    group by 1, 2
    order by 2 desc, 1
  loop
    v_values := v_values || jsonb_build_object(v_write.channel, @extschema@.reduce_values(
      v_values -> v_write.channel,
      v_write.written,
      coalesce(
        p_reducers ->> v_write.channel,
        @extschema@.channel_reducer(p_thread_id, p_checkpoint_ns, p_checkpoint_id, v_write.channel,
          v_values -> v_write.channel, v_write.written[1])
      )
    ));
  end loop;

  return jsonb_build_object(
    'values', case when v_root then coalesce(v_values -> '__root__', 'null') else v_values end,
    'next', v_next,
    'tasks', v_tasks,
    'interrupts', v_interrupts,
    'metadata', p_metadata,
    'created_at', coalesce(p_checkpoint -> 'ts', to_jsonb(p_created_at)),
    'config', jsonb_build_object('configurable', v_config || jsonb_build_object('checkpoint_id', p_checkpoint_id)),
    'parent_config', case when p_parent_checkpoint_id is not null then
      jsonb_build_object('configurable', v_config || jsonb_build_object('checkpoint_id', p_parent_checkpoint_id)) end
  );
end
$fn$;

comment on function @extschema@.checkpoint_snapshot(text, text, text, text, jsonb, jsonb, timestamptz, boolean, jsonb) is
  'LangGraph''s StateSnapshot of one checkpoint, given its row, as jsonb.';
revoke all on function @extschema@.checkpoint_snapshot(text, text, text, text, jsonb, jsonb, timestamptz, boolean, jsonb)
  from public;
