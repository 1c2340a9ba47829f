-- The state at a checkpoint, decoded: one object, a field a channel, channels that only steer the graph included. Delta
-- channels are rebuilt (see delta_values). Channels that nothing was written to are not there.
-- Locks: none. Errors: LG002; LG006 for damaged values.
create or replace function @extschema@.state_values(
  p_thread_id text,
  p_checkpoint_ns text,
  p_checkpoint_id text,
  p_checkpoint jsonb,
  p_metadata jsonb,
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
  v_values jsonb;
  v_unstored text[];
begin
  select coalesce(jsonb_object_agg(v.channel, @extschema@.without_snapshot(
    case when v.type is null then v.inline_value else @extschema@.value_to_jsonb(v.type, v.blob) end)), '{}')
  into v_values
  from @extschema@.checkpoint_values(p_thread_id, p_checkpoint_ns, p_checkpoint) v;

  select array_agg(k.channel) into v_unstored
  from jsonb_object_keys(p_checkpoint -> 'channel_versions') k (channel)
  where not v_values ? k.channel and @extschema@.is_state_channel(k.channel);
  -- Most often metadata says which of them are delta channels; only where it leaves some open are other checkpoints asked.
  if not coalesce(p_metadata -> 'counters_since_delta_snapshot' ?& v_unstored, false) then
    select array_agg(u.channel) into v_unstored
    from unnest(v_unstored) u (channel)
    where u.channel in (select d.channel from @extschema@.delta_channels(p_thread_id, p_checkpoint_ns) d (channel));
  end if;
  if v_unstored is not null then
    select v_values || coalesce(jsonb_object_agg(d.channel, d.value), '{}') into v_values
    from @extschema@.delta_values(p_thread_id, p_checkpoint_ns, p_checkpoint_id, v_unstored, p_reducers) d;
  end if;
  return v_values;
end
$fn$;

comment on function @extschema@.state_values(text, text, text, jsonb, jsonb, jsonb) is
  'The decoded values of all channels at a checkpoint as one object, delta channels rebuilt.';
revoke all on function @extschema@.state_values(text, text, text, jsonb, jsonb, jsonb) from public;
