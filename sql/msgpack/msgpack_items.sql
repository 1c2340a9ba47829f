-- Cuts a MessagePack map or array into its elements without decoding them, in order: for an array the bytes of each value,
-- for a map the bytes of each key and value. No rows for any other value (p_bytes is then one element itself).
-- Locks: none. Errors: LG006 for bytes that end too early.
create or replace function @extschema@.msgpack_items(p_bytes bytea)
returns table (ordinal integer, key bytea, value bytea)
language plpgsql
immutable
strict
parallel safe
security invoker
rows 100
as $fn$
declare
  v_length integer := length(p_bytes);
  -- Nine bytes more than there are, so that a header cut short is read as zeros; detoasts once.
  b bytea := p_bytes || '\x000000000000000000'::bytea;
  v_is_map boolean;
  v_count integer;
  p integer;
  v_start integer;
  v_open bigint;     -- values still to pass before the element ends
  c integer;
begin
  c := get_byte(b, 0);
  if c >= 128 and c < 144 then
    v_is_map := true;
    v_count := c - 128;
    p := 1;
  elsif c >= 144 and c < 160 then
    v_is_map := false;
    v_count := c - 144;
    p := 1;
  elsif c in (220, 222) then
    v_is_map := c = 222;
    v_count := (get_byte(b, 1) << 8) | get_byte(b, 2);
    p := 3;
  elsif c in (221, 223) then
    v_is_map := c = 223;
    v_count := (get_byte(b, 1) << 24) | (get_byte(b, 2) << 16) | (get_byte(b, 3) << 8) | get_byte(b, 4);
    p := 5;
  else
    return;
  end if;

  ordinal := 0;
  while ordinal < v_count or v_count < 0 loop
    ordinal := ordinal + 1;
    for v_part in 0 .. v_is_map::integer loop
      v_start := p;
      v_open := 1;
      while v_open > 0 loop
        if p >= v_length then
          perform @extschema@.reject_truncated(v_length, v_start);
        end if;
        c := get_byte(b, p);
        v_open := v_open - 1;
        case
          when c < 128 or c >= 224 or c in (192, 194, 195) then p := p + 1;
          when c < 144 then v_open := v_open + 2 * (c - 128); p := p + 1;
          when c < 160 then v_open := v_open + c - 144; p := p + 1;
          when c < 192 then p := p + c - 159;
          when c in (196, 217) then p := p + 2 + get_byte(b, p + 1);
          when c in (197, 218) then p := p + 3 + ((get_byte(b, p + 1) << 8) | get_byte(b, p + 2));
          when c in (198, 219) then
            p := least(v_length + 1, p::bigint + 5 + ((get_byte(b, p + 1)::bigint << 24) | (get_byte(b, p + 2) << 16)
              | (get_byte(b, p + 3) << 8) | get_byte(b, p + 4)))::integer;
          when c = 199 then p := p + 3 + get_byte(b, p + 1);
          when c = 200 then p := p + 4 + ((get_byte(b, p + 1) << 8) | get_byte(b, p + 2));
          when c = 201 then
            p := least(v_length + 1, p::bigint + 6 + ((get_byte(b, p + 1)::bigint << 24) | (get_byte(b, p + 2) << 16)
              | (get_byte(b, p + 3) << 8) | get_byte(b, p + 4)))::integer;
          when c in (204, 208) then p := p + 2;
          when c in (205, 209) then p := p + 3;
          when c in (202, 206, 210) then p := p + 5;
          when c in (203, 207, 211) then p := p + 9;
          when c >= 212 and c <= 216 then p := p + 2 + (1 << (c - 212));
          when c in (220, 222) then
            v_open := v_open + ((get_byte(b, p + 1) << 8) | get_byte(b, p + 2)) * case c when 222 then 2 else 1 end;
            p := p + 3;
          when c in (221, 223) then
            v_open := v_open + ((get_byte(b, p + 1)::bigint << 24) | (get_byte(b, p + 2) << 16)
              | (get_byte(b, p + 3) << 8) | get_byte(b, p + 4)) * case c when 223 then 2 else 1 end;
            p := p + 5;
          else
            perform @extschema@.reject_truncated(v_length, p);
        end case;
        if p > v_length then
          perform @extschema@.reject_truncated(v_length, v_start);
        end if;
      end loop;
      if v_part = 0 and v_is_map then
        key := substring(b, v_start + 1, p - v_start);
      else
        value := substring(b, v_start + 1, p - v_start);
      end if;
    end loop;
    return next;
  end loop;
end
$fn$;

comment on function @extschema@.msgpack_items(bytea) is
  'Cuts a MessagePack map or array into the bytes of its elements without decoding them.';
revoke all on function @extschema@.msgpack_items(bytea) from public;
