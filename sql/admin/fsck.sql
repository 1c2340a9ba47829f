-- Looks for what is broken, in one thread or (p_thread_id null) in all, and says how to mend it. It changes nothing.
--   missing parent       the parent a checkpoint names does not exist
--   parent cycle         a checkpoint is its own ancestor
--   missing value        a value that tasks wrote is not stored (see missing_values)
--   severed delta chain  the writes that rebuild a delta channel at a head are fewer than its counters say, and no stored
--                        value stands before them
--   version collision    two branches made the same integer version of a channel, so one of them reads the other's value
--   orphan writes        writes whose checkpoint does not exist; a running superstep may still save it
--   orphan blob          a stored value to which no checkpoint refers
--   damaged value        only with p_deep, which decodes every value: bytes that are not what their type says
-- Locks: none. Errors: none.
create or replace function @extschema@.fsck(p_thread_id text default null, p_deep boolean default false)
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
volatile
parallel unsafe
security invoker
rows 10
set jit = off
as $fn$
#variable_conflict use_column
declare
  v_after text := '';
  v_thread text;
  v_more boolean;
begin
  loop
    v_more := false;
    for v_thread in
      select p_thread_id where p_thread_id is not null
      union all
      select t from @extschema@.next_threads(v_after, 1000) t where p_thread_id is null
    loop
      v_after := v_thread;
      v_more := p_thread_id is null;
      return query select f.* from @extschema@.fsck_thread(v_thread) f;
      if p_deep then
        return query select f.* from @extschema@.fsck_values(v_thread) f;
      end if;
    end loop;
    exit when not v_more;
  end loop;

  -- Threads without any checkpoint, which the walk over checkpoints does not meet.
  if p_thread_id is null then
    return query
    select 'orphan writes', w.thread_id, w.checkpoint_ns, w.checkpoint_id, null::text,
      format('Number of writes: %s.', count(*)), 'If no run is under way, remove them with delete_thread.'
    from @extschema@.checkpoint_writes w
    where not exists (select from @extschema@.checkpoints c where c.thread_id = w.thread_id)
    group by w.thread_id, w.checkpoint_ns, w.checkpoint_id;
    return query
    select 'orphan blob', b.thread_id, b.checkpoint_ns, null::text, b.channel,
      format('Version %s.', b.version), 'Remove it with delete_thread.'
    from @extschema@.checkpoint_blobs b
    where not exists (select from @extschema@.checkpoints c where c.thread_id = b.thread_id);
  end if;
end
$fn$;

comment on function @extschema@.fsck(text, boolean) is
  'Looks for broken state in one thread or all, one row a finding with its remedy; changes nothing.';
revoke all on function @extschema@.fsck(text, boolean) from public;
