-- Removes every checkpoint. There is no way back but a backup.
drop table @extschema@.checkpoint_writes;
drop table @extschema@.checkpoint_blobs;
drop table @extschema@.checkpoints;
drop function @extschema@.checkpoints_touch();
drop table @extschema@.checkpoint_migrations;
