-- What a write overwrites its channel with, past the reducer: LangGraph's Overwrite in any of its forms. No row for any other
-- write.
-- Locks: none. Errors: none.
create or replace function @extschema@.overwrites(p_write jsonb)
returns setof jsonb
language sql
immutable
parallel safe
security invoker
rows 1
as $fn$
  select case
    when p_write ? 'value' then p_write -> 'value'
    when p_write ? '__overwrite__' then p_write -> '__overwrite__'
    else p_write #> '{args,0}'
  end
  where jsonb_typeof(p_write) = 'object'
    and (
      p_write ->> 'lc_type' = 'langgraph.types.Overwrite'
      or p_write ->> 'type' = '__overwrite__' and p_write ? 'value'
      or p_write ? '__overwrite__' and (select count(*) from jsonb_object_keys(p_write)) = 1
    )
$fn$;

comment on function @extschema@.overwrites(jsonb) is
  'What a write overwrites its channel with, past the reducer; no row for any other write.';
revoke all on function @extschema@.overwrites(jsonb) from public;
