-- Data of schema version 3, which had tables and no functions: rows as LangGraph's own savers insert them.
insert into @extschema@.checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata) values
  ('plan', '', 'c1', null,
    '{"v": 4, "id": "c1", "ts": "2026-01-05T09:00:00+00:00", "channel_values": {"turn": 1},
      "channel_versions": {"turn": "1.1", "log": "1.1"}, "versions_seen": {}}',
    '{"source": "input", "step": -1, "run_id": "r1"}'),
  ('plan', '', 'c2', 'c1',
    '{"v": 4, "id": "c2", "ts": "2026-01-05T09:00:01+00:00", "channel_values": {"turn": 2},
      "channel_versions": {"turn": "2.1", "log": "2.1"}, "versions_seen": {"agent": {"log": "1.1"}}}',
    '{"source": "loop", "step": 0, "run_id": "r1", "counters_since_delta_snapshot": {"log": [1, 1]}}'),
  ('plan', 'sub:1', 's1', null,
    '{"v": 4, "id": "s1", "ts": "2026-01-05T09:00:01+00:00", "channel_values": {"turn": true},
      "channel_versions": {"turn": "1.1"}, "versions_seen": {}}',
    '{"source": "input", "step": -1, "parents": {"": "c2"}}');
insert into @extschema@.checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob) values
  ('plan', '', 'log', '1.1', 'msgpack', '\x91a568656c6c6f');
insert into @extschema@.checkpoint_writes (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob, task_path) values
  ('plan', '', 'c1', 'agent', 0, 'log', 'msgpack', '\x91a5776f726c64', '~__pregel_pull, agent'),
  ('plan', '', 'c2', 'review', -3, '__interrupt__', 'msgpack', '\x91a5736869703f', '~__pregel_pull, review');
insert into @extschema@.store (prefix, key, value) values ('users.ada', 'city', '{"name": "London"}');
insert into @extschema@.retention_policies (name, keep_last) values ('newest', 1);
insert into @extschema@.thread_ttls (thread_id, idle_ttl) values ('plan', '1000 years');
insert into @extschema@.checkpoint_pins (thread_id, checkpoint_ns, checkpoint_id, reason, pinned_by) values
  ('plan', '', 'c1', 'evidence', 'auditor');
-- When it was written, so that every reading is the same.
set session_replication_role = replica;
update @extschema@.checkpoints set created_at = '2026-01-05 09:00:02+00', updated_at = '2026-01-05 09:00:04+00';
update @extschema@.checkpoint_blobs set created_at = '2026-01-05 09:00:02+00';
update @extschema@.checkpoint_writes set created_at = '2026-01-05 09:00:03+00';
update @extschema@.store set created_at = '2026-01-05 09:00:02+00', updated_at = '2026-01-05 09:00:02+00';
update @extschema@.retention_policies set created_at = '2026-01-05 09:00:02+00';
update @extschema@.thread_ttls set created_at = '2026-01-05 09:00:02+00';
update @extschema@.checkpoint_pins set created_at = '2026-01-05 09:00:02+00', pinned_by = 'auditor';
reset session_replication_role;
