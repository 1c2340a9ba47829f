-- What the writes of one task tell about it. Always one row, for a task that has written nothing too.
--   finished    whether the task is done: whatever is done has written something, if only a mark that it has nothing to write
--   error       what it failed with; null if it did not
--   interrupts  all that it asked, answered or not, as [{"value": ..., "id": ...}]
--   result      what it wrote to each channel of the state; several writes to one channel are {"$writes": [...]}, and the
--               value of a functional task stands for itself. Null until the task is done
-- Locks: none. Errors: LG006 for damaged values.
create or replace function @extschema@.task_outcome(
  p_thread_id text,
  p_checkpoint_ns text,
  p_checkpoint_id text,
  p_task_id text
)
returns table (finished boolean, error jsonb, interrupts jsonb, result jsonb)
language sql
stable
parallel safe
security invoker
rows 1
as $fn$
  with writes as (
    select w.channel, w.task_path, w.idx, @extschema@.value_to_jsonb(w.type, w.blob) as value,
      @extschema@.is_status_channel(w.channel) as is_status
    from @extschema@.checkpoint_writes w
    where w.thread_id = p_thread_id
      and w.checkpoint_ns = p_checkpoint_ns
      and w.checkpoint_id = p_checkpoint_id
      and w.task_id = p_task_id
  ), written as (
    -- A channel's first value that is not null, and what came after it.
    select w.channel, array_agg(w.value order by w.task_path, w.idx) filter (where w.is_kept) as kept
    from (
      select w.*, bool_or(w.value <> 'null') over (partition by w.channel order by w.task_path, w.idx) as is_kept
      from writes w
      where not w.is_status and @extschema@.is_state_channel(w.channel)
    ) w
    group by w.channel
  )
  select
    exists (select from writes w where not w.is_status),
    (select w.value from writes w where w.channel = '__error__' order by w.task_path, w.idx limit 1),
    coalesce((
      select jsonb_agg(i.interrupt order by w.task_path, w.idx, i.position)
      from writes w
      cross join lateral jsonb_array_elements(@extschema@.interrupt_fields(w.value)) with ordinality i (interrupt, position)
      where w.channel = '__interrupt__'
    ), '[]'),
    case
      when exists (select from writes w where w.channel = '__return__')
        then (select w.value from writes w where w.channel = '__return__' order by w.task_path, w.idx limit 1)
      when exists (select from writes w where not w.is_status)
        then coalesce((
          select jsonb_object_agg(w.channel, case
            when cardinality(w.kept) > 1 then jsonb_build_object('$writes', to_jsonb(w.kept))
            else coalesce(w.kept[1], 'null') end)
          from written w
        ), '{}')
    end
$fn$;

comment on function @extschema@.task_outcome(text, text, text, text) is
  'What the writes of one task tell about it: whether it is done, failed or asks, and its result.';
revoke all on function @extschema@.task_outcome(text, text, text, text) from public;
