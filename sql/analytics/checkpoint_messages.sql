-- The messages in the state at a checkpoint, one row each, of every channel that holds some (a list of messages, or one).
-- What is not in a message is null. Tokens are those that LangChain (usage_metadata) or the model's own answer reports.
-- Locks: none. Errors: LG006 for damaged values.
create or replace function @extschema@.checkpoint_messages(
  p_thread_id text,
  p_checkpoint_ns text,
  p_checkpoint_id text,
  p_checkpoint jsonb,
  p_metadata jsonb
)
returns table (
  channel text,
  "position" integer,
  message_id text,
  role text,
  name text,
  text text,
  tool_calls jsonb,
  tool_call_id text,
  model text,
  input_tokens bigint,
  output_tokens bigint,
  total_tokens bigint,
  first_checkpoint_id text,
  first_created_at timestamptz,
  message jsonb
)
language plpgsql
stable
parallel safe
security invoker
rows 30
set jit = off
as $fn$
#variable_conflict use_column
declare
  v_values jsonb := @extschema@.state_values(p_thread_id, p_checkpoint_ns, p_checkpoint_id, p_checkpoint, p_metadata);
  v_messages jsonb;
begin
  for channel, v_messages in
    select v.key, case when jsonb_typeof(v.value) = 'array' then v.value else jsonb_build_array(v.value) end
    from jsonb_each(v_values) v
    where @extschema@.is_state_channel(v.key)
      and (
        @extschema@.is_message(v.value)
        or jsonb_typeof(v.value) = 'array'
          and exists (select from jsonb_array_elements(v.value) e (value) where @extschema@.is_message(e.value))
      )
    order by v.key collate "C"
  loop
    return query
    select channel, m.position::integer, f.fields ->> 'id', @extschema@.message_role(f.fields), f.fields ->> 'name',
      @extschema@.message_text(f.fields -> 'content'),
      coalesce(nullif(f.fields -> 'tool_calls', '[]'), f.fields #> '{additional_kwargs,tool_calls}'),
      f.fields ->> 'tool_call_id',
      coalesce(f.fields #>> '{response_metadata,model_name}', f.fields #>> '{response_metadata,model}'),
      u.input, u.output, coalesce(u.total, u.input + u.output),
      o.checkpoint_id, o.created_at, m.message
    from jsonb_array_elements(v_messages) with ordinality m (message, position)
    cross join lateral (select @extschema@.message_fields(m.message)) f (fields)
    cross join lateral (
      select
        @extschema@.jsonb_bigint(coalesce(t.usage -> 'input_tokens', t.usage -> 'prompt_tokens')),
        @extschema@.jsonb_bigint(coalesce(t.usage -> 'output_tokens', t.usage -> 'completion_tokens')),
        @extschema@.jsonb_bigint(t.usage -> 'total_tokens')
      from (
        select coalesce(nullif(f.fields -> 'usage_metadata', 'null'), f.fields #> '{response_metadata,token_usage}',
          f.fields #> '{response_metadata,usage}')
      ) t (usage)
    ) u (input, output, total)
    left join @extschema@.message_origins(p_thread_id, p_checkpoint_ns, p_checkpoint_id, channel) o
      on o.key = @extschema@.message_key(m.message)
    where @extschema@.is_message(m.message)
    order by m.position;
  end loop;
end
$fn$;

comment on function @extschema@.checkpoint_messages(text, text, text, jsonb, jsonb) is
  'The messages in the state at a checkpoint, one row each, with role, text, tool calls, tokens and first appearance.';
revoke all on function @extschema@.checkpoint_messages(text, text, text, jsonb, jsonb) from public;
