-- Removes every item of the store. There is no way back but a backup.
drop table if exists @extschema@.store_vectors;
drop table @extschema@.store;
drop function @extschema@.store_text_search(regconfig, jsonb, jsonpath[]);
drop function @extschema@.store_vectors_touch();
drop table @extschema@.vector_migrations;
drop table @extschema@.store_migrations;
