-- The findings of fsck about one thread, all but damaged values.
-- Locks: none. Errors: none.
create or replace function @extschema@.fsck_thread(p_thread_id text)
returns table (
  problem text,
  thread_id text,
  checkpoint_ns text,
  checkpoint_id text,
  channel text,
  detail text,
  remedy text
)
language plpgsql
stable
parallel safe
security invoker
rows 10
set jit = off
set enable_nestloop = off
as $fn$
#variable_conflict use_column
declare
  v_ns text;
  v_has_cycle boolean;
begin
  return query
  select 'missing parent', c.thread_id, c.checkpoint_ns, c.checkpoint_id, null::text,
    format('Its parent %s does not exist.', c.parent_checkpoint_id),
    'Harmless without delta channels; set parent_checkpoint_id to null to say so.'
  from @extschema@.checkpoints c
  left join @extschema@.checkpoints p
    on p.thread_id = p_thread_id and p.checkpoint_ns = c.checkpoint_ns and p.checkpoint_id = c.parent_checkpoint_id
  where c.thread_id = p_thread_id and c.parent_checkpoint_id is not null and p.checkpoint_id is null;

  return query
  select 'orphan writes', p_thread_id, w.checkpoint_ns, w.checkpoint_id, null::text, format('Number of writes: %s.', count(*)),
    'If no run is under way, they can be deleted.'
  from @extschema@.checkpoint_writes w
  left join @extschema@.checkpoints c
    on c.thread_id = p_thread_id and c.checkpoint_ns = w.checkpoint_ns and c.checkpoint_id = w.checkpoint_id
  where w.thread_id = p_thread_id and c.checkpoint_id is null
  group by w.checkpoint_ns, w.checkpoint_id;

  for v_ns in
    select distinct c.checkpoint_ns from @extschema@.checkpoints c where c.thread_id = p_thread_id
    union
    select distinct b.checkpoint_ns from @extschema@.checkpoint_blobs b where b.thread_id = p_thread_id
  loop
    return query
    select 'orphan blob', p_thread_id, v_ns, null::text, u.channel, format('Version %s.', u.version),
      'The next prune of the thread removes it.'
    from @extschema@.unreferenced_blobs(p_thread_id, array[v_ns], '{}', '{}') u;

    select coalesce(bool_or(t.problem = 'cycle'), false) into v_has_cycle
    from @extschema@.thread_tree(p_thread_id, v_ns) t;
    if v_has_cycle then
      return query
      select 'parent cycle', p_thread_id, v_ns, t.checkpoint_id, null::text, 'Its parents run in a circle.',
        'Set parent_checkpoint_id of the right row to null; thread_tree() shows the loop.'
      from @extschema@.thread_tree(p_thread_id, v_ns) t
      where t.problem = 'cycle';
    else
      return query select s.* from @extschema@.severed_delta_chains(p_thread_id, v_ns) s;
    end if;

    return query
    select 'missing value', p_thread_id, v_ns, c.checkpoint_id, m.channel, format('Version %s is not stored.', m.version),
      format('rebuild_blobs(%L, %L, %L) recovers it from the parent and the writes.', p_thread_id, v_ns, c.checkpoint_id)
    from @extschema@.checkpoints c
    cross join lateral @extschema@.missing_values(p_thread_id, v_ns, c.checkpoint_id) m
    where c.thread_id = p_thread_id and c.checkpoint_ns = v_ns;

    -- Two checkpoints make a version when each names it and its parent does not. A copy beside its original does, too.
    return query
    select 'version collision', p_thread_id, v_ns, max(c.checkpoint_id), v.key,
      format('Version %s was made by %s.', v.value, string_agg(c.checkpoint_id, ' and by ' order by c.checkpoint_id)),
      'One of these branches reads the other''s value. Fork with copy_blobs, or give each branch a thread of its own.'
    from @extschema@.checkpoints c
    cross join lateral jsonb_each(c.checkpoint -> 'channel_versions') v
    left join @extschema@.checkpoints p
      on p.thread_id = p_thread_id and p.checkpoint_ns = v_ns and p.checkpoint_id = c.parent_checkpoint_id
    where c.thread_id = p_thread_id
      and c.checkpoint_ns = v_ns
      and jsonb_typeof(v.value) = 'number'
      and v.value is distinct from p.checkpoint -> 'channel_versions' -> v.key
      and c.metadata ->> 'source' is distinct from 'fork'
      and exists (
        select
        from @extschema@.checkpoint_blobs b
        where b.thread_id = p_thread_id and b.checkpoint_ns = v_ns and b.channel = v.key and b.version = v.value::text
      )
    group by v.key, v.value
    having count(*) > 1;
  end loop;
end
$fn$;

comment on function @extschema@.fsck_thread(text) is 'The findings of fsck about one thread, all but damaged values.';
revoke all on function @extschema@.fsck_thread(text) from public;
