-- Reads a MessagePack value as jsonb, for people and for SQL; it is not a way back to the original bytes.
--   maps        objects; a key that is not a string becomes the text of its JSON
--   binary      {"lc_type": "builtins.bytes", "base64": ...}
--   extensions  LangGraph's constructors become their arguments: {"lc_type": "module.Name", <keyword arguments>} or
--               {"lc_type": "module.Name", "args": [...]}; other extensions {"lc_type": "msgpack.ext", "code", "base64"}
--   NaN, Infinity become strings, and a NUL inside a string becomes U+FFFD: jsonb holds neither.
-- One pass with an explicit stack: recursion in PL/pgSQL is an order of magnitude slower.
-- Locks: none. Errors: LG006 for bytes that end too early, go on after the value, overrun their extension, nest deeper than
-- 1,000, or have containers as map keys in such keys more than 4 deep; 22021 for strings that are not UTF-8.
create or replace function @extschema@.msgpack_to_jsonb(p_bytes bytea)
returns jsonb
language plpgsql
immutable
strict
parallel safe
security invoker
cost 1000
as $fn$
declare
  v_length integer := length(p_bytes);
  -- Nine bytes more than there are, so that a header cut short is read as zeros and then found to end beyond v_length.
  -- The concatenation also detoasts once: get_byte on a compressed value would decompress it at every call.
  b bytea := p_bytes || '\x000000000000000000'::bytea;
  v_has_nul boolean := position('\x00'::bytea in p_bytes) > 0;
  p integer := 0;                     -- offset of the next byte
  c integer;                          -- first byte of the current value
  n integer;                          -- length of the current string, elements of the current container, or -1
  s text;                             -- JSON of the current value, when it is complete
  v_parts text[] := '{}';             -- the JSON so far
  v_separator text := '';             -- what stands between the previous value and the next
  -- The open container: values still to come (for a map two an entry) and whether it is a map.
  v_rest integer := 1;
  v_is_map boolean := false;
  v_opens_map boolean;
  v_open text;
  -- The containers around it, one element each: rest * 2 + is_map; where an extension's payload ends and what closes
  -- it, as end * 4 + closer (0: the plain bracket); the part its text began at, when it is itself a map key.
  v_depth integer := 0;
  v_stack integer[] := '{}';
  v_extension_stack bigint[] := '{}';
  v_key_stack integer[] := '{}';
  v_keys integer := 0;                -- open containers that are keys; each quotes the ones in it, which doubles them
  v_key_parts text[];
  v_extension bigint;
  -- The extension being opened.
  v_code integer;
  v_payload integer;
  v_end integer;
  v_at integer;
  v_names text[];
begin
  <<main>>
  loop
    c := get_byte(b, p);
    n := -1;
    if c >= 160 and c < 192 then      -- fixstr, the most frequent value by far
      exit main when c - 159 > v_length - p;
      if v_has_nul then
        s := to_json(@extschema@.utf8_without_nul(substring(b, p + 2, c - 160)))::text;
      else
        s := to_json(convert_from(substring(b, p + 2, c - 160), 'UTF8'))::text;
      end if;
      p := p + c - 159;
      if v_is_map and v_rest & 1 = 0 then
        -- A key, as nearly all are: it waits before its value, which saves a part and the steps below.
        v_separator := v_separator || s || ':';
        v_rest := v_rest - 1;
        continue main;
      end if;
    elsif c < 128 then                -- positive fixint
      s := c::text;
      p := p + 1;
    elsif c >= 217 and c <= 219 then  -- str 8, 16, 32
      if c = 217 then
        n := get_byte(b, p + 1);
        p := p + 2;
      elsif c = 218 then
        n := (get_byte(b, p + 1) << 8) | get_byte(b, p + 2);
        p := p + 3;
      else
        n := (get_byte(b, p + 1) << 24) | (get_byte(b, p + 2) << 16) | (get_byte(b, p + 3) << 8) | get_byte(b, p + 4);
        p := p + 5;
      end if;
      exit main when n < 0 or n > v_length - p;
      if v_has_nul then
        s := to_json(@extschema@.utf8_without_nul(substring(b, p + 1, n)))::text;
      else
        s := to_json(convert_from(substring(b, p + 1, n), 'UTF8'))::text;
      end if;
      p := p + n;
      n := -1;
    elsif c < 144 then                -- fixmap
      n := c - 128;
      v_opens_map := true;
      p := p + 1;
    elsif c < 160 then                -- fixarray
      n := c - 144;
      v_opens_map := false;
      p := p + 1;
    elsif c = 192 then
      s := 'null';
      p := p + 1;
    elsif c = 194 then
      s := 'false';
      p := p + 1;
    elsif c = 195 then
      s := 'true';
      p := p + 1;
    elsif c >= 224 then               -- negative fixint
      s := (c - 256)::text;
      p := p + 1;
    elsif c = 204 then
      s := get_byte(b, p + 1)::text;
      p := p + 2;
    elsif c = 205 then
      s := ((get_byte(b, p + 1) << 8) | get_byte(b, p + 2))::text;
      p := p + 3;
    elsif c = 206 then
      s := ((get_byte(b, p + 1)::bigint << 24) | (get_byte(b, p + 2) << 16) | (get_byte(b, p + 3) << 8)
        | get_byte(b, p + 4))::text;
      p := p + 5;
    elsif c = 207 then                -- uint 64: beyond bigint in its upper half
      s := (('x' || encode(substring(b, p + 2, 8), 'hex'))::bit(64)::bigint
        + case when get_byte(b, p + 1) > 127 then 18446744073709551616::numeric else 0 end)::text;
      p := p + 9;
    elsif c = 208 then
      n := get_byte(b, p + 1);
      s := (case when n > 127 then n - 256 else n end)::text;
      n := -1;
      p := p + 2;
    elsif c = 209 then
      n := (get_byte(b, p + 1) << 8) | get_byte(b, p + 2);
      s := (case when n > 32767 then n - 65536 else n end)::text;
      n := -1;
      p := p + 3;
    elsif c = 210 then
      s := ('x' || encode(substring(b, p + 2, 4), 'hex'))::bit(32)::integer::text;
      p := p + 5;
    elsif c = 211 then
      s := ('x' || encode(substring(b, p + 2, 8), 'hex'))::bit(64)::bigint::text;
      p := p + 9;
    elsif c = 202 then
      s := to_json(@extschema@.msgpack_float(
        ('x' || encode(substring(b, p + 2, 4), 'hex'))::bit(32)::integer::bigint & 4294967295, 32)::real)::text;
      p := p + 5;
    elsif c = 203 then
      s := to_json(@extschema@.msgpack_float(
        ('x' || encode(substring(b, p + 2, 8), 'hex'))::bit(64)::bigint, 64))::text;
      p := p + 9;
    elsif c >= 220 and c <= 223 then  -- array 16, 32, map 16, 32
      if c = 220 or c = 222 then
        n := (get_byte(b, p + 1) << 8) | get_byte(b, p + 2);
        p := p + 3;
      else
        n := (get_byte(b, p + 1) << 24) | (get_byte(b, p + 2) << 16) | (get_byte(b, p + 3) << 8) | get_byte(b, p + 4);
        p := p + 5;
      end if;
      v_opens_map := c >= 222;
      exit main when n < 0 or n > v_length - p;
    elsif c >= 196 and c <= 198 then  -- bin 8, 16, 32
      if c = 196 then
        n := get_byte(b, p + 1);
        p := p + 2;
      elsif c = 197 then
        n := (get_byte(b, p + 1) << 8) | get_byte(b, p + 2);
        p := p + 3;
      else
        n := (get_byte(b, p + 1) << 24) | (get_byte(b, p + 2) << 16) | (get_byte(b, p + 3) << 8) | get_byte(b, p + 4);
        p := p + 5;
      end if;
      exit main when n < 0 or n > v_length - p;
      s := '{"lc_type":"builtins.bytes","base64":"'
        || translate(encode(substring(b, p + 1, n), 'base64'), E'\n', '') || '"}';
      p := p + n;
      n := -1;
    elsif c >= 199 and c <= 201 or c >= 212 and c <= 216 then  -- ext 8, 16, 32, fixext 1, 2, 4, 8, 16
      if c >= 212 then
        n := 1 << (c - 212);
        p := p + 1;
      elsif c = 199 then
        n := get_byte(b, p + 1);
        p := p + 2;
      elsif c = 200 then
        n := (get_byte(b, p + 1) << 8) | get_byte(b, p + 2);
        p := p + 3;
      else
        n := (get_byte(b, p + 1) << 24) | (get_byte(b, p + 2) << 16) | (get_byte(b, p + 3) << 8) | get_byte(b, p + 4);
        p := p + 5;
      end if;
      v_code := get_byte(b, p);
      v_payload := p + 1;
      exit main when n < 0 or n > v_length - v_payload;
      v_end := v_payload + n;

      -- A constructor is an array that begins with its module and its name.
      v_names := '{}';
      v_at := v_payload + 1;
      if v_code <= 5 and get_byte(b, v_payload) in (147, 148) then
        for i in 1 .. 2 loop
          c := get_byte(b, v_at);
          if c >= 160 and c < 192 then
            c := c - 160;
            v_at := v_at + 1;
          elsif c = 217 then
            c := get_byte(b, v_at + 1);
            v_at := v_at + 2;
          else
            exit;
          end if;
          exit when c >= v_end - v_at;
          v_names := v_names || @extschema@.utf8_without_nul(substring(b, v_at + 1, c));
          v_at := v_at + c;
        end loop;
      end if;

      n := -1;
      if cardinality(v_names) = 2 then
        v_open := '{"lc_type":' || to_json(v_names[1] || '.' || v_names[2])::text;
        c := get_byte(b, v_at);
        if v_code in (2, 4, 5) and (c >= 128 and c < 144 or c in (222, 223))
          or v_code = 1 and (c >= 144 and c < 160 or c in (220, 221)) then
          if c < 160 then
            n := c & 15;
            v_at := v_at + 1;
          elsif c in (220, 222) then
            n := (get_byte(b, v_at + 1) << 8) | get_byte(b, v_at + 2);
            v_at := v_at + 3;
          else
            n := (get_byte(b, v_at + 1) << 24) | (get_byte(b, v_at + 2) << 16) | (get_byte(b, v_at + 3) << 8)
              | get_byte(b, v_at + 4);
            v_at := v_at + 5;
          end if;
          p := v_at;
          exit main when n < 0 or n > v_end - p;
          v_opens_map := v_code <> 1;
        else
          n := 1;
          p := v_at;
          v_opens_map := false;
        end if;
        if not v_opens_map then
          v_open := v_open || ',"args":[';
        end if;
      elsif v_code in (6, 7) and v_end > v_payload then
        v_open := case v_code
          when 6 then '{"lc_type":"numpy.ndarray","args":['
          else '{"lc_type":"langgraph.checkpoint.serde.types._DeltaSnapshot","args":['
        end;
        n := 1;
        p := v_payload;
        v_opens_map := false;
      end if;

      if n > 0 then
        v_extension := v_end::bigint * 4 + case when v_opens_map then 1 else 2 end;
      elsif n = 0 then
        s := v_open || case when v_opens_map then '}' else ']}' end;
        n := -1;
        p := v_end;
      else
        s := format('{"lc_type":"msgpack.ext","code":%s,"base64":"%s"}',
          case when v_code > 127 then v_code - 256 else v_code end,
          translate(encode(substring(b, v_payload + 1, v_end - v_payload), 'base64'), E'\n', ''));
        p := v_end;
      end if;
    else                              -- 0xc1, which MessagePack never uses
      raise exception using
        errcode = 'LG006',
        message = 'value is not MessagePack',
        detail = format('Byte %s of %s is 0x%s.', p, v_length, to_hex(c)),
        hint = 'The stored bytes are damaged, or their type column is wrong; fsck() lists such rows.';
    end if;
    exit main when p > v_length;

    if n > 0 then
      if v_depth >= 1000 then
        raise exception using
          errcode = 'LG006',
          message = 'MessagePack value nests deeper than 1000 levels',
          detail = format('At byte %s of %s.', p, v_length),
          hint = 'Such a value cannot be shown as jsonb; read it with a client.';
      end if;
      if v_extension is null then
        v_open := case when v_opens_map then '{' else '[' end;
      end if;
      v_depth := v_depth + 1;
      v_stack[v_depth] := v_rest * 2 + v_is_map::integer;
      v_extension_stack[v_depth] := coalesce(v_extension, 0);
      if v_is_map and v_rest & 1 = 0 then
        -- A container as a map key: its text is collected and quoted when it closes.
        v_keys := v_keys + 1;
        if v_keys > 4 then
          raise exception using
            errcode = 'LG006',
            message = 'MessagePack map keys nest deeper than 4 levels',
            detail = format('At byte %s of %s.', p, v_length),
            hint = 'Such a value cannot be shown as jsonb; read it with a client.';
        end if;
        v_parts := v_parts || v_separator;
        v_key_stack[v_depth] := cardinality(v_parts) + 1;
        v_parts := v_parts || v_open;
      else
        v_key_stack[v_depth] := 0;
        v_parts := v_parts || (v_separator || v_open);
      end if;
      v_separator := case when v_extension is not null and v_opens_map then ',' else '' end;
      v_rest := case when v_opens_map then n * 2 else n end;
      v_is_map := v_opens_map;
      v_extension := null;
      continue;
    elsif n = 0 then
      s := case when v_opens_map then '{}' else '[]' end;
    end if;

    if v_is_map and v_rest & 1 = 0 and left(s, 1) <> '"' then
      s := to_json(s)::text;
    end if;
    v_parts := v_parts || (v_separator || s);
    v_rest := v_rest - 1;
    while v_rest = 0 loop
      if v_depth = 0 then
        if p = v_length then
          return array_to_string(v_parts, '')::jsonb;
        end if;
        raise exception using
          errcode = 'LG006',
          message = 'MessagePack value is followed by more bytes',
          detail = format('The value ends at byte %s of %s.', p, v_length),
          hint = 'The stored bytes are damaged, or their type column is wrong; fsck() lists such rows.';
      end if;
      v_extension := v_extension_stack[v_depth];
      if v_extension > 0 then
        -- Going back to where the extension says it ends would read the same bytes again: nested, exponentially often.
        if p > v_extension >> 2 then
          raise exception using
            errcode = 'LG006',
            message = 'MessagePack extension ends before the value in it',
            detail = format('The extension ends at byte %s of %s, the value in it at byte %s.', v_extension >> 2, v_length, p),
            hint = 'The stored bytes are damaged, or their type column is wrong; fsck() lists such rows.';
        end if;
        v_parts := v_parts || case v_extension & 3 when 1 then '}' else ']}' end;
        p := (v_extension >> 2)::integer;
      else
        v_parts := v_parts || case when v_is_map then '}' else ']' end;
      end if;
      v_extension := null;
      if v_key_stack[v_depth] > 0 then
        -- Part by part: a slice would copy the whole array for each such key.
        v_key_parts := '{}';
        for i in v_key_stack[v_depth] .. cardinality(v_parts) loop
          v_key_parts := v_key_parts || v_parts[i];
          v_parts[i] := '';
        end loop;
        v_parts[v_key_stack[v_depth]] := to_json(array_to_string(v_key_parts, ''))::text;
        v_keys := v_keys - 1;
      end if;
      v_rest := (v_stack[v_depth] >> 1) - 1;
      v_is_map := v_stack[v_depth] & 1 = 1;
      v_depth := v_depth - 1;
    end loop;
    v_separator := case when v_is_map and v_rest & 1 = 1 then ':' else ',' end;
  end loop;

  raise exception using
    errcode = 'LG006',
    message = 'MessagePack value ends too early',
    detail = format('%s bytes are stored, and the value at byte %s needs more.', v_length, p),
    hint = 'The stored bytes are damaged; rebuild_blobs may recover them, and fsck() lists such rows.';
end
$fn$;

comment on function @extschema@.msgpack_to_jsonb(bytea) is
  'Reads MessagePack as LangGraph writes it; constructors become their arguments with "lc_type". LG006 for damaged bytes.';
revoke all on function @extschema@.msgpack_to_jsonb(bytea) from public;
