-- Conversations: the messages in the newest state of each thread and namespace, one row each. checkpoint_id and
-- first_created_at are those of the checkpoint in which the message first appears.
create or replace view @extschema@_analytics.messages
with (security_invoker = true)
as
select
  c.thread_id,
  c.checkpoint_ns,
  m.channel,
  m.position,
  m.message_id,
  m.role,
  m.name,
  m.text,
  m.tool_calls,
  m.tool_call_id,
  m.model,
  m.input_tokens,
  m.output_tokens,
  m.total_tokens,
  m.first_checkpoint_id as checkpoint_id,
  m.first_created_at,
  m.message
from @extschema@.checkpoints c
cross join lateral @extschema@.checkpoint_messages(c.thread_id, c.checkpoint_ns, c.checkpoint_id, c.checkpoint, c.metadata) m
where c.checkpoint_id = (select n.checkpoint_id from @extschema@.newest_checkpoint(c.thread_id, c.checkpoint_ns) n);

comment on view @extschema@_analytics.messages is
  'One row a message of a thread''s newest state: who said what, with which model and how many tokens, and since when. Filter by thread_id.';
revoke all on @extschema@_analytics.messages from public;
