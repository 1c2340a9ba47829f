-- Refuses arguments of enable_vector_index that make no index.
-- Locks: none. Errors: LG002.
create or replace function @extschema@.reject_vector_index(
  p_dims integer,
  p_vector_type text,
  p_distance text,
  p_method text,
  p_options jsonb
)
returns void
language plpgsql
immutable
parallel safe
security invoker
set search_path = ''
as $fn$
declare
  v_most integer := case when p_method = 'flat' then 16000 when p_vector_type = 'halfvec' then 4000 else 2000 end;
begin
  if p_vector_type is null or p_vector_type not in ('vector', 'halfvec')
    or p_distance is null or p_distance not in ('cosine', 'l2', 'inner_product')
    or p_method is null or p_method not in ('hnsw', 'ivfflat', 'flat') then
    perform @extschema@.reject_argument('vector index',
      format('vector_type %L, distance %L, method %L.', p_vector_type, p_distance, p_method),
      'The type is vector or halfvec; the distance cosine, l2 or inner_product; the method hnsw, ivfflat or flat.');
  end if;
  if p_dims is null or p_dims not between 1 and v_most then
    perform @extschema@.reject_argument('dims',
      format('A vector of type %s with method %s has 1 to %s dimensions, not %s.', p_vector_type, p_method, v_most,
        coalesce(p_dims::text, 'null')),
      'Pass the number of dimensions that the embedder gives; halfvec has room for 4000 in an index, flat for 16000.');
  end if;
  if p_options is null or jsonb_typeof(p_options) <> 'object' or exists (
    select
    from jsonb_each(p_options) o
    where not (o.key = any (case p_method when 'hnsw' then array['m', 'ef_construction'] when 'ivfflat' then array['lists'] else '{}' end))
      or o.value::text !~ '^[1-9]\d{0,4}$'
  ) then
    perform @extschema@.reject_argument('options', format('%s for method %s.', coalesce(p_options::text, 'null'), p_method),
      'The options are m and ef_construction of hnsw and lists of ivfflat, each a whole number, as in {"m": 16}.');
  end if;
end
$fn$;

comment on function @extschema@.reject_vector_index(integer, text, text, text, jsonb) is
  'Raises LG002 for arguments of enable_vector_index that make no index.';
revoke all on function @extschema@.reject_vector_index(integer, text, text, text, jsonb) from public;
