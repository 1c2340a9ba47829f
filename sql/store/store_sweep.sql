-- Removes up to so many items of the store that have expired, the longest expired first, and says how many. Items that
-- someone else is changing are left for the next time.
-- Locks: the rows it removes. Errors: LG002.
create or replace function @extschema@.store_sweep(p_limit integer default 1000)
returns bigint
language plpgsql
volatile
parallel unsafe
security invoker
set search_path = ''
as $fn$
declare
  v_removed bigint;
begin
  if p_limit is null or p_limit < 1 then
    perform @extschema@.reject_argument('limit', format('It is %L.', p_limit), 'Pass at least 1.');
  end if;
  with expired as materialized (
    select s.ctid
    from @extschema@.store s
    where s.expires_at <= now()
    order by s.expires_at
    limit p_limit
    for update skip locked
  )
  delete from @extschema@.store s using expired e where s.ctid = e.ctid;
  get diagnostics v_removed = row_count;
  return v_removed;
end
$fn$;

comment on function @extschema@.store_sweep(integer) is 'Removes expired items of the store, at most so many; says how many.';
revoke all on function @extschema@.store_sweep(integer) from public;
