-- Data of schema version 4, written by the functions it had.
set search_path to @extschema@;
select put_checkpoint('plan', '', 'c1', null,
  '{"v": 4, "id": "c1", "ts": "2026-01-05T09:00:00+00:00", "channel_values": {"turn": 1},
    "channel_versions": {"turn": "1.1", "log": "1.1", "blank": "1.1"}, "versions_seen": {}}',
  '{"source": "input", "step": -1, "run_id": "r1"}',
  array['log', 'blank'], array['1.1', '1.1'], array['msgpack', 'null'], array['\x91a568656c6c6f', '']::bytea[]);
select put_writes('plan', '', 'c1', 'agent', '~__pregel_pull, agent', null,
  array['log', 'turn'], array['msgpack', 'json'], array['\x91a5776f726c64', '2']::bytea[]);
select put_step('plan', '', 'c2', 'c1',
  '{"v": 4, "id": "c2", "ts": "2026-01-05T09:00:01+00:00", "channel_values": {"turn": 2},
    "channel_versions": {"turn": "2.1", "log": "2.1", "blank": "1.1"}, "versions_seen": {"agent": {"log": "1.1"}}}',
  '{"source": "loop", "step": 0, "run_id": "r1", "counters_since_delta_snapshot": {"log": [1, 1]}}',
  '{}', '{}', '{}', '{}',
  array['review'], array['~__pregel_pull, review'], array['__interrupt__'], array['msgpack'], array['\x91a5736869703f'::bytea]);
select put_checkpoint('plan', 'sub:1', 's1', null,
  '{"v": 4, "id": "s1", "ts": "2026-01-05T09:00:01+00:00", "channel_values": {"turn": true},
    "channel_versions": {"turn": "1.1"}, "versions_seen": {}}',
  '{"source": "input", "step": -1, "parents": {"": "c2"}}');
select fork_checkpoint('plan', '', 'c1', 'c3', '{"note": "another way"}');
select put_checkpoint('plan', '', 'c4', 'c3',
  '{"v": 4, "id": "c4", "ts": "2026-01-05T09:00:03+00:00", "channel_values": {"turn": 2},
    "channel_versions": {"turn": "2.2", "log": "2.2", "blank": "1.1"}, "versions_seen": {"agent": {"log": "1.1"}}}',
  '{"source": "loop", "step": 1, "run_id": "r2"}',
  array['log'], array['2.2'], array['msgpack+aes'], array['\x00ff17'::bytea]);
select put_writes('plan', '', 'c4', 'agent', '', null,
  array['__error__'], array['json'], array['"ran out of patience"'::bytea]);
select copy_thread('plan', 'copy');
select fork_thread('plan', 'c2', 'branch');
select store_put(array['users.ada', 'users.ada'], array['city', 'mood'], array['{"name": "London"}', '{"now": "calm"}']::jsonb[],
  array[null, 1.5]);
select set_retention_policy('newest', p_thread_pattern => 'plan%', p_keep_last => 1);
select set_thread_ttl('copy', '1000 years');
select pin_checkpoint('plan', '', 'c1', 'evidence');
reset search_path;
-- When it was written, so that every reading is the same.
set session_replication_role = replica;
update @extschema@.checkpoints set created_at = '2026-01-05 09:00:02+00', updated_at = '2026-01-05 09:00:04+00';
update @extschema@.checkpoint_blobs set created_at = '2026-01-05 09:00:02+00';
update @extschema@.checkpoint_writes set created_at = '2026-01-05 09:00:03+00';
update @extschema@.store set created_at = '2026-01-05 09:00:02+00', updated_at = '2026-01-05 09:00:02+00';
update @extschema@.store set expires_at = '3026-01-05 09:01:32+00' where expires_at is not null;
update @extschema@.retention_policies set created_at = '2026-01-05 09:00:02+00';
update @extschema@.thread_ttls set created_at = '2026-01-05 09:00:02+00';
update @extschema@.checkpoint_pins set created_at = '2026-01-05 09:00:02+00', pinned_by = 'auditor';
update @extschema@.checkpoints set checkpoint = jsonb_set(checkpoint, '{ts}', '"2026-01-05T09:00:02+00:00"')
  where checkpoint_id = 'c3';
reset session_replication_role;
