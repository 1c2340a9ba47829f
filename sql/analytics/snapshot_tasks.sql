-- The tasks of the superstep after a checkpoint: packets sent to nodes, then the nodes that channels trigger, by name, since
-- the graph's own order is stored nowhere.
--   id  the one that the task has written under, or LangGraph's hash (see task_id); null where it cannot be known.
--       The hash of a node with a join that nobody has arrived at yet is another than LangGraph's
-- The other columns are those of task_outcome. p_values are all channels at the checkpoint, from state_values.
-- Locks: none. Errors: LG006 for damaged values.
create or replace function @extschema@.snapshot_tasks(
  p_thread_id text,
  p_checkpoint_ns text,
  p_checkpoint_id text,
  p_parent_checkpoint_id text,
  p_checkpoint jsonb,
  p_metadata jsonb,
  p_values jsonb
)
returns table (id text, name text, path text, finished boolean, error jsonb, interrupts jsonb, result jsonb)
language plpgsql
stable
parallel safe
security invoker
rows 10
set search_path = ''
as $fn$
#variable_conflict use_column
declare
  v_step integer := case when jsonb_typeof(p_metadata -> 'step') = 'number'
    then trunc((p_metadata ->> 'step')::numeric)::integer + 1 else 0 end;
  -- What a run saved only on its exit stands under made-up IDs, which begin with the step.
  v_made_up text := lpad(v_step::text, greatest(8, length(v_step::text)), '0') || '-';
  v_packets jsonb;
  v_ids text[];
  v_task record;
begin
  select jsonb_agg(@extschema@.value_to_jsonb(s.type, s.blob)) into v_packets
  from @extschema@.pending_sends(p_thread_id, p_checkpoint_ns, p_parent_checkpoint_id, p_checkpoint) s;
  v_packets := coalesce(v_packets, @extschema@.jsonb_items(p_values -> '__pregel_tasks'));

  for v_task in
    select 0 as kind, s.position, coalesce(s.packet ->> 'node', s.packet #>> '{args,0}') as node,
      format('~__pregel_push, %s, 0000000000', lpad((s.position - 1)::text, 10, '0')) as path,
      '__pregel_push' || (s.position - 1) as trigger
    from jsonb_array_elements(v_packets) with ordinality s (packet, position)
    where coalesce(s.packet ->> 'node', s.packet #>> '{args,0}') is not null
    union all
    select 1, 0, n.node, '~__pregel_pull, ' || n.node, '__pregel_pull' || string_agg(n.channel, '' order by n.channel)
    from (
      select t.node collate "C" as node, v.channel collate "C" as channel
      from jsonb_object_keys(p_checkpoint -> 'channel_versions') v (channel)
      cross join lateral (select @extschema@.triggered_node(v.channel)) t (node)
      where t.node is not null
      union
      select t.node, 'branch:to:' || t.node
      from jsonb_object_keys(p_checkpoint -> 'channel_versions') v (channel)
      cross join lateral (select @extschema@.triggered_node(v.channel)) t (node)
      where t.node <> '__start__'
    ) n
    group by n.node
    having bool_or(
      p_values ? n.channel
      and @extschema@.is_available(n.channel, p_values -> n.channel)
      and @extschema@.is_newer_version(p_checkpoint -> 'channel_versions' -> n.channel,
        p_checkpoint #> array['versions_seen', n.node, n.channel])
    )
    order by 1, 2, 3
  loop
    name := v_task.node;
    path := v_task.path;
    select array_agg(distinct w.task_id) into v_ids
    from @extschema@.checkpoint_writes w
    where w.thread_id = p_thread_id
      and w.checkpoint_ns = p_checkpoint_ns
      and w.checkpoint_id = p_checkpoint_id
      and w.task_path = v_task.path
      and not starts_with(w.task_id, v_made_up);
    id := case when cardinality(v_ids) = 1 then v_ids[1]
      else @extschema@.task_id(p_checkpoint_ns, p_checkpoint, v_step, v_task.node, v_task.trigger) end;
    select t.finished, t.error, t.interrupts, t.result into finished, error, interrupts, result
    from @extschema@.task_outcome(p_thread_id, p_checkpoint_ns, p_checkpoint_id, id) t;
    return next;
  end loop;
end
$fn$;

comment on function @extschema@.snapshot_tasks(text, text, text, text, jsonb, jsonb, jsonb) is
  'The tasks of the superstep after a checkpoint, with what each has written, asked or failed with.';
revoke all on function @extschema@.snapshot_tasks(text, text, text, text, jsonb, jsonb, jsonb) from public;
