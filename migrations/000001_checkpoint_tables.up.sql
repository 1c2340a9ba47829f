-- The checkpoint tables: the wire format of LangGraph's own Postgres savers (names, columns, types and keys), plus
-- columns with defaults that those savers never name. Identifiers compare by byte (collate "C"): LangGraph sorts them so.

do $do$
begin
  if current_setting('server_encoding') <> 'UTF8' then
    raise exception using
      errcode = 'LG002',
      message = format('the database is encoded in %s, and pgweft needs UTF8', current_setting('server_encoding')),
      hint = 'Create a database with "create database ... encoding ''UTF8'' template template0" and migrate that.';
  end if;
end
$do$;

-- LangGraph's savers read here which of their own migrations have run. Saying "all of them" makes their setup() change
-- nothing, also under a role that does not own the tables.
create table @extschema@.checkpoint_migrations (
  v integer primary key
);
comment on table @extschema@.checkpoint_migrations is
  'LangGraph''s own migration versions, filled in advance so that its setup() changes nothing.';
insert into @extschema@.checkpoint_migrations (v) select generate_series(0, 9);

create table @extschema@.checkpoints (
  thread_id text collate "C" not null,
  checkpoint_ns text collate "C" not null default '',
  checkpoint_id text collate "C" not null,
  parent_checkpoint_id text collate "C",
  type text,
  checkpoint jsonb not null,
  metadata jsonb not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (thread_id, checkpoint_ns, checkpoint_id)
) with (fillfactor = 90);

-- An expression, so that no other query can choose it: the planner takes a checkpoint_id alone for unique, which it is not
-- where threads were copied.
create index checkpoints_checkpoint_id_idx on @extschema@.checkpoints ((checkpoint_id || ''));
create index checkpoints_created_at_idx on @extschema@.checkpoints (created_at);
create index checkpoints_metadata_idx on @extschema@.checkpoints using gin (metadata jsonb_path_ops);

comment on table @extschema@.checkpoints is
  'One row a checkpoint: which version of every channel it saw, primitive values inline, its parent, its metadata.';
comment on column @extschema@.checkpoints.checkpoint_ns is
  'Empty for the root graph, "node:task" for a subgraph, nested ones joined with "|".';
comment on column @extschema@.checkpoints.parent_checkpoint_id is
  'The checkpoint this one continued from; null for the first. Two checkpoints with one parent are a fork.';
comment on column @extschema@.checkpoints.type is 'Unused; kept because LangGraph''s table has it.';
comment on column @extschema@.checkpoints.checkpoint is
  'v, id, ts, channel_values (primitives only), channel_versions, versions_seen, updated_channels.';
comment on column @extschema@.checkpoints.updated_at is 'Moves whenever the row is put again, by whatever client.';
comment on index @extschema@.checkpoints_checkpoint_id_idx is
  'list_checkpoints without a thread: the newest checkpoints of all threads.';
comment on index @extschema@.checkpoints_created_at_idx is
  'list_threads, the most recently active first, and what was saved in a period of time.';
comment on index @extschema@.checkpoints_metadata_idx is
  'list_checkpoints with a metadata filter across threads, and deletion by run_id.';

create table @extschema@.checkpoint_blobs (
  thread_id text collate "C" not null,
  checkpoint_ns text collate "C" not null default '',
  channel text collate "C" not null,
  version text collate "C" not null,
  type text not null,
  blob bytea,
  created_at timestamptz not null default now(),
  primary key (thread_id, checkpoint_ns, channel, version)
);
comment on table @extschema@.checkpoint_blobs is
  'One row a version of a channel''s value. A version never changes; checkpoints share it through channel_versions.';
comment on column @extschema@.checkpoint_blobs.type is
  'How blob is serialized: msgpack, json, bytes, null, empty (no value), or one of them encrypted ("msgpack+aes").';

create table @extschema@.checkpoint_writes (
  thread_id text collate "C" not null,
  checkpoint_ns text collate "C" not null default '',
  checkpoint_id text collate "C" not null,
  task_id text collate "C" not null,
  idx integer not null,
  channel text collate "C" not null,
  type text,
  blob bytea not null,
  task_path text collate "C" not null default '',
  created_at timestamptz not null default now(),
  primary key (thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
);
-- Only the few writes that tell how a task stands have a negative idx.
create index checkpoint_writes_status_idx on @extschema@.checkpoint_writes (thread_id, checkpoint_ns, checkpoint_id)
  where idx < 0;

comment on table @extschema@.checkpoint_writes is
  'What each task wrote, as it wrote it: pending until the next checkpoint, an audit trail afterwards.';
comment on index @extschema@.checkpoint_writes_status_idx is
  'Who waits for a human and what failed, across all threads: the views interrupts and errors.';
comment on column @extschema@.checkpoint_writes.idx is
  'Position of the write in its task; reserved channels have fixed negative ones (see reserved_write_index).';
comment on column @extschema@.checkpoint_writes.task_path is
  'Where the task stood in its superstep; writes of one checkpoint apply in the order task_path, task_id, idx.';

-- pglz costs about 15 ms a megabyte; lz4 makes the same size several times faster. A server built without it keeps pglz.
do $do$
begin
  alter table @extschema@.checkpoints alter column checkpoint set compression lz4;
  alter table @extschema@.checkpoints alter column metadata set compression lz4;
  alter table @extschema@.checkpoint_blobs alter column blob set compression lz4;
  alter table @extschema@.checkpoint_writes alter column blob set compression lz4;
exception
  when feature_not_supported then
    raise notice 'this server is built without lz4; checkpoint values are compressed by pglz, which is slower';
end
$do$;

-- Part of the table rather than of a function: it holds for every client, ours or not. A parent that retention sets to null is
-- no activity.
create function @extschema@.checkpoints_touch() returns trigger
language plpgsql
set search_path = ''
as $fn$
begin
  new.updated_at := now();
  return new;
end
$fn$;
comment on function @extschema@.checkpoints_touch() is 'Trigger of checkpoints: moves updated_at when a checkpoint is put again.';
revoke all on function @extschema@.checkpoints_touch() from public;

create trigger checkpoints_touch
  before update of checkpoint, metadata on @extschema@.checkpoints
  for each row execute function @extschema@.checkpoints_touch();
