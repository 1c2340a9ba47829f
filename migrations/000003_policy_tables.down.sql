drop table @extschema@.deleted_threads;
drop table @extschema@.thread_tenants;
drop table @extschema@.checkpoint_pins;
drop table @extschema@.thread_ttls;
drop table @extschema@.retention_policies;
drop table @extschema@.settings;
