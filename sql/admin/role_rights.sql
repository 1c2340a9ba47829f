-- What each role of this schema may do: the one place where that is decided. One row a role and an object; role is "app",
-- "reader", "ops", or "owner" for routines that only the owner runs.
--   app     saves, reads, forks, copies and deletes threads and store items. No DDL, no pruning, no policies, no pins. It has
--           DELETE on the tables, because delete_thread and LangGraph's own savers need it
--   reader  sees which threads and checkpoints there are and their metadata; with p_reader_values also what agents saved
--   ops     retention, pins, repair, fsck; it reads everything, and saves no checkpoints
-- A routine that is not volatile can change nothing and reads with the rights of its caller, so every role may call it. A
-- volatile one needs a row here, or grant_roles refuses: no right is given, and none forgotten, by default.
-- Locks: none. Errors: none.
create or replace function @extschema@.role_rights(p_reader_values boolean default false)
returns table (role text, kind text, object text, rights text)
language sql
stable
parallel restricted
security invoker
rows 300
set search_path = ''
as $fn$
  with routines (name, roles) as (
    values
      ('copy_blobs', 'app'),
      ('copy_thread', 'app'),
      ('delete_for_runs', 'ops'),
      ('delete_thread', 'app ops'),
      ('disable_guards', 'owner'),
      ('disable_tenancy', 'owner'),
      ('doctor', 'ops'),
      ('drop_retention_policy', 'ops'),
      ('enable_tenancy', 'owner'),
      ('fork_checkpoint', 'app'),
      ('fork_thread', 'app'),
      ('fsck', 'ops'),
      ('fsck_values', 'ops'),
      ('grant_roles', 'owner'),
      ('lock_thread', 'app ops'),
      ('lock_threads_to_copy', 'app'),
      ('new_checkpoint_id', 'app'),
      ('next_channel_version', 'app'),
      ('pin_checkpoint', 'ops'),
      ('prune', 'ops'),
      ('prune_thread', 'ops'),
      ('put_checkpoint', 'app'),
      ('put_step', 'app'),
      ('put_writes', 'app'),
      ('rebuild_blobs', 'ops'),
      ('reject_version_collision', 'app'),
      ('remove_checkpoints', 'ops'),
      ('schedule_sweep', 'ops'),
      ('set_retention_policy', 'ops'),
      ('set_thread_ttl', 'app ops'),
      ('enable_filter_index', 'owner'),
      ('enable_guards', 'owner'),
      ('enable_text_index', 'owner'),
      ('enable_vector_index', 'owner'),
      ('store_delete', 'app ops'),
      ('store_get', 'app'),
      ('store_put', 'app'),
      ('store_put_vectors', 'app'),
      ('store_refresh', 'app'),
      ('store_search', 'app'),
      ('store_set_local', 'app'),
      ('store_sweep', 'ops'),
      ('store_text_matches', 'app'),
      ('store_vector_matches', 'app'),
      ('store_vector_reach', 'app'),
      ('store_vector_scan', 'app'),
      ('sweep', 'ops'),
      ('sweep_preview', 'ops'),
      ('sweep_thread', 'ops'),
      ('unpin_checkpoint', 'ops'),
      ('unschedule_sweep', 'ops')
  ), tables (name, role, rights) as (
    values
      ('checkpoint_blobs', 'app', 'select, insert, delete'),
      ('checkpoint_blobs', 'ops', 'select, insert, delete'),
      ('checkpoint_migrations', 'app', 'select'),
      ('checkpoint_pins', 'app', 'select'),
      ('checkpoint_pins', 'ops', 'select, insert, update, delete'),
      ('checkpoint_pins', 'reader', 'select'),
      ('checkpoint_writes', 'app', 'select, insert, update, delete'),
      ('checkpoint_writes', 'ops', 'select, delete'),
      ('checkpoints', 'app', 'select, insert, update, delete'),
      ('checkpoints', 'ops', 'select, update, delete'),
      ('deleted_threads', 'ops', 'select, delete'),
      ('retention_policies', 'ops', 'select, insert, update, delete'),
      ('schema_migrations', 'app', 'select'),
      ('schema_migrations', 'ops', 'select'),
      ('schema_migrations', 'reader', 'select'),
      ('settings', 'app', 'select'),
      ('settings', 'ops', 'select, insert, update'),
      ('settings', 'reader', 'select'),
      ('store', 'app', 'select, insert, update, delete'),
      ('store', 'ops', 'select, update, delete'),
      ('store_migrations', 'app', 'select'),
      ('store_vectors', 'app', 'select, insert, update, delete'),
      ('store_vectors', 'ops', 'select, delete'),
      ('thread_tenants', 'ops', 'select, delete'),
      ('thread_ttls', 'app', 'select, insert, update, delete'),
      ('thread_ttls', 'ops', 'select, insert, update, delete'),
      ('vector_migrations', 'app', 'select')
  ), read_tables (name, value_columns) as (
    values
      ('checkpoint_blobs', '{blob}'::text[]),
      ('checkpoint_writes', '{blob}'),
      ('checkpoints', '{checkpoint}'),
      ('store', '{value}'),
      ('store_vectors', '{embedding}')
  )
  select r.role, 'schema', n.oid::regnamespace::text, 'usage'
  from pg_catalog.pg_namespace n
  cross join unnest(array['app', 'reader', 'ops']) r (role)
  where n.oid = '@extschema@'::regnamespace or n.oid = '@extschema@_analytics'::regnamespace and r.role <> 'app'
  union all
  select t.role, 'table', c.oid::regclass::text, t.rights
  from tables t
  join pg_catalog.pg_class c on c.relnamespace = '@extschema@'::regnamespace and c.relname = t.name
  union all
  select 'reader', 'table', c.oid::regclass::text,
    case when p_reader_values then 'select'
      else 'select (' || (
        select string_agg(quote_ident(a.attname), ', ' order by a.attnum)
        from pg_catalog.pg_attribute a
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attname <> all (t.value_columns)
      ) || ')' end
  from read_tables t
  join pg_catalog.pg_class c on c.relnamespace = '@extschema@'::regnamespace and c.relname = t.name
  union all
  -- Views are read with the rights of their reader: one that shows values fails for those who may not see them.
  select r.role, 'table', c.oid::regclass::text, 'select'
  from pg_catalog.pg_class c
  cross join unnest(array['reader', 'ops']) r (role)
  where c.relnamespace = '@extschema@_analytics'::regnamespace and c.relkind = 'v'
  union all
  select r.role, 'routine', p.oid::regprocedure::text, 'execute'
  from pg_catalog.pg_proc p
  left join routines f on f.name = p.proname
  cross join unnest(string_to_array(case
    when p.provolatile = 'v' then f.roles
    when p.pronamespace = '@extschema@_analytics'::regnamespace then 'reader ops'
    else 'app reader ops'
  end, ' ')) r (role)
  where p.pronamespace in ('@extschema@'::regnamespace, '@extschema@_analytics'::regnamespace)
    and p.prorettype <> 'trigger'::regtype
    and p.proowner = (select c.relowner from pg_catalog.pg_class c where c.oid = '@extschema@.checkpoints'::regclass)
  order by 1, 2, 3
$fn$;

comment on function @extschema@.role_rights(boolean) is
  'What the roles app, reader and ops of this schema may do, one row an object; "owner" marks what none of them may.';
revoke all on function @extschema@.role_rights(boolean) from public;
