-- The node that a channel triggers: __start__, branch:to:<node>, or join:<node>+<node>:<node> after an edge from several
-- nodes. NULL for any other channel.
-- Locks: none. Errors: none.
create or replace function @extschema@.triggered_node(p_channel text)
returns text
language sql
immutable
strict
parallel safe
security invoker
as $fn$
  select case
    when p_channel = '__start__' then p_channel
    when starts_with(p_channel, 'branch:to:') then substr(p_channel, 11)
    when starts_with(p_channel, 'join:') then substring(p_channel from '[^:]*$')
  end
$fn$;

comment on function @extschema@.triggered_node(text) is 'The node that a channel triggers; null for channels that trigger none.';
revoke all on function @extschema@.triggered_node(text) from public;
