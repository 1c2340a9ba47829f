-- How a channel takes a write, as far as the stored data shows it; nothing stores the reducer itself. In this order:
--   messages are merged by ID; text, numbers and the like replace what was there
--   lists and maps do what they did before: the nearest ancestor that held something and got a write shows whether its
--   child has both or only what was written (looked for in the last 64 ancestors)
--   where no step shows it, lists are joined, and a map replaces
-- Locks: none. Errors: LG006 for damaged values.
create or replace function @extschema@.channel_reducer(
  p_thread_id text,
  p_checkpoint_ns text,
  p_checkpoint_id text,
  p_channel text,
  p_current jsonb,
  p_write jsonb
)
returns text
language plpgsql
stable
parallel safe
security invoker
set search_path = ''
as $fn$
declare
  v_adding text;
  v_writes jsonb[];
  v_step record;
begin
  if @extschema@.is_message(p_write) or @extschema@.is_message(p_write -> 0) or @extschema@.is_message(p_current -> 0) then
    return 'add_messages';
  end if;
  v_adding := case jsonb_typeof(p_write) when 'array' then 'append' when 'object' then 'merge' end;
  if v_adding is null or p_write ? 'lc_type' then
    return 'replace';
  end if;
  for v_step in
    select p.checkpoint_id, b.value as before, a.value as after
    from (
      select n.checkpoint_id, n.parent_checkpoint_id
      from @extschema@.ancestors(p_thread_id, p_checkpoint_ns, p_checkpoint_id, 64) n
    ) n
    join @extschema@.checkpoints c
      on c.thread_id = p_thread_id and c.checkpoint_ns = p_checkpoint_ns and c.checkpoint_id = n.checkpoint_id
    join @extschema@.checkpoints p
      on p.thread_id = p_thread_id and p.checkpoint_ns = p_checkpoint_ns and p.checkpoint_id = n.parent_checkpoint_id
    cross join lateral @extschema@.checkpoint_channel_value(p_thread_id, p_checkpoint_ns, c.checkpoint, p_channel) a (value)
    cross join lateral @extschema@.checkpoint_channel_value(p_thread_id, p_checkpoint_ns, p.checkpoint, p_channel) b (value)
    where c.checkpoint -> 'channel_versions' -> p_channel <> p.checkpoint -> 'channel_versions' -> p_channel
      and jsonb_typeof(a.value) = jsonb_typeof(p_write)
      and jsonb_typeof(b.value) = jsonb_typeof(p_write)
      and b.value not in ('[]', '{}')
    order by c.checkpoint_id desc
  loop
    select array_agg(@extschema@.value_to_jsonb(w.type, w.blob) order by w.task_path, w.task_id, w.idx) into v_writes
    from @extschema@.checkpoint_writes w
    where w.thread_id = p_thread_id
      and w.checkpoint_ns = p_checkpoint_ns
      and w.checkpoint_id = v_step.checkpoint_id
      and w.channel = p_channel;
    continue when v_writes is null
      or v_step.after = @extschema@.reduce_values(v_step.before, v_writes, 'replace')
        and v_step.after = @extschema@.reduce_values(v_step.before, v_writes, v_adding);
    return case when v_step.after = @extschema@.reduce_values(v_step.before, v_writes, v_adding) then v_adding
      else 'replace' end;
  end loop;
  return case v_adding when 'append' then 'append' else 'replace' end;
end
$fn$;

comment on function @extschema@.channel_reducer(text, text, text, text, jsonb, jsonb) is
  'How a channel takes a write, as far as the stored data shows it.';
revoke all on function @extschema@.channel_reducer(text, text, text, text, jsonb, jsonb) from public;
