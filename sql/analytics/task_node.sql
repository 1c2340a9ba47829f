-- The node that a task runs: from the path of a task that an edge triggered, from the packet of one that was sent (read from
-- the channel __pregel_tasks of its checkpoint), and from the ID where a client names tasks by their node. NULL for tasks of
-- functional workflows, whose function is stored nowhere.
-- Locks: none. Errors: LG006 for damaged values.
create or replace function @extschema@.task_node(
  p_thread_id text,
  p_checkpoint_ns text,
  p_checkpoint_id text,
  p_task_id text,
  p_task_path text
)
returns text
language plpgsql
stable
parallel safe
security invoker
set search_path = ''
as $fn$
declare
  v_packet jsonb;
begin
  if starts_with(p_task_path, '~__pregel_pull, ') then
    return substr(p_task_path, 17);
  elsif p_task_path ~ '^~__pregel_push, \d+, ' then
    select v.value -> substring(p_task_path from '^~__pregel_push, (\d+),')::integer into v_packet
    from @extschema@.checkpoints c
    cross join lateral @extschema@.checkpoint_channel_value(p_thread_id, p_checkpoint_ns, c.checkpoint, '__pregel_tasks') v (value)
    where c.thread_id = p_thread_id
      and c.checkpoint_ns = p_checkpoint_ns
      and c.checkpoint_id = p_checkpoint_id;
    return coalesce(v_packet ->> 'node', v_packet #>> '{args,0}');
  elsif p_task_id = '00000000-0000-0000-0000-000000000000' then
    return '__input__';
  elsif p_task_id !~ '^[[:xdigit:]]{8}-[[:xdigit:]]{4}-' then
    return p_task_id;
  end if;
  return null;
end
$fn$;

comment on function @extschema@.task_node(text, text, text, text, text) is
  'The node that a task runs, from its path, its packet or its ID; null where nothing tells.';
revoke all on function @extschema@.task_node(text, text, text, text, text) from public;
