-- Makes store_vectors and its index, so that store_search finds items by the meaning of their texts. A table that LangGraph's
-- own store made is completed. Called again with the same arguments it changes nothing; where dimensions, type, distance,
-- index or options differ from what is there it is LG002, since changing them would lose vectors or an index.
-- The table gets the rights that roles have on store.
--   p_vector_type  'vector', or 'halfvec': half the room, and 4,000 dimensions in an index instead of 2,000
--   p_distance     'cosine', 'l2' or 'inner_product'
--   p_method       'hnsw'; 'ivfflat', to be called once the vectors are there; 'flat', no index: every search is exact
--   p_options      of the index: m and ef_construction of hnsw, lists of ivfflat. Where it does not say, ef_construction is 128,
--                  twice what pgvector would take: on clustered vectors an index built with less loses whole clusters
-- Locks: what it makes; an index on vectors that are there keeps writes waiting while it is built. Errors: LG002, LG004.
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
set search_path = ''
as $fn$
declare
  v_schema text;
  v_options jsonb := case when p_method = 'hnsw' then jsonb '{"ef_construction": 128}' else jsonb '{}' end || p_options;
  v_is record;
  v_grant record;
begin
  perform @extschema@.reject_vector_index(p_dims, p_vector_type, p_distance, p_method, p_options);
  select n.nspname into v_schema
  from pg_catalog.pg_extension e
  join pg_catalog.pg_namespace n on n.oid = e.extnamespace
  where e.extname = 'vector';
  if v_schema is null or to_regtype(format('%I.%I', v_schema, p_vector_type)) is null then
    raise exception using
      errcode = 'LG004',
      message = case when v_schema is null then 'pgvector is not installed' else 'pgvector is too old' end,
      detail = format('Vector search needs the type %s of the extension "vector" in this database.', p_vector_type),
      hint = case when v_schema is null then 'Let a superuser run: create extension vector.'
        else 'Install pgvector 0.8 or later and run: alter extension vector update.' end;
  end if;

  perform pg_advisory_xact_lock(hashtextextended('@extschema@.store_vectors', 0));
  if to_regclass('@extschema@.store_vectors') is null then
    execute format($sql$create table @extschema@.store_vectors (
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
    -- Until there is an index nothing else says the distance, and that of a table that was dropped is not this one's.
    insert into @extschema@.settings (key, value)
    values ('vector_index', jsonb_build_object('distance', p_distance))
    on conflict (key) do update set value = excluded.value, updated_at = now();
    for v_grant in
      select g.privilege_type, g.is_grantable, case g.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(g.grantee)) end as role
      from pg_catalog.pg_class c
      cross join lateral aclexplode(c.relacl) g
      where c.oid = '@extschema@.store'::regclass and g.grantee <> c.relowner
    loop
      execute format('grant %s on @extschema@.store_vectors to %s%s', v_grant.privilege_type, v_grant.role,
        case when v_grant.is_grantable then ' with grant option' end);
    end loop;
  end if;
  select * into v_is from @extschema@.store_info();
  if v_is.dims is distinct from p_dims or v_is.vector_type <> p_vector_type or v_is.distance <> p_distance then
    perform @extschema@.reject_argument('vector index',
      format('There are vectors of %s dimensions, type %s, distance %s already.', v_is.dims, v_is.vector_type, v_is.distance),
      'To begin anew, drop the table store_vectors, call this again, and put the items again with their vectors.');
  end if;

  if not exists (
    select from pg_catalog.pg_attribute a where a.attrelid = '@extschema@.store_vectors'::regclass and a.attname = 'text_hash'
  ) then
    execute 'alter table @extschema@.store_vectors add column text_hash bytea';
  end if;
  if not exists (
    select from pg_catalog.pg_trigger t where t.tgrelid = '@extschema@.store_vectors'::regclass and t.tgname = 'store_vectors_touch'
  ) then
    execute 'create trigger store_vectors_touch before update of embedding on @extschema@.store_vectors '
      'for each row when (new.text_hash is not distinct from old.text_hash) execute function @extschema@.store_vectors_touch()';
  end if;
  comment on table @extschema@.store_vectors is 'One row an embedded text of an item: several for an item with several texts.';
  comment on column @extschema@.store_vectors.field_name is
    'Path of the text in the value; with a number behind it where the path gave several texts.';
  comment on column @extschema@.store_vectors.text_hash is
    'Hash of the text and of what embedded it, by which a client need not embed it again; null when a client wrote none.';

  if v_is.method = 'flat' and p_method <> 'flat' then
    execute format('create index store_vectors_embedding_idx on @extschema@.store_vectors using %I (embedding %I.%I)%s', p_method,
      v_schema, p_vector_type || case p_distance when 'cosine' then '_cosine_ops' when 'l2' then '_l2_ops' else '_ip_ops' end,
      (select ' with (' || string_agg(format('%I = %s', o.key, o.value), ', ') || ')' from jsonb_each_text(v_options) o));
    comment on index @extschema@.store_vectors_embedding_idx is 'The search of the items nearest to a vector.';
  elsif v_is.method <> p_method
    or exists (select from jsonb_each_text(p_options) o where not format('%s=%s', o.key, o.value) = any (v_is.options)) then
    perform @extschema@.reject_argument('vector index',
      format('There is an index already: method %s, options %L.', v_is.method, v_is.options),
      'To change it, drop the index store_vectors_embedding_idx and call this again, or rebuild it as you like.');
  end if;
  insert into @extschema@.settings (key, value)
  values ('vector_index', jsonb_build_object('dims', p_dims, 'vector_type', p_vector_type, 'distance', p_distance, 'method', p_method,
    'options', p_options))
  on conflict (key) do update set value = excluded.value, updated_at = now() where settings.value <> excluded.value;
  -- The new table is divided between tenants where the others are.
  perform @extschema@.enable_tenancy(s.value ->> 'mode') from @extschema@.settings s where s.key = 'tenancy';
end
$fn$;

comment on function @extschema@.enable_vector_index(integer, text, text, text, jsonb) is
  'Makes store_vectors and its index, so that store_search can search by vector; needs pgvector.';
revoke all on function @extschema@.enable_vector_index(integer, text, text, text, jsonb) from public;
