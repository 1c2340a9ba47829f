-- Part of store_get and store_search: gives the items that were read their full time again. Items that someone else is
-- changing are passed over, so that a read never waits: a put sets the time itself.
-- Locks: the items it refreshes. Errors: none.
create or replace function @extschema@.store_refresh(p_prefixes text[], p_keys text[])
returns void
language plpgsql
volatile
parallel unsafe
security invoker
as $fn$
begin
  with held as materialized (
    select s.ctid
    from @extschema@.store s
    join unnest(p_prefixes, p_keys) i (prefix, key) on i.prefix = s.prefix and i.key = s.key
    where s.ttl_minutes is not null
    for no key update of s skip locked
  )
  update @extschema@.store s
  set expires_at = now() + s.ttl_minutes * interval '1 minute'
  from held h
  where s.ctid = h.ctid;
end
$fn$;

comment on function @extschema@.store_refresh(text[], text[]) is 'Part of reading: gives items their full time to live again.';
revoke all on function @extschema@.store_refresh(text[], text[]) from public;
