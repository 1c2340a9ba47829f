-- Blobs of a thread's namespaces to which no checkpoint refers, leaving aside those given as parallel arrays, which are about
-- to go. In a FROM clause the planner inlines this function.
-- Locks: none. Errors: none.
create or replace function @extschema@.unreferenced_blobs(
  p_thread_id text,
  p_namespaces text[],
  p_going_namespaces text[],
  p_going_ids text[]
)
returns table (checkpoint_ns text, channel text, version text)
language sql
stable
parallel safe
security invoker
rows 100
as $fn$
  select b.checkpoint_ns, b.channel, b.version
  from @extschema@.checkpoint_blobs b
  where b.thread_id = p_thread_id
    and b.checkpoint_ns = any (p_namespaces)
    and not exists (
      select
      from @extschema@.checkpoints c
      cross join lateral jsonb_each_text(c.checkpoint -> 'channel_versions') v
      where c.thread_id = p_thread_id
        and c.checkpoint_ns = any (p_namespaces)
        and c.checkpoint_ns = b.checkpoint_ns
        and v.key = b.channel
        and v.value = b.version
        and not exists (
          select
          from unnest(p_going_namespaces, p_going_ids) g (checkpoint_ns, checkpoint_id)
          where g.checkpoint_ns = c.checkpoint_ns and g.checkpoint_id = c.checkpoint_id
        )
    )
$fn$;

comment on function @extschema@.unreferenced_blobs(text, text[], text[], text[]) is
  'Blobs to which no checkpoint refers, apart from those given, which are about to go.';
revoke all on function @extschema@.unreferenced_blobs(text, text[], text[], text[]) from public;
