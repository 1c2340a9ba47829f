-- What a DBA decides about the data: settings, how long threads live, what must never be pruned.

create table @extschema@.settings (
  key text collate "C" primary key,
  value jsonb not null,
  updated_at timestamptz not null default now()
);
comment on table @extschema@.settings is 'Choices made for this schema by its enable_ functions, one row a choice.';

create table @extschema@.retention_policies (
  name text collate "C" primary key,
  thread_pattern text,
  metadata_filter jsonb,
  idle_ttl interval,
  max_age interval,
  keep_last integer,
  enabled boolean not null default true,
  created_at timestamptz not null default now(),
  check (idle_ttl is not null or max_age is not null or keep_last is not null),
  check (idle_ttl > interval '0' and max_age > interval '0' and keep_last > 0)
);
comment on table @extschema@.retention_policies is
  'Rules by which sweep removes threads and checkpoints. Where several match a thread, the strictest counts.';
comment on column @extschema@.retention_policies.thread_pattern is
  'LIKE pattern on thread_id; null matches every thread.';
comment on column @extschema@.retention_policies.metadata_filter is
  'Matches threads whose newest checkpoint contains this metadata; null matches every thread.';
comment on column @extschema@.retention_policies.idle_ttl is 'A thread goes when nothing was put for this long.';
comment on column @extschema@.retention_policies.max_age is
  'A checkpoint older than this goes, unless it is the newest of its namespace or a survivor needs it.';
comment on column @extschema@.retention_policies.keep_last is
  'This many newest checkpoints of each namespace stay; older ones go unless a survivor needs them.';

create table @extschema@.thread_ttls (
  thread_id text collate "C" primary key,
  idle_ttl interval not null check (idle_ttl > interval '0'),
  created_at timestamptz not null default now()
);
comment on table @extschema@.thread_ttls is
  'Idle time after which one thread goes; stands above the retention policies for that thread.';

create table @extschema@.checkpoint_pins (
  thread_id text collate "C" not null,
  checkpoint_ns text collate "C" not null default '',
  checkpoint_id text collate "C" not null,
  reason text,
  pinned_by text not null default current_user,
  created_at timestamptz not null default now(),
  primary key (thread_id, checkpoint_ns, checkpoint_id)
);
comment on table @extschema@.checkpoint_pins is
  'Checkpoints that no retention and no deletion may remove or make unreadable.';

create table @extschema@.thread_tenants (
  thread_id text collate "C" primary key,
  tenant text collate "C" not null,
  created_at timestamptz not null default now()
);
comment on table @extschema@.thread_tenants is
  'Which tenant a thread belongs to, once enable_tenancy was called; a thread id belongs to one tenant of all.';

create table @extschema@.deleted_threads (
  thread_id text collate "C" primary key,
  deleted_at timestamptz not null default now()
);
comment on table @extschema@.deleted_threads is
  'Threads that enable_guards keeps from coming back; without that guard it stays empty. Who removes a row lets its thread begin anew.';
