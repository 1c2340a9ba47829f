-- Heads of a namespace whose delta channels cannot be rebuilt whole: no stored value begins the history, and fewer
-- checkpoints wrote to the channel than the head's counters say since then.
-- Locks: none. Errors: LG006 when parents run in a circle.
create or replace function @extschema@.severed_delta_chains(p_thread_id text, p_checkpoint_ns text)
returns table (
  problem text,
  thread_id text,
  checkpoint_ns text,
  checkpoint_id text,
  channel text,
  detail text,
  remedy text
)
language sql
stable
parallel safe
security invoker
rows 1
set search_path = ''
as $fn$
  select 'severed delta chain', p_thread_id, p_checkpoint_ns, c.checkpoint_id, k.channel,
    format('%s updates since the last stored value are expected, %s are left and no stored value.', k.updates, h.updates),
    'Restore the removed ancestors from a backup; then prune with this schema''s prune, which keeps them.'
  from @extschema@.checkpoints c
  cross join lateral (
    select e.key as channel, (e.value ->> 0)::numeric as updates
    from jsonb_each(case when jsonb_typeof(c.metadata -> 'counters_since_delta_snapshot') = 'object'
      then c.metadata -> 'counters_since_delta_snapshot' end) e
    where jsonb_typeof(e.value -> 0) = 'number'
  ) k
  cross join lateral (
    select count(distinct w.checkpoint_id) filter (where w.kind = 'write') as updates,
      coalesce(bool_or(w.kind = 'seed'), false) as has_seed
    from @extschema@.delta_channel_history(p_thread_id, p_checkpoint_ns, c.checkpoint_id, array[k.channel]) w
  ) h
  where c.thread_id = p_thread_id
    and c.checkpoint_ns = p_checkpoint_ns
    and not exists (
      select
      from @extschema@.checkpoints n
      where n.thread_id = p_thread_id and n.checkpoint_ns = p_checkpoint_ns and n.parent_checkpoint_id = c.checkpoint_id
    )
    and not h.has_seed
    and h.updates < k.updates
    and not exists (
      select from @extschema@.stored_value(p_thread_id, p_checkpoint_ns, c.checkpoint, k.channel)
    )
$fn$;

comment on function @extschema@.severed_delta_chains(text, text) is
  'Heads of a namespace whose delta channels cannot be rebuilt whole.';
revoke all on function @extschema@.severed_delta_chains(text, text) from public;
