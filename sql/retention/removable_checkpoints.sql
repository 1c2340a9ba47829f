-- Which of the given checkpoints of a thread can go without changing what any other reads back. Those that are pinned stay
-- (unless p_ignore_pins), with the newest checkpoint of each subgraph's call that a pinned one of the root graph made, and so
-- does every checkpoint that one which stays depends on:
--   its parent, while it does not keep a delta channel's value itself and an ancestor contributes to it (a stored value
--   or a write); the parent then depends on its own parent in the same way, up to the last that contributes
--   its parent, if it is older than format 4 and the parent's tasks sent packets
-- p_namespaces and p_checkpoint_ids are parallel.
-- Locks: none. Errors: none of its own.
create or replace function @extschema@.removable_checkpoints(
  p_thread_id text,
  p_namespaces text[],
  p_checkpoint_ids text[],
  p_ignore_pins boolean default false
)
returns table (checkpoint_ns text, checkpoint_id text)
language plpgsql
stable
parallel safe
security invoker
rows 100
set jit = off
-- Parents, pins and writes are joined once to all checkpoints of a namespace.
set enable_nestloop = off
as $fn$
#variable_conflict use_column
declare
  v_ns text;
  v_ids text[];
  v_parents integer[];     -- position of the parent, or null
  v_count integer;
  v_stays boolean[];
  v_depends boolean[];     -- whether it needs its parent
  v_channel text;
  v_stored boolean[];      -- whether it keeps the channel's value itself
  v_contributes boolean[]; -- whether it, or an ancestor, has something to say about the channel
  v_path integer[] := '{}';
  v_top integer;
  v_at integer;
  v_found boolean;
  v_going text[];
begin
  for v_ns in select distinct u.checkpoint_ns from unnest(p_namespaces) u (checkpoint_ns) loop
    with given as (
      select u.checkpoint_id
      from unnest(p_namespaces, p_checkpoint_ids) u (checkpoint_ns, checkpoint_id)
      where u.checkpoint_ns = v_ns
    ), numbered as (
      select c.checkpoint_id, c.parent_checkpoint_id, @extschema@.expects_sends(c.checkpoint) as sends_expected,
        (row_number() over (order by c.checkpoint_id))::integer as n
      from @extschema@.checkpoints c
      where c.thread_id = p_thread_id and c.checkpoint_ns = v_ns
    ), senders as (
      select distinct w.checkpoint_id
      from @extschema@.checkpoint_writes w
      where w.thread_id = p_thread_id and w.checkpoint_ns = v_ns and w.channel = '__pregel_tasks'
    ), pins as (
      select p.checkpoint_id
      from @extschema@.checkpoint_pins p
      where p.thread_id = p_thread_id and p.checkpoint_ns = v_ns and not p_ignore_pins
      union
      select n.checkpoint_id
      from (
        select c.checkpoint_id, c.metadata -> 'parents' ->> '' as root
        from @extschema@.checkpoints c
        where c.thread_id = p_thread_id and c.checkpoint_ns = v_ns and v_ns like '%:%'
        order by c.checkpoint_id desc
        limit 1
      ) n
      join @extschema@.checkpoint_pins p
        on p.thread_id = p_thread_id and p.checkpoint_ns = '' and p.checkpoint_id = n.root and not p_ignore_pins
    )
    select array_agg(c.checkpoint_id order by c.n), array_agg(p.n order by c.n),
      array_agg(g.checkpoint_id is null or i.checkpoint_id is not null order by c.n),
      array_agg(coalesce(c.sends_expected, false) and s.checkpoint_id is not null order by c.n), count(*)
    into v_ids, v_parents, v_stays, v_depends, v_count
    from numbered c
    left join numbered p on p.checkpoint_id = c.parent_checkpoint_id
    left join given g on g.checkpoint_id = c.checkpoint_id
    left join pins i on i.checkpoint_id = c.checkpoint_id
    left join senders s on s.checkpoint_id = c.parent_checkpoint_id;
    continue when v_count = 0;
    -- Assigning an element makes PL/pgSQL keep an array unpacked; a packed one is scanned at every subscript.
    v_ids[1] := v_ids[1];
    v_parents[1] := v_parents[1];

    for v_channel in select d.channel from @extschema@.delta_channels(p_thread_id, v_ns) d (channel) loop
      with writers as (
        select distinct w.checkpoint_id
        from @extschema@.checkpoint_writes w
        where w.thread_id = p_thread_id and w.checkpoint_ns = v_ns and w.channel = v_channel
      ), blobs as (
        select b.version
        from @extschema@.checkpoint_blobs b
        where b.thread_id = p_thread_id and b.checkpoint_ns = v_ns and b.channel = v_channel and b.type <> 'empty'
      ), storing as (
        -- stored_value for all checkpoints at once.
        select c.checkpoint_id, b.version is not null or coalesce(
          c.checkpoint -> 'channel_values' -> v_channel <> 'null', false) as is_stored
        from @extschema@.checkpoints c
        left join blobs b on b.version = c.checkpoint -> 'channel_versions' ->> v_channel
        where c.thread_id = p_thread_id and c.checkpoint_ns = v_ns
      )
      select array_agg(s.is_stored order by s.checkpoint_id),
        array_agg(case when s.is_stored or w.checkpoint_id is not null then true end order by s.checkpoint_id)
      into v_stored, v_contributes
      from storing s
      left join writers w on w.checkpoint_id = s.checkpoint_id;
      v_contributes[1] := v_contributes[1];

      for i in 1 .. v_count loop
        -- Walk up to the first that is known, then tell everything passed.
        v_at := i;
        v_top := 0;
        loop
          v_found := v_contributes[v_at];
          exit when v_found is not null;
          v_top := v_top + 1;
          v_path[v_top] := v_at;
          -- Should the parents run in a circle, all of it stays.
          v_contributes[v_at] := true;
          v_at := v_parents[v_at];
          if v_at is null then
            v_found := false;
            exit;
          end if;
        end loop;
        for j in 1 .. v_top loop
          v_contributes[v_path[j]] := v_found;
        end loop;
      end loop;
      for i in 1 .. v_count loop
        if not v_stored[i] and v_contributes[v_parents[i]] then
          v_depends[i] := true;
        end if;
      end loop;
    end loop;

    for i in 1 .. v_count loop
      v_at := i;
      while v_stays[v_at] and v_depends[v_at] and not v_stays[v_parents[v_at]] loop
        v_at := v_parents[v_at];
        v_stays[v_at] := true;
      end loop;
    end loop;

    v_going := '{}';
    for i in 1 .. v_count loop
      if not v_stays[i] then
        v_going := v_going || v_ids[i];
      end if;
    end loop;
    return query select v_ns, u.checkpoint_id from unnest(v_going) u (checkpoint_id);
  end loop;
end
$fn$;

comment on function @extschema@.removable_checkpoints(text, text[], text[], boolean) is
  'Those of the given checkpoints that can go without changing what any other checkpoint reads back.';
revoke all on function @extschema@.removable_checkpoints(text, text[], text[], boolean) from public;
