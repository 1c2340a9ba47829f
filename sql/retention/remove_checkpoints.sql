-- Removes checkpoints of a thread with their writes, and the blobs to which no other refers. A child that stays gets an
-- honest null as parent. Only what removable_checkpoints returned may be given here. With p_dry_run it removes nothing and
-- counts the same.
-- Writes go by the checkpoint they belong to, because a runtime may save writes before their checkpoint; in p_whole_namespaces
-- those whose checkpoint does not exist go, too.
-- p_namespaces are all that were looked at; blobs that nothing refers to go from all of these.
-- Locks: the rows it removes. Errors: LG002 where the transaction may not see what was saved since it began.
create or replace function @extschema@.remove_checkpoints(
  p_thread_id text,
  p_namespaces text[],
  p_going_namespaces text[],
  p_going_ids text[],
  p_whole_namespaces text[],
  p_dry_run boolean
)
returns table (checkpoints bigint, checkpoint_blobs bigint, checkpoint_writes bigint, bytes bigint)
language plpgsql
volatile
parallel unsafe
security invoker
rows 1
set jit = off
-- Everything is joined to whole namespaces; without statistics a nested loop would compare every pair.
set enable_nestloop = off
as $fn$
#variable_conflict use_column
begin
  -- An older snapshot would hide checkpoints and pins that another transaction made before it let go of the thread.
  if not p_dry_run and current_setting('transaction_isolation') <> 'read committed' then
    perform @extschema@.reject_argument('isolation level',
      format('The transaction is %s, and may not see all that was saved and pinned.', current_setting('transaction_isolation')),
      'Remove checkpoints in a read committed transaction.');
  end if;
  if p_dry_run then
    return query
    with going as materialized (
      select g.checkpoint_ns, g.checkpoint_id
      from unnest(p_going_namespaces, p_going_ids) g (checkpoint_ns, checkpoint_id)
    ), written as materialized (
      -- Whose writes go.
      select * from going
      union all
      (
        select t.checkpoint_ns, t.checkpoint_id
        from @extschema@.checkpoint_writes t
        where t.thread_id = p_thread_id and t.checkpoint_ns = any (p_whole_namespaces)
        except
        select t.checkpoint_ns, t.checkpoint_id
        from @extschema@.checkpoints t
        where t.thread_id = p_thread_id and t.checkpoint_ns = any (p_whole_namespaces)
      )
    ), b as (
      select coalesce(pg_column_size(t.blob), 0) as bytes
      from @extschema@.checkpoint_blobs t
      join @extschema@.unreferenced_blobs(p_thread_id, p_namespaces, p_going_namespaces, p_going_ids) u
        on u.checkpoint_ns = t.checkpoint_ns and u.channel = t.channel and u.version = t.version
      where t.thread_id = p_thread_id
    ), w as (
      select pg_column_size(t.blob) as bytes
      from @extschema@.checkpoint_writes t
      where t.thread_id = p_thread_id
        and (t.checkpoint_ns, t.checkpoint_id) in (select * from written)
    ), c as (
      select pg_column_size(t.checkpoint) + pg_column_size(t.metadata) as bytes
      from @extschema@.checkpoints t
      where t.thread_id = p_thread_id
        and (t.checkpoint_ns, t.checkpoint_id) in (select * from going)
    )
    select (select count(*) from c), (select count(*) from b), (select count(*) from w),
      (select coalesce(sum(a.bytes), 0)::bigint
       from (select c.bytes from c union all select b.bytes from b union all select w.bytes from w) a);
    return;
  end if;

  return query
  with going as materialized (
    select g.checkpoint_ns, g.checkpoint_id
    from unnest(p_going_namespaces, p_going_ids) g (checkpoint_ns, checkpoint_id)
  ), written as materialized (
    -- Whose writes go.
    select * from going
    union all
    (
      select t.checkpoint_ns, t.checkpoint_id
      from @extschema@.checkpoint_writes t
      where t.thread_id = p_thread_id and t.checkpoint_ns = any (p_whole_namespaces)
      except
      select t.checkpoint_ns, t.checkpoint_id
      from @extschema@.checkpoints t
      where t.thread_id = p_thread_id and t.checkpoint_ns = any (p_whole_namespaces)
    )
  ), c as (
    delete from @extschema@.checkpoints t
    where t.thread_id = p_thread_id
      and (t.checkpoint_ns, t.checkpoint_id) in (select * from going)
    returning pg_column_size(t.checkpoint) + pg_column_size(t.metadata) as bytes
  ), w as (
    delete from @extschema@.checkpoint_writes t
    where t.thread_id = p_thread_id
      and (t.checkpoint_ns, t.checkpoint_id) in (select * from written)
    returning pg_column_size(t.blob) as bytes
  ), b as (
    delete from @extschema@.checkpoint_blobs t
    using @extschema@.unreferenced_blobs(p_thread_id, p_namespaces, p_going_namespaces, p_going_ids) u
    where t.thread_id = p_thread_id
      and u.checkpoint_ns = t.checkpoint_ns
      and u.channel = t.channel
      and u.version = t.version
    returning coalesce(pg_column_size(t.blob), 0) as bytes
  ), orphans as (
    update @extschema@.checkpoints t
    set parent_checkpoint_id = null
    where t.thread_id = p_thread_id
      and (t.checkpoint_ns, t.parent_checkpoint_id) in (select * from going)
      and not exists (
        select from going g where g.checkpoint_ns = t.checkpoint_ns and g.checkpoint_id = t.checkpoint_id
      )
  )
  select (select count(*) from c), (select count(*) from b), (select count(*) from w),
    (select coalesce(sum(a.bytes), 0)::bigint
     from (select c.bytes from c union all select b.bytes from b union all select w.bytes from w) a);
end
$fn$;

comment on function @extschema@.remove_checkpoints(text, text[], text[], text[], text[], boolean) is
  'Removes checkpoints that can go, with their writes and the blobs nothing else refers to; or counts what that would be.';
revoke all on function @extschema@.remove_checkpoints(text, text[], text[], text[], text[], boolean) from public;
