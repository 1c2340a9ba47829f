-- Every checkpoint of a namespace, in the order in which one draws a tree: a checkpoint, then each child (oldest first)
-- with all that descends from it. "select drawing from thread_tree(...)" is the picture.
--   branch      where it stands: one number more at each fork passed, e.g. '1.2'; empty before the first fork
--   is_head     no checkpoint continues from it
--   is_latest   the one that get_checkpoint returns without an id
--   drawing     the id behind the box characters that connect it
--   problem     'missing parent' for a root that names one, 'cycle' where a loop of parents had to be cut
-- Arrays indexed by position stand in for a recursive join, which would scan all checkpoints once a level.
-- Locks: none. Errors: LG002.
create or replace function @extschema@.thread_tree(p_thread_id text, p_checkpoint_ns text default '')
returns table (
  ordinal integer,
  depth integer,
  checkpoint_id text,
  parent_checkpoint_id text,
  child_count integer,
  branch text,
  is_head boolean,
  is_latest boolean,
  source text,
  step integer,
  created_at timestamptz,
  drawing text,
  problem text
)
language plpgsql
stable
parallel safe
security invoker
rows 100
set jit = off
-- Parents are joined once; without statistics a nested loop would compare every pair.
set enable_nestloop = off
as $fn$
#variable_conflict use_column
declare
  v_ids text[];
  v_parents integer[];        -- position of the parent, or null
  v_count integer;
  v_children integer[];       -- how many, by position
  v_first integer[];          -- the newest child visited last: lists are built back to front, oldest child on top
  v_next integer[];           -- the next sibling
  v_depths integer[];
  v_branches text[];
  v_problems text[];
  v_latest text;
  -- What is known of each checkpoint, in drawing order.
  v_order_ids text[] := '{}';
  v_order_depths integer[] := '{}';
  v_order_children integer[] := '{}';
  v_order_branches text[] := '{}';
  v_order_drawings text[] := '{}';
  v_order_problems text[] := '{}';
  v_order_roots boolean[] := '{}';
  v_indents text[];           -- what stands before the lines of a checkpoint's descendants
  v_drawings text[];
  v_stack integer[] := '{}';
  v_top integer := 0;
  v_node integer;
  v_child integer;
  v_sibling integer;
  v_parent integer;
  v_roots integer := 0;
  v_seen integer[];           -- by which v_start a checkpoint below or on a loop was passed
  v_root integer;
begin
  if p_thread_id is null or p_thread_id = '' or p_checkpoint_ns is null then
    perform @extschema@.reject_argument('thread to draw',
      format('thread_id %L, checkpoint_ns %L.', p_thread_id, p_checkpoint_ns),
      'thread_id is needed; checkpoint_ns is empty for the root graph.');
  end if;

  with numbered as (
    select c.checkpoint_id, c.parent_checkpoint_id, (row_number() over (order by c.checkpoint_id))::integer as n
    from @extschema@.checkpoints c
    where c.thread_id = p_thread_id
      and c.checkpoint_ns = p_checkpoint_ns
  )
  select array_agg(c.checkpoint_id order by c.n), array_agg(p.n order by c.n), count(*)
  into v_ids, v_parents, v_count
  from numbered c
  left join numbered p on p.checkpoint_id = c.parent_checkpoint_id;

  if v_count = 0 then
    return;
  end if;
  -- Assigning an element makes PL/pgSQL keep an array unpacked; a packed one is scanned at every subscript.
  v_latest := v_ids[v_count];
  v_ids[1] := v_ids[1];
  v_parents[1] := v_parents[1];
  v_children := array_fill(0, array[v_count]);
  v_first := array_fill(null::integer, array[v_count]);
  v_next := array_fill(null::integer, array[v_count]);
  v_depths := array_fill(null::integer, array[v_count]);
  v_branches := array_fill(''::text, array[v_count]);
  v_problems := array_fill(null::text, array[v_count]);
  v_indents := array_fill(''::text, array[v_count]);
  v_drawings := v_ids;
  v_seen := array_fill(0, array[v_count]);

  for i in reverse v_count .. 1 loop
    v_parent := v_parents[i];
    if v_parent is null then
      v_roots := v_roots + 1;
    else
      v_children[v_parent] := v_children[v_parent] + 1;
      v_next[i] := v_first[v_parent];
      v_first[v_parent] := i;
    end if;
  end loop;

  v_sibling := 0;
  -- Roots first; what they do not reach hangs on a loop of parents, and is entered wherever the loop's oldest member is.
  for v_pass in 1 .. 2 loop
    for v_start in 1 .. v_count loop
      continue when v_depths[v_start] is not null or (v_pass = 1 and v_parents[v_start] is not null);
      v_sibling := v_sibling + 1;
      v_root := v_start;
      if v_pass = 2 then
        -- Up the parents until the walk is in the loop, then once round it.
        while v_seen[v_root] <> v_start loop
          v_seen[v_root] := v_start;
          v_root := v_parents[v_root];
        end loop;
        v_node := v_parents[v_root];
        v_child := v_root;
        while v_node <> v_child loop
          v_root := least(v_root, v_node);
          v_node := v_parents[v_node];
        end loop;
        v_problems[v_root] := 'cycle';
      end if;
      v_depths[v_root] := 0;
      v_branches[v_root] := case when v_roots > 1 or v_pass = 2 then v_sibling::text else '' end;
      v_top := 1;
      v_stack[1] := v_root;
      while v_top > 0 loop
        v_node := v_stack[v_top];
        v_top := v_top - 1;
        v_order_ids := v_order_ids || v_ids[v_node];
        v_order_depths := v_order_depths || v_depths[v_node];
        v_order_children := v_order_children || v_children[v_node];
        v_order_branches := v_order_branches || v_branches[v_node];
        v_order_drawings := v_order_drawings || v_drawings[v_node];
        v_order_problems := v_order_problems || v_problems[v_node];
        v_order_roots := v_order_roots || (v_parents[v_node] is null);
        -- Number the children oldest first, then lay them on the stack so that the oldest is on top.
        v_child := v_first[v_node];
        v_top := v_top + v_children[v_node];
        for i in 1 .. v_children[v_node] loop
          v_stack[v_top - i + 1] := v_child;
          if v_depths[v_child] is null then
            v_depths[v_child] := v_depths[v_node] + 1;
            if v_children[v_node] = 1 then
              v_branches[v_child] := v_branches[v_node];
              v_indents[v_child] := v_indents[v_node];
              v_drawings[v_child] := v_indents[v_node] || v_ids[v_child];
            else
              v_branches[v_child] := concat_ws('.', nullif(v_branches[v_node], ''), i);
              v_indents[v_child] := v_indents[v_node] || case when i < v_children[v_node] then '│  ' else '   ' end;
              v_drawings[v_child] := v_indents[v_node]
                || case when i < v_children[v_node] then '├─ ' else '└─ ' end || v_ids[v_child];
            end if;
          end if;
          v_child := v_next[v_child];
        end loop;
        -- Only the entry of a loop can be met twice.
        while v_top > 0 and v_problems[v_stack[v_top]] = 'cycle' loop
          v_top := v_top - 1;
        end loop;
      end loop;
    end loop;
  end loop;

  -- The arrays are unnested in drawing order: subscripting them inside the query would scan them once a row.
  return query
  select o.ordinal::integer, o.depth, c.checkpoint_id, c.parent_checkpoint_id, o.child_count, o.branch, o.child_count = 0,
    o.checkpoint_id = v_latest, c.metadata ->> 'source',
    case when jsonb_typeof(c.metadata -> 'step') = 'number' then (c.metadata ->> 'step')::numeric::integer end,
    c.created_at, o.drawing,
    coalesce(o.problem, case when o.is_root and c.parent_checkpoint_id is not null then 'missing parent' end)
  from unnest(v_order_ids, v_order_depths, v_order_children, v_order_branches, v_order_drawings, v_order_problems,
    v_order_roots) with ordinality
    as o (checkpoint_id, depth, child_count, branch, drawing, problem, is_root, ordinal)
  cross join lateral (
    select *
    from @extschema@.checkpoints c
    where c.thread_id = p_thread_id
      and c.checkpoint_ns = p_checkpoint_ns
      and c.checkpoint_id = o.checkpoint_id
    limit 1
  ) c
  order by o.ordinal;
end
$fn$;

comment on function @extschema@.thread_tree(text, text) is
  'Every checkpoint of a namespace in drawing order, with depth, branch, heads and child counts.';
revoke all on function @extschema@.thread_tree(text, text) from public;
