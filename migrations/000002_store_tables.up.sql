-- The tables of the long-term store, in the shape of LangGraph's Python store. store_vectors is made by
-- enable_vector_index, which alone knows the dimensions and needs pgvector.

create table @extschema@.store_migrations (
  v integer primary key
);
comment on table @extschema@.store_migrations is
  'LangGraph''s own migration versions, filled in advance so that its setup() changes nothing.';
insert into @extschema@.store_migrations (v) select generate_series(0, 3);

create table @extschema@.vector_migrations (
  v integer primary key
);
comment on table @extschema@.vector_migrations is
  'LangGraph''s own migration versions of store_vectors, filled in advance so that its setup() changes nothing.';
insert into @extschema@.vector_migrations (v) select generate_series(0, 2);

create table @extschema@.store (
  prefix text collate "C" not null,
  key text collate "C" not null,
  value jsonb not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  expires_at timestamptz,
  ttl_minutes double precision,
  primary key (prefix, key)
);
create index store_expires_at_idx on @extschema@.store (expires_at) where expires_at is not null;

comment on table @extschema@.store is 'One row an item of long-term memory.';
comment on column @extschema@.store.prefix is 'The namespace: its labels joined with ".".';
comment on column @extschema@.store.expires_at is 'From this moment the item no longer exists for readers; null keeps it.';
comment on column @extschema@.store.ttl_minutes is
  'Minutes (fractions count) by which a write, and a read that refreshes, moves expires_at; null keeps the item.';
comment on index @extschema@.store_expires_at_idx is 'The sweep of expired items.';

do $do$
begin
  alter table @extschema@.store alter column value set compression lz4;
exception
  when feature_not_supported then
    raise notice 'this server is built without lz4; store values are compressed by pglz, which is slower';
end
$do$;

-- Part of the table that enable_vector_index makes rather than of a function: it holds for every client. One that does not
-- know text_hash changes the embedding and leaves the hash of another text beside it; without a hash nobody takes the
-- vector for that of a text. store_put never changes an embedding without changing its hash.
create function @extschema@.store_vectors_touch() returns trigger
language plpgsql
set search_path = ''
as $fn$
begin
  new.text_hash := null;
  return new;
end
$fn$;
comment on function @extschema@.store_vectors_touch() is
  'Trigger of store_vectors: forgets the hash of a text whose embedding another client replaced.';
revoke all on function @extschema@.store_vectors_touch() from public;
