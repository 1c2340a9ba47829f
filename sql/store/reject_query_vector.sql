-- Refuses a query vector that cannot be compared with those of an index of so many dimensions.
-- Locks: none. Errors: LG002; LG004 without an index.
create or replace function @extschema@.reject_query_vector(p_query real[], p_dims integer)
returns void
language plpgsql
immutable
parallel safe
security invoker
as $fn$
begin
  if p_dims is null then
    perform @extschema@.reject_not_enabled('vector search', 'enable_vector_index');
  end if;
  if cardinality(p_query) <> p_dims then
    perform @extschema@.reject_argument('query vector',
      format('It has %s dimensions, and the vector index %s.', cardinality(p_query), p_dims),
      'Embed the query with the model that embedded the items.');
  end if;
  if p_query && array['NaN', 'Infinity', '-Infinity']::real[] or array_position(p_query, null) is not null then
    perform @extschema@.reject_argument('query vector', 'There is a null, a NaN or an infinite number in it.',
      'Pass finite numbers.');
  end if;
end
$fn$;

comment on function @extschema@.reject_query_vector(real[], integer) is
  'Raises LG002 for a query vector that does not fit the vector index, LG004 where there is none.';
revoke all on function @extschema@.reject_query_vector(real[], integer) from public;
