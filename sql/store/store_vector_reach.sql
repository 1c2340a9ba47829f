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
  v_items double precision := p_vectors;
  v_share double precision := 1;
  v_doubt double precision := 2;  -- how many times cheaper the index has to be, for it can still fail
  v_exact double precision;
  v_needed double precision;
begin
  if p_filter is not null then
    -- A hundred are few, and those near the query may be others: a share that is likely exceeded is taken.
    execute format('select greatest(m.n - sqrt(m.n), 0.5) / m.of from (select count(*) filter (where %s) as n, count(*) + 0.5 as of '
      'from (select s.* from %s.store s where %s limit 100) s) m', p_filter, '@extschema@'::text, v_namespace)
    into v_share;
    v_doubt := 4;
  end if;
  -- First as if the namespace were everything: where the index does not pay even then, its size need not be known.
  for v_known in 0 .. 1 loop
    v_exact := v_items * case
      when p_filter is null then 2 * c_found
      else case when v_items > p_vectors / 4 then c_read else c_found end + v_share * c_measured
    end;
    v_needed := p_candidates * p_vectors / (v_share * v_items);
    if v_doubt * c_indexed * (100 + v_needed) >= v_exact then
      return 0;
    end if;
    exit when p_prefix = '' or v_known = 1;
    execute format('explain (format json) select from %s.store s where %s', '@extschema@'::text, v_namespace) into v_plan;
    v_items := greatest((v_plan #>> '{0,Plan,Plan Rows}')::double precision, p_least);
  end loop;
  return greatest(200, 4 * p_candidates, 3 * v_needed);
end
$fn$;

comment on function @extschema@.store_vector_reach(text, text, bigint, double precision, bigint) is
  'Part of store_search: how many vectors of the index are worth looking at; 0 where measuring all that matches costs less.';
revoke all on function @extschema@.store_vector_reach(text, text, bigint, double precision, bigint) from public;
