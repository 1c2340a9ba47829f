-- Makes store_vectors and its index, so that items can be found by the meaning of their texts. Called again with the same
-- arguments it changes nothing; with other dimensions, type or distance it is LG002, for the vectors there would be lost.
--   p_vector_type  'vector' or 'halfvec' (half the room, 4,000 dimensions in an index instead of 2,000)
--   p_distance     'cosine', 'l2' or 'inner_product'
--   p_method       'hnsw', 'ivfflat' (only once there are vectors) or 'flat': no index, every search is exact
--   p_options      of the index, whole numbers: m and ef_construction of hnsw, lists of ivfflat
-- A store_vectors without an index gets one when it is asked for. Vectors of items that are there already come with their next
-- put.
-- Locks: the new table, or while the index is built writes to store_vectors. Errors: LG002, LG004.
create or replace function @extschema@.enable_vector_index(
  p_dims integer,
  p_vector_type text default 'vector',
  p_distance text default 'cosine',
  p_method text default 'hnsw',
  p_options jsonb default '{}'
)
returns void
language plpgsql
volatile
parallel unsafe
security invoker
as $fn$
declare
  v_schema text;
  v_version text;
  v_info record;
  v_most integer := case when p_method = 'flat' then 16000 when p_vector_type = 'halfvec' then 4000 else 2000 end;
  v_operator_class text := format('%s_%s_ops', p_vector_type, case p_distance when 'inner_product' then 'ip' else p_distance end);
  v_options text;
begin
  if p_dims is null or p_vector_type is null or p_distance is null or p_method is null
    or p_vector_type not in ('vector', 'halfvec') or p_distance not in ('cosine', 'l2', 'inner_product')
    or p_method not in ('hnsw', 'ivfflat', 'flat') then
    perform @extschema@.reject_argument('vector index',
      format('dims %L, vector_type %L, distance %L, method %L.', p_dims, p_vector_type, p_distance, p_method),
      'vector_type is vector or halfvec; distance is cosine, l2 or inner_product; method is hnsw, ivfflat or flat.');
  end if;
  if p_dims not between 1 and v_most then
    perform @extschema@.reject_argument('vector index', format('dims is %s.', p_dims),
      format('%s with method %s has 1 to %s dimensions; halfvec has more in an index, flat needs none.', p_vector_type, p_method, v_most));
  end if;
  if jsonb_typeof(coalesce(p_options, '{}')) <> 'object' or exists (
    select
    from jsonb_each_text(p_options) o
    where o.value !~ '^[0-9]{1,6}$'
      or not (p_method = 'hnsw' and o.key in ('m', 'ef_construction') or p_method = 'ivfflat' and o.key = 'lists')
  ) then
    perform @extschema@.reject_argument('vector index', format('options are %s for method %s.', p_options, p_method),
      'Options are whole numbers: m and ef_construction of hnsw, lists of ivfflat, none of flat.');
  end if;
  select n.nspname, e.extversion into v_schema, v_version
  from pg_catalog.pg_extension e
  join pg_catalog.pg_namespace n on n.oid = e.extnamespace
  where e.extname = 'vector';
  if v_schema is null then
    raise exception using
      errcode = 'LG004',
      message = 'pgvector is not installed',
      detail = 'Vector search needs the extension "vector" in this database.',
      hint = 'Let a superuser run: create extension vector.';
  end if;
  if p_vector_type = 'halfvec' and string_to_array(v_version, '.')::integer[] < '{0,7}' then
    perform @extschema@.reject_argument('vector index', format('halfvec needs pgvector 0.7.0, this is %s.', v_version),
      'Update pgvector and run "alter extension vector update", or take vector.');
  end if;

  perform pg_advisory_xact_lock(hashtextextended('@extschema@.store_vectors', 0));
  if to_regclass('@extschema@.store_vectors') is null then
    execute format($sql$
      create table @extschema@.store_vectors (
        prefix text collate "C" not null,
        key text collate "C" not null,
        field_name text collate "C" not null,
        embedding %I.%I(%s),
        text_hash bytea,
        created_at timestamptz not null default now(),
        updated_at timestamptz not null default now(),
        primary key (prefix, key, field_name),
        foreign key (prefix, key) references @extschema@.store (prefix, key) on delete cascade
      )
      $sql$, v_schema, p_vector_type, p_dims);
    comment on table @extschema@.store_vectors is 'One row a text of an item that was embedded.';
    comment on column @extschema@.store_vectors.field_name is 'Path of the text in the value, as LangGraph names it.';
    comment on column @extschema@.store_vectors.text_hash is
      'By which a client knows the text and what embedded it again; null after another client wrote the vector.';
    create trigger store_vectors_touch before update of embedding on @extschema@.store_vectors
      for each row when (new.text_hash is not distinct from old.text_hash)
      execute function @extschema@.store_vectors_touch();
    insert into @extschema@.settings (key, value)
    values ('vector_index', jsonb_build_object('distance', p_distance))
    on conflict (key) do update set value = excluded.value, updated_at = now();
  else
    select * into v_info from @extschema@.store_info();
    if (v_info.dims, v_info.vector_type, v_info.distance) is distinct from (p_dims, p_vector_type, p_distance)
      or v_info.method <> 'flat' and v_info.method <> p_method then
      perform @extschema@.reject_argument('vector index',
        format('store_vectors has dims %s, vector_type %s, distance %s, method %s; asked for were %s, %s, %s, %s.', v_info.dims,
          v_info.vector_type, v_info.distance, v_info.method, p_dims, p_vector_type, p_distance, p_method),
        'To begin anew drop the table store_vectors, call enable_vector_index and put the items again.');
    end if;
    if v_info.method = p_method then
      return;
    end if;
  end if;
  if p_method <> 'flat' then
    select ' with (' || string_agg(format('%I = %s', o.key, o.value), ', ') || ')' into v_options
    from jsonb_each_text(p_options) o;
    execute format('create index store_vectors_embedding_idx on @extschema@.store_vectors using %I (embedding %I.%I)%s',
      p_method, v_schema, v_operator_class, v_options);
  end if;
end
$fn$;

comment on function @extschema@.enable_vector_index(integer, text, text, text, jsonb) is
  'Makes store_vectors and its index, so that store_search can search by vector.';
revoke all on function @extschema@.enable_vector_index(integer, text, text, text, jsonb) from public;
