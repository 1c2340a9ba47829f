-- Checkpoints, newest first (by checkpoint_id). Each argument narrows the list, null leaves it open: a thread, a namespace
-- ('' is the root graph only), metadata to contain, ids before one, at most so many, one id.
-- p_with_state false leaves values and writes out (null), for lists that only show what there is.
-- The columns are those of get_checkpoint. The page is taken first, by index, and only its own values are then probed.
-- Locks: none. Errors: LG002.
create or replace function @extschema@.list_checkpoints(
  p_thread_id text default null,
  p_checkpoint_ns text default null,
  p_filter jsonb default null,
  p_before text default null,
  p_limit bigint default null,
  p_with_state boolean default true,
  p_checkpoint_id text default null
)
returns table (
  thread_id text,
  checkpoint_ns text,
  checkpoint_id text,
  parent_checkpoint_id text,
  checkpoint jsonb,
  metadata jsonb,
  created_at timestamptz,
  value_channels text[],
  value_types text[],
  value_blobs bytea[],
  write_task_ids text[],
  write_task_paths text[],
  write_idxs integer[],
  write_channels text[],
  write_types text[],
  write_blobs bytea[],
  send_types text[],
  send_blobs bytea[]
)
language plpgsql
stable
parallel safe
security invoker
rows 100
-- An unlimited list is over-estimated far enough to be compiled, which costs more than it saves.
set jit = off
as $fn$
#variable_conflict use_column
declare
  -- The ids asked for, as bounds that an index can use whether or not they were given; U+10FFFF is above every identifier.
  v_from text := coalesce(p_checkpoint_id, '');
  v_to text := coalesce(p_checkpoint_id, U&'\+10FFFF');
  v_below text := coalesce(p_before, U&'\+10FFFF\+10FFFF');
  v_page refcursor;
begin
  if p_thread_id = '' or p_checkpoint_id = '' or p_before = '' or p_limit < 0
    or (p_filter is not null and jsonb_typeof(p_filter) <> 'object') then
    perform @extschema@.reject_argument('list of checkpoints',
      format('thread_id %L, filter %L, before %L, limit %L, checkpoint_id %L.', p_thread_id, p_filter, p_before, p_limit,
        p_checkpoint_id),
      'Pass null, not an empty string, for what is not to be narrowed; a filter is a JSON object; a limit is not negative.');
  end if;

  -- Each way is one statement, which takes the page and then probes what belongs to it: to start a statement for each checkpoint
  -- costs as much as what it reads.
  if p_thread_id is not null and p_checkpoint_ns is not null then
    return query
    select c.*, t.*
    from (
      select c.thread_id, c.checkpoint_ns, c.checkpoint_id, c.parent_checkpoint_id, c.checkpoint, c.metadata, c.created_at
      from @extschema@.checkpoints c
      where c.thread_id = p_thread_id
        and c.checkpoint_ns = p_checkpoint_ns
        and c.checkpoint_id between v_from and v_to
        and c.checkpoint_id < v_below
        and (p_filter is null or c.metadata @> p_filter)
      order by c.checkpoint_id desc
      limit p_limit
    ) c
    left join lateral (
      select *
      from @extschema@.checkpoint_contents(c.thread_id, c.checkpoint_ns, c.checkpoint_id, c.parent_checkpoint_id, c.checkpoint)
      where p_with_state
    ) t on true
    order by c.checkpoint_id desc;
  elsif p_thread_id is not null then
    -- The primary key orders ids within a namespace only: take each namespace's newest, skipping from one to the next.
    return query
    with recursive namespaces as (
      (
        select c.checkpoint_ns
        from @extschema@.checkpoints c
        where c.thread_id = p_thread_id
        order by c.checkpoint_ns
        limit 1
      )
      union all
      select (
        select c.checkpoint_ns
        from @extschema@.checkpoints c
        where c.thread_id = p_thread_id
          and c.checkpoint_ns > n.checkpoint_ns
        order by c.checkpoint_ns
        limit 1
      )
      from namespaces n
      where n.checkpoint_ns is not null
    )
    select c.*, t.*
    from (
      select c.*
      from namespaces n
      cross join lateral (
        select c.thread_id, c.checkpoint_ns, c.checkpoint_id, c.parent_checkpoint_id, c.checkpoint, c.metadata, c.created_at
        from @extschema@.checkpoints c
        where c.thread_id = p_thread_id
          and c.checkpoint_ns = n.checkpoint_ns
          and c.checkpoint_id between v_from and v_to
          and c.checkpoint_id < v_below
          and (p_filter is null or c.metadata @> p_filter)
        order by c.checkpoint_id desc
        limit p_limit
      ) c
      order by c.checkpoint_id desc, c.checkpoint_ns
      limit p_limit
    ) c
    left join lateral (
      select *
      from @extschema@.checkpoint_contents(c.thread_id, c.checkpoint_ns, c.checkpoint_id, c.parent_checkpoint_id, c.checkpoint)
      where p_with_state
    ) t on true
    order by c.checkpoint_id desc, c.checkpoint_ns;
  elsif p_filter is null then
    -- A cursor is planned for its first rows to come fast, that is by the index, whatever limit a plan is made for.
    open v_page no scroll for
      select c.thread_id, c.checkpoint_ns, c.checkpoint_id, c.parent_checkpoint_id, c.checkpoint, c.metadata, c.created_at, t.*
      from (
        -- The expression of the index that orders all threads; see checkpoints_checkpoint_id_idx.
        select *, c.checkpoint_id || '' as position
        from @extschema@.checkpoints c
        where c.checkpoint_id || '' between v_from and v_to
          and c.checkpoint_id || '' < v_below
          and (p_checkpoint_ns is null or c.checkpoint_ns = p_checkpoint_ns)
        order by position desc
        limit p_limit
      ) c
      left join lateral (
        select *
        from @extschema@.checkpoint_contents(c.thread_id, c.checkpoint_ns, c.checkpoint_id, c.parent_checkpoint_id, c.checkpoint)
        where p_with_state
      ) t on true
      order by c.position desc;
    loop
      fetch v_page into thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata, created_at,
        value_channels, value_types, value_blobs, write_task_ids, write_task_paths, write_idxs, write_channels, write_types,
        write_blobs, send_types, send_blobs;
      exit when not found;
      return next;
    end loop;
    close v_page;
  else
    -- Planned at each call, with the filter in it: a cached plan cannot know whether to look for a few checkpoints by the index on
    -- metadata, or to pass over the newest, which suits a filter that most of them match. Not by a cursor: one is planned for its
    -- first rows, and promises itself too much of the newest.
    return query execute format($sql$
      select c.thread_id, c.checkpoint_ns, c.checkpoint_id, c.parent_checkpoint_id, c.checkpoint, c.metadata, c.created_at, t.*
      from (
        select *, c.checkpoint_id || '' as position
        from @extschema@.checkpoints c
        where c.metadata @> %1$L
          and c.checkpoint_id || '' between %2$L and %3$L
          and c.checkpoint_id || '' < %4$L
          and (%5$L is null or c.checkpoint_ns = %5$L)
        order by position desc
        limit %6$L
      ) c
      left join lateral (
        select *
        from @extschema@.checkpoint_contents(c.thread_id, c.checkpoint_ns, c.checkpoint_id, c.parent_checkpoint_id, c.checkpoint)
        where %7$L
      ) t on true
      order by c.position desc
      $sql$, p_filter, v_from, v_to, v_below, p_checkpoint_ns, p_limit, p_with_state);
  end if;
end
$fn$;

comment on function @extschema@.list_checkpoints(text, text, jsonb, text, bigint, boolean, text) is
  'Checkpoints newest first, by thread, namespace, metadata and position; without p_with_state no values and writes.';
revoke all on function @extschema@.list_checkpoints(text, text, jsonb, text, bigint, boolean, text) from public;
