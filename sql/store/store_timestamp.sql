-- Reads an ISO 8601 timestamp or date, as Python's isoformat and JavaScript's toISOString write them; without an offset it is
-- UTC. Anything else, such as the 30th of February, is null: stored text must never make a search fail.
-- Locks: none. Errors: none.
create or replace function @extschema@.store_timestamp(p_text text)
returns timestamptz
language plpgsql
immutable
strict
parallel safe
security invoker
as $fn$
declare
  v_parts text[];
  v_year integer;
  v_month integer;
  v_day integer;
  v_offset interval;
begin
  -- Most text is no timestamp, and this is much cheaper than the whole pattern.
  if p_text !~ '^\d{4}-\d\d-\d\d' then
    return null;
  end if;
  v_parts := regexp_match(p_text, '^(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])'
    || '(?:[T ]([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d(?:[.,]\d{1,9})?))?(?:Z|z|([+-])([01]\d|2[0-3])(?::?([0-5]\d))?)?)?$');
  if v_parts is null then
    return null;
  end if;
  v_year := v_parts[1];
  v_month := v_parts[2];
  v_day := v_parts[3];
  if v_year = 0 or (v_day > 28 and v_day > extract(day from make_date(v_year, v_month, 1) + interval '1 month - 1 day')) then
    return null;
  end if;
  v_offset := make_interval(hours => coalesce(v_parts[8], '0')::integer, mins => coalesce(v_parts[9], '0')::integer);
  return make_timestamptz(v_year, v_month, v_day, coalesce(v_parts[4], '0')::integer, coalesce(v_parts[5], '0')::integer,
      coalesce(replace(v_parts[6], ',', '.'), '0')::double precision, 'UTC')
    - case v_parts[7] when '-' then -v_offset else v_offset end;
end
$fn$;

comment on function @extschema@.store_timestamp(text) is 'Reads an ISO 8601 timestamp; null for any other text.';
revoke all on function @extschema@.store_timestamp(text) from public;
