-- A new checkpoint id: a UUID of version 6, whose text sorts by time. Two calls in one session never return the same or a
-- falling time, as long as the server's clock does not go back: the function returns only once the clock has moved past
-- the time in the id. With p_above it also sorts above that id, if it is such a UUID, even one made by a clock that was
-- ahead. p_step goes into the clock sequence, as LangGraph does it: 14 bits, so -1 becomes 16383.
-- Locks: none. Errors: none.
create or replace function @extschema@.new_checkpoint_id(p_step integer default -2, p_above text default null)
returns text
language plpgsql
volatile
parallel safe
security invoker
as $fn$
declare
  v_now timestamptz := clock_timestamp();
  -- 100 ns since 15 October 1582, when the Gregorian calendar, and with it UUID time, begins.
  v_time bigint := (extract(epoch from v_now) * 1000000)::bigint * 10 + 122192928000000000;
  v_hex text;
  v_sequence integer := coalesce(p_step, -2) & 16383;
  v_node text := substr(replace(gen_random_uuid()::text, '-', ''), 21);
begin
  if p_above ~ '^[0-9a-f]{8}-[0-9a-f]{4}-6[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$' then
    v_time := greatest(v_time, 1 + ('x' || lpad(
      substr(p_above, 1, 8) || substr(p_above, 10, 4) || substr(p_above, 16, 3), 16, '0'))::bit(64)::bigint);
  end if;
  v_hex := lpad(to_hex(v_time), 15, '0');
  while clock_timestamp() <= v_now loop
    null;
  end loop;
  return substr(v_hex, 1, 8) || '-' || substr(v_hex, 9, 4) || '-6' || substr(v_hex, 13, 3) || '-'
    || to_hex(32768 | v_sequence) || '-' || v_node;
end
$fn$;

comment on function @extschema@.new_checkpoint_id(integer, text) is
  'A new time-ordered checkpoint id (UUID version 6) for the given step.';
revoke all on function @extschema@.new_checkpoint_id(integer, text) from public;
