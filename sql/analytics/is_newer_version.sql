-- Whether a channel version is newer than another, or than none (null). Numbers compare by value and text by bytes, as
-- runtimes do; between a number and text the counters compare.
-- Locks: none. Errors: none.
create or replace function @extschema@.is_newer_version(p_version jsonb, p_than jsonb)
returns boolean
language sql
immutable
parallel safe
security invoker
as $fn$
  select coalesce(case
    when v.version is null then false
    when v.than is null then true
    when jsonb_typeof(p_version) = 'number' and jsonb_typeof(p_than) = 'number' then p_version > p_than
    when jsonb_typeof(p_version) <> jsonb_typeof(p_than)
      then substring(v.version from '^\d+')::numeric > substring(v.than from '^\d+')::numeric
  end, v.version > v.than)
  from (select p_version #>> '{}' collate "C" as version, p_than #>> '{}' collate "C" as than) v
$fn$;

comment on function @extschema@.is_newer_version(jsonb, jsonb) is
  'Whether a channel version is newer than another, or than none.';
revoke all on function @extschema@.is_newer_version(jsonb, jsonb) from public;
