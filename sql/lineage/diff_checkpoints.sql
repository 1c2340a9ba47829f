-- How the values of two checkpoints differ, channel by channel: 'added' where only p_b has one, 'removed' where only p_a has,
-- 'changed' where both have and they differ. Sizes are those of the serialized values, null where it stands inline; values
-- are decoded. Delta channels show what each checkpoint itself keeps.
-- Locks: none. Errors: LG001 when one of them does not exist; LG006 for a damaged value.
create or replace function @extschema@.diff_checkpoints(
  p_thread_id text,
  p_checkpoint_ns text,
  p_a text,
  p_b text
)
returns table (
  channel text,
  change text,
  a_version text,
  b_version text,
  a_bytes integer,
  b_bytes integer,
  a_value jsonb,
  b_value jsonb
)
language plpgsql
stable
parallel safe
security invoker
rows 10
set search_path = ''
as $fn$
#variable_conflict use_column
declare
  v_a jsonb;
  v_b jsonb;
begin
  select c.checkpoint into v_a
  from @extschema@.checkpoints c
  where c.thread_id = p_thread_id and c.checkpoint_ns = p_checkpoint_ns and c.checkpoint_id = p_a;
  if not found then
    perform @extschema@.reject_missing_checkpoint(p_thread_id, p_checkpoint_ns, p_a);
  end if;
  select c.checkpoint into v_b
  from @extschema@.checkpoints c
  where c.thread_id = p_thread_id and c.checkpoint_ns = p_checkpoint_ns and c.checkpoint_id = p_b;
  if not found then
    perform @extschema@.reject_missing_checkpoint(p_thread_id, p_checkpoint_ns, p_b);
  end if;

  return query
  with a as (
    select s.* from @extschema@.checkpoint_values(p_thread_id, p_checkpoint_ns, v_a) s
  ), b as (
    select s.* from @extschema@.checkpoint_values(p_thread_id, p_checkpoint_ns, v_b) s
  )
  select channel,
    case when a.is_value is null then 'added' when b.is_value is null then 'removed' else 'changed' end,
    v_a -> 'channel_versions' ->> channel, v_b -> 'channel_versions' ->> channel,
    length(a.blob), length(b.blob),
    case when a.type is null then a.inline_value else @extschema@.value_to_jsonb(a.type, a.blob) end,
    case when b.type is null then b.inline_value else @extschema@.value_to_jsonb(b.type, b.blob) end
  from a
  full join b using (channel)
  where a.is_value is null or b.is_value is null
    or (a.type, a.blob, a.inline_value) is distinct from (b.type, b.blob, b.inline_value)
  order by channel;
end
$fn$;

comment on function @extschema@.diff_checkpoints(text, text, text, text) is
  'Which channels two checkpoints of a namespace differ in, with sizes and decoded values.';
revoke all on function @extschema@.diff_checkpoints(text, text, text, text) from public;
