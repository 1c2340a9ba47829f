-- Who waits for a human now: one row a question that a task of the newest checkpoint asks and was not answered. Those of the
-- root graph: what a nested graph asks, the task that runs it asks too.
create or replace view @extschema@_analytics.interrupts
with (security_invoker = true)
as
select
  w.thread_id,
  w.checkpoint_id,
  w.task_id,
  @extschema@.task_node(w.thread_id, w.checkpoint_ns, w.checkpoint_id, w.task_id, w.task_path) as node,
  i.interrupt ->> 'id' as interrupt_id,
  w.created_at as waiting_since,
  i.interrupt -> 'value' as payload
from @extschema@.checkpoint_writes w
cross join lateral jsonb_array_elements(@extschema@.interrupt_fields(@extschema@.value_to_jsonb(w.type, w.blob))) i (interrupt)
where w.idx < 0
  and w.channel = '__interrupt__'
  and w.checkpoint_ns = ''
  and w.checkpoint_id = (select n.checkpoint_id from @extschema@.newest_checkpoint(w.thread_id, w.checkpoint_ns) n)
  and not exists (
    select
    from @extschema@.checkpoint_writes d
    where d.thread_id = w.thread_id
      and d.checkpoint_ns = w.checkpoint_ns
      and d.checkpoint_id = w.checkpoint_id
      and d.task_id = w.task_id
      and not @extschema@.is_status_channel(d.channel)
  );

comment on view @extschema@_analytics.interrupts is
  'One row a question that a thread waits for a human to answer: since when, and what is asked.';
revoke all on @extschema@_analytics.interrupts from public;
