-- What each node of a thread did: its tasks, what they wrote, and how long they took, from the checkpoint that they ran after
-- to their last write. Tasks that waited for a human do not count in the durations, nor do those of clients that save writes
-- before the checkpoint.
create or replace view @extschema@_analytics.node_stats
with (security_invoker = true)
as
select
  t.thread_id,
  t.checkpoint_ns,
  t.node,
  count(*) as tasks,
  sum(t.writes) as writes,
  sum(t.bytes) as bytes,
  min(t.first_at) as first_at,
  max(t.last_at) as last_at,
  count(*) filter (where t.failed) as errors,
  count(*) filter (where t.waited) as interrupts,
  count(t.duration) as timed_tasks,
  sum(t.duration) as total_duration,
  avg(t.duration) as avg_duration,
  max(t.duration) as max_duration
from (
  select
    w.thread_id,
    w.checkpoint_ns,
    @extschema@.task_node(w.thread_id, w.checkpoint_ns, w.checkpoint_id, w.task_id, w.task_path) as node,
    w.writes,
    w.bytes,
    w.first_at,
    w.last_at,
    w.failed,
    w.waited,
    case when not w.waited and w.first_at >= c.created_at then w.last_at - c.created_at end as duration
  from (
    select
      cw.thread_id,
      cw.checkpoint_ns,
      cw.checkpoint_id,
      cw.task_id,
      max(cw.task_path) as task_path,
      count(*) as writes,
      sum(length(cw.blob)) as bytes,
      min(cw.created_at) as first_at,
      max(cw.created_at) as last_at,
      bool_or(cw.channel = '__error__') as failed,
      bool_or(cw.channel = '__interrupt__') as waited
    from @extschema@.checkpoint_writes cw
    group by cw.thread_id, cw.checkpoint_ns, cw.checkpoint_id, cw.task_id
  ) w
  left join lateral (
    select k.created_at
    from @extschema@.checkpoints k
    where k.thread_id = w.thread_id
      and k.checkpoint_ns = w.checkpoint_ns
      and k.checkpoint_id = w.checkpoint_id
    limit 1
  ) c on true
) t
group by t.thread_id, t.checkpoint_ns, t.node;

comment on view @extschema@_analytics.node_stats is
  'One row a node of a thread: its tasks, writes and bytes, when it first and last wrote, and how long its tasks took. Filter by thread_id.';
revoke all on @extschema@_analytics.node_stats from public;
