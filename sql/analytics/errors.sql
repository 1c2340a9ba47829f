-- What failed: one row a task that wrote an error. is_current: the thread stands there still, and the task was not run again
-- with success.
create or replace view @extschema@_analytics.errors
with (security_invoker = true)
as
select
  w.thread_id,
  w.checkpoint_ns,
  w.checkpoint_id,
  w.task_id,
  @extschema@.task_node(w.thread_id, w.checkpoint_ns, w.checkpoint_id, w.task_id, w.task_path) as node,
  w.created_at as failed_at,
  w.checkpoint_id = (select n.checkpoint_id from @extschema@.newest_checkpoint(w.thread_id, w.checkpoint_ns) n)
    and not exists (
      select
      from @extschema@.checkpoint_writes d
      where d.thread_id = w.thread_id
        and d.checkpoint_ns = w.checkpoint_ns
        and d.checkpoint_id = w.checkpoint_id
        and d.task_id = w.task_id
        and not @extschema@.is_status_channel(d.channel)
    ) as is_current,
  case when jsonb_typeof(e.error) = 'string' then e.error #>> '{}' else coalesce(e.error ->> 'message', e.error::text) end
    as error,
  e.error as value
from @extschema@.checkpoint_writes w
cross join lateral (select @extschema@.value_to_jsonb(w.type, w.blob) offset 0) e (error)
where w.idx < 0
  and w.channel = '__error__';

comment on view @extschema@_analytics.errors is
  'One row a task that failed: where, when and with what, and whether the thread stands there still.';
revoke all on @extschema@_analytics.errors from public;
