-- The value of a channel after the writes of one superstep. A write that overwrites stands above all others. Reducers are
-- those that the data can show: 'replace' (none: the last write stays), 'append' (lists), 'merge' (maps, the entry of the
-- later write standing above), 'add_messages' and 'delta_messages' (see merge_messages).
-- A reducer that does not fit the values replaces.
-- Locks: none. Errors: LG002 for a reducer of another name.
create or replace function @extschema@.reduce_values(p_current jsonb, p_writes jsonb[], p_reducer text)
returns jsonb
language plpgsql
immutable
parallel safe
security invoker
set search_path = ''
as $fn$
declare
  v_value jsonb := p_current;
  v_write jsonb;
  v_overwrite jsonb;
begin
  if p_reducer is null or p_reducer not in ('replace', 'append', 'merge', 'add_messages', 'delta_messages') then
    perform @extschema@.reject_argument('reducer', format('%L.', p_reducer),
      'The reducers are replace, append, merge, add_messages and delta_messages.');
  end if;
  select o.value into v_overwrite
  from unnest(p_writes) with ordinality w (value, position)
  cross join lateral @extschema@.overwrites(w.value) o (value)
  order by w.position desc
  limit 1;
  if found then
    return v_overwrite;
  end if;
  foreach v_write in array p_writes loop
    v_value := case
      when p_reducer = 'replace' then v_write
      when p_reducer in ('add_messages', 'delta_messages')
        then @extschema@.merge_messages(v_value, v_write, p_reducer = 'delta_messages')
      when v_value is null then v_write
      when p_reducer = 'append' and jsonb_typeof(v_value) = 'array' and jsonb_typeof(v_write) = 'array' then v_value || v_write
      when p_reducer = 'merge' and jsonb_typeof(v_value) = 'object' and jsonb_typeof(v_write) = 'object' then v_value || v_write
      else v_write
    end;
  end loop;
  return v_value;
end
$fn$;

comment on function @extschema@.reduce_values(jsonb, jsonb[], text) is
  'The value of a channel after the writes of one superstep, by one of the reducers that the data can show.';
revoke all on function @extschema@.reduce_values(jsonb, jsonb[], text) from public;
