-- Part of store_search: how many vectors of the index are worth looking at before everything that matches is measured; 0 where
-- that costs less from the start. Goes by what the planner believes of the namespace and by how many of a hundred of its
-- items the filter keeps. Costs are in microseconds, measured with 384 dimensions in memory; only their ratio counts.
--   p_filter      condition on row "s" of store, or null
--   p_candidates  vectors of matching items that are needed
--   p_vectors     in the index
--   p_least       items that the namespace is known to have at least
-- Locks: none. Errors: none.
create or replace function @extschema@.store_vector_reach(
  p_prefix text,
  p_filter text,
  p_candidates bigint,
  p_vectors double precision,
  p_least bigint
)
returns bigint
language plpgsql
volatile
parallel unsafe
security invoker
as $fn$
declare
  c_indexed constant double precision := 8;    -- the next vector of the index
  c_found constant double precision := 1;      -- an item found through the primary key, and filtered
  c_read constant double precision := 0.25;    -- the same, reading the table from end to end
  c_measured constant double precision := 5;   -- its vector, found through the primary key
  v_namespace text := coalesce(@extschema@.store_prefix_condition('s', p_prefix), 'true');
  v_plan json;
  v_items double precision;
  v_share double precision := 1;
  v_doubt double precision := 2;  -- how many times cheaper the index has to be, for it can still fail
  v_exact double precision;
  v_needed double precision;
begin
  execute format('explain (format json) select from %s.store s where %s', '@extschema@'::text, v_namespace) into v_plan;
  v_items := greatest((v_plan #>> '{0,Plan,Plan Rows}')::double precision, p_least);
  if p_filter is null then
    v_exact := v_items * 2 * c_found;
  else
    execute format('select (count(*) filter (where %s) + 0.5) / (count(*) + 0.5) from (select s.* from %s.store s where %s limit 100) s',
      p_filter, '@extschema@'::text, v_namespace)
    into v_share;
    -- A hundred are few, and those near the query may be others.
    v_doubt := 5;
    v_exact := v_items * (case when v_items > p_vectors / 4 then c_read else c_found end + v_share * c_measured);
  end if;
  v_needed := p_candidates * p_vectors / (v_share * v_items);
  -- Farther off than the topic of the query, the index misses more.
  v_doubt := v_doubt * greatest(1, v_needed / 200);
  return case when v_doubt * c_indexed * (100 + v_needed) < v_exact then greatest(200, 4 * p_candidates, 3 * v_needed)::bigint else 0 end;
end
$fn$;

comment on function @extschema@.store_vector_reach(text, text, bigint, double precision, bigint) is
  'Part of store_search: how many vectors of the index are worth looking at; 0 where measuring all that matches costs less.';
revoke all on function @extschema@.store_vector_reach(text, text, bigint, double precision, bigint) from public;
