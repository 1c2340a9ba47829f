-- The tables that tenancy divides, and how. The others hold versions of migrations, which all tenants share; a test looks for
-- a table that was forgotten.
--   thread    rows belong to the tenant of their thread
--   item      rows of the store belong to the tenant that put them
--   operator  rows that only operators may see
--   settings  all may read, except the progress of sweep, which names threads
--   registry  which thread is whose
-- Locks: none. Errors: none.
create or replace function @extschema@.tenant_tables()
returns table (name regclass, kind text)
language sql
stable
parallel safe
security invoker
rows 10
set search_path = ''
as $fn$
  select c.oid::regclass, t.kind
  from (values
    ('checkpoint_blobs', 'thread'),
    ('checkpoint_pins', 'thread'),
    ('checkpoint_writes', 'thread'),
    ('checkpoints', 'thread'),
    ('deleted_threads', 'operator'),
    ('retention_policies', 'operator'),
    ('settings', 'settings'),
    ('store', 'item'),
    ('store_vectors', 'item'),
    ('thread_tenants', 'registry'),
    ('thread_ttls', 'thread')
  ) t (name, kind)
  join pg_catalog.pg_class c on c.relnamespace = '@extschema@'::regnamespace and c.relname = t.name
$fn$;

comment on function @extschema@.tenant_tables() is 'The tables that tenancy divides, and how.';
revoke all on function @extschema@.tenant_tables() from public;
