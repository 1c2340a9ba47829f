-- The values of delta channels at a checkpoint, rebuilt: one row a channel, of those that have no value of their own there.
-- Messages are merged by ID, lists joined, maps merged, and of anything else the last write stands; p_reducers names what is
-- otherwise, as {"channel": "replace" | "append" | "merge" | "add_messages" | "delta_messages"}.
-- Locks: none. Errors: LG002; LG006 for damaged values.
create or replace function @extschema@.delta_values(
  p_thread_id text,
  p_checkpoint_ns text,
  p_checkpoint_id text,
  p_channels text[],
  p_reducers jsonb default null
)
returns table (channel text, value jsonb)
language plpgsql
stable
parallel safe
security invoker
rows 4
set search_path = ''
as $fn$
#variable_conflict use_column
declare
  v_row record;
  v_write jsonb;
begin
  channel := null;
  for v_row in
    select h.channel, h.kind, h.type, h.blob, h.value
    from @extschema@.delta_channel_history(p_thread_id, p_checkpoint_ns, p_checkpoint_id, p_channels) h
  loop
    if v_row.channel is distinct from channel then
      if channel is not null then
        return next;
      end if;
      channel := v_row.channel;
      value := null;
    end if;
    v_write := case when v_row.type is null then v_row.value else @extschema@.value_to_jsonb(v_row.type, v_row.blob) end;
    if v_row.kind = 'seed' then
      value := @extschema@.without_snapshot(v_write);
    else
      value := @extschema@.reduce_values(value, array[v_write], coalesce(
        p_reducers ->> channel,
        case
          when @extschema@.is_message(v_write) or @extschema@.is_message(v_write -> 0) or @extschema@.is_message(value -> 0)
            then 'delta_messages'
          when jsonb_typeof(v_write) = 'array' then 'append'
          when jsonb_typeof(v_write) = 'object' and not v_write ? 'lc_type' then 'merge'
          else 'replace'
        end
      ));
    end if;
  end loop;
  if channel is not null then
    return next;
  end if;
end
$fn$;

comment on function @extschema@.delta_values(text, text, text, text[], jsonb) is
  'The values of delta channels at a checkpoint, rebuilt from their history.';
revoke all on function @extschema@.delta_values(text, text, text, text[], jsonb) from public;
