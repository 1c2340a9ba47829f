-- The XXH3 hash of 128 bits, without a seed, the highest byte first: LangGraph names tasks by it. Only of 17 bytes or more;
-- a task's name is hashed with at least that many.
-- Locks: none. Errors: LG002 for fewer bytes.
create or replace function @extschema@.xxh3_128(p_bytes bytea)
returns bytea
language plpgsql
immutable
strict
parallel safe
security invoker
as $fn$
declare
  c_prime_1 constant bigint := -7046029288634856825;
  c_prime_2 constant bigint := -4417276706812531889;
  c_prime_4 constant bigint := -8796714831421723037;
  -- XXH3's own secret, from which it draws a different key for each part of the input.
  c_secret constant bytea := decode(
    'b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221'
    'b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8'
    'a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb'
    '170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e', 'hex');
  v_length integer := length(p_bytes);
  b bytea := p_bytes || ''::bytea;    -- detoasts once
  v_lanes bigint[];
  v_low bigint;
  v_high bigint;
  v_other integer;
  v_at integer;
  v_key integer;
  v_part bigint;
  v_keyed bigint;
  -- Pairs of 16 bytes to mix: where the first, the second and their keys begin.
  v_mixes integer[] := '{}';
begin
  if v_length < 17 then
    perform @extschema@.reject_argument('bytes to hash', format('%s bytes.', v_length), 'Give 17 bytes or more.');
  end if;
  if v_length <= 240 then
    if v_length <= 128 then
      for i in reverse (v_length - 1) / 32 .. 0 loop
        v_mixes := v_mixes || array[16 * i, v_length - 16 * (i + 1), 32 * i];
      end loop;
    else
      for i in 0 .. v_length / 32 - 1 loop
        v_mixes := v_mixes || array[32 * i, 32 * i + 16, case when i < 4 then 32 * i else 32 * (i - 4) + 3 end];
      end loop;
      v_mixes := v_mixes || array[v_length - 16, v_length - 32, 103];
    end if;
    v_low := (@extschema@.u64_product(v_length, c_prime_1))[1];
    v_high := 0;
    for i in 0 .. cardinality(v_mixes) / 3 - 1 loop
      if v_length > 128 and i = 4 then
        v_low := @extschema@.xxh3_avalanche(v_low);
        v_high := @extschema@.xxh3_avalanche(v_high);
      end if;
      v_at := v_mixes[3 * i + 1];
      v_other := v_mixes[3 * i + 2];
      v_key := v_mixes[3 * i + 3];
      v_low := @extschema@.u64_add(v_low, @extschema@.xxh3_fold(
        @extschema@.u64_at(b, v_at) # @extschema@.u64_at(c_secret, v_key),
        @extschema@.u64_at(b, v_at + 8) # @extschema@.u64_at(c_secret, v_key + 8)
      )) # @extschema@.u64_add(@extschema@.u64_at(b, v_other), @extschema@.u64_at(b, v_other + 8));
      v_high := @extschema@.u64_add(v_high, @extschema@.xxh3_fold(
        @extschema@.u64_at(b, v_other) # @extschema@.u64_at(c_secret, v_key + 16),
        @extschema@.u64_at(b, v_other + 8) # @extschema@.u64_at(c_secret, v_key + 24)
      )) # @extschema@.u64_add(@extschema@.u64_at(b, v_at), @extschema@.u64_at(b, v_at + 8));
    end loop;
    v_part := @extschema@.u64_add(v_low, v_high);
    v_high := @extschema@.u64_add(
      @extschema@.u64_add((@extschema@.u64_product(v_low, c_prime_1))[1], (@extschema@.u64_product(v_high, c_prime_4))[1]),
      (@extschema@.u64_product(v_length, c_prime_2))[1]
    );
    v_low := @extschema@.xxh3_avalanche(v_part);
    v_high := @extschema@.u64_add(~ @extschema@.xxh3_avalanche(v_high), 1);
  else
    v_lanes := array[3266489917, c_prime_1, c_prime_2, 1609587929392839161, c_prime_4, 2246822519, 2870177450012600261,
      2654435761];
    -- Stripes of 64 bytes, each with the key 8 bytes on; 16 of them are a block, after which the lanes are scrambled. The
    -- last stripe ends where the input does, and has a key of its own.
    for s in 0 .. (v_length - 1) / 64 loop
      if s < (v_length - 1) / 64 then
        v_at := 64 * s;
        v_key := 8 * (s % 16);
      else
        v_at := v_length - 64;
        v_key := 121;
      end if;
      for i in 0 .. 7 loop
        v_part := @extschema@.u64_at(b, v_at + 8 * i);
        v_keyed := v_part # @extschema@.u64_at(c_secret, v_key + 8 * i);
        v_lanes[(i # 1) + 1] := @extschema@.u64_add(v_lanes[(i # 1) + 1], v_part);
        v_lanes[i + 1] := @extschema@.u64_add(v_lanes[i + 1],
          (@extschema@.u64_product(v_keyed & 4294967295, (v_keyed >> 32) & 4294967295))[1]);
      end loop;
      if s % 16 = 15 and s < (v_length - 1) / 64 then
        for i in 0 .. 7 loop
          v_part := v_lanes[i + 1] # ((v_lanes[i + 1] >> 47) & 131071) # @extschema@.u64_at(c_secret, 128 + 8 * i);
          v_lanes[i + 1] := (@extschema@.u64_product(v_part, 2654435761))[1];
        end loop;
      end if;
    end loop;
    v_low := (@extschema@.u64_product(v_length, c_prime_1))[1];
    v_high := ~ (@extschema@.u64_product(v_length, c_prime_2))[1];
    for i in 0 .. 3 loop
      v_low := @extschema@.u64_add(v_low, @extschema@.xxh3_fold(
        v_lanes[2 * i + 1] # @extschema@.u64_at(c_secret, 11 + 16 * i),
        v_lanes[2 * i + 2] # @extschema@.u64_at(c_secret, 19 + 16 * i)));
      v_high := @extschema@.u64_add(v_high, @extschema@.xxh3_fold(
        v_lanes[2 * i + 1] # @extschema@.u64_at(c_secret, 117 + 16 * i),
        v_lanes[2 * i + 2] # @extschema@.u64_at(c_secret, 125 + 16 * i)));
    end loop;
    v_low := @extschema@.xxh3_avalanche(v_low);
    v_high := @extschema@.xxh3_avalanche(v_high);
  end if;
  return decode(lpad(to_hex(v_high), 16, '0') || lpad(to_hex(v_low), 16, '0'), 'hex');
end
$fn$;

comment on function @extschema@.xxh3_128(bytea) is
  'The XXH3 hash of 128 bits of 17 bytes or more: what LangGraph names tasks by.';
revoke all on function @extschema@.xxh3_128(bytea) from public;
