-- Recovers values that a checkpoint has lost: a channel version it names, of which neither a blob nor an inline value is
-- there, while tasks wrote to the channel. The value is the parent's, merged with the writes that are stored with the parent
-- or, where the parent has none of the channel, with those that are stored with the checkpoint itself, in the order they
-- apply: maps merge, lists join, of anything else the last write wins
-- (see msgpack_merge). One row a channel that was looked at: 'rebuilt' with the size, or why it could not be.
-- Delta channels lose nothing this way, and are left alone. A graph whose reducers do something else gets something else:
-- look at the value before you rely on it.
-- Locks: the rows it writes. Errors: LG001; LG002.
create or replace function @extschema@.rebuild_blobs(p_thread_id text, p_checkpoint_ns text, p_checkpoint_id text)
returns table (channel text, version text, result text, bytes integer)
language plpgsql
volatile
parallel unsafe
security invoker
rows 10
set search_path = ''
as $fn$
#variable_conflict use_column
declare
  v_checkpoint jsonb;
  v_parent_id text;
  v_parent jsonb;
  v_value bytea;
  v_type text;
  v_writes_of text;
  v_write record;
begin
  if p_thread_id is null or p_thread_id = '' or p_checkpoint_ns is null or p_checkpoint_id is null or p_checkpoint_id = '' then
    perform @extschema@.reject_argument('checkpoint to rebuild',
      format('thread_id %L, checkpoint_ns %L, checkpoint_id %L.', p_thread_id, p_checkpoint_ns, p_checkpoint_id),
      'Name the checkpoint; fsck() lists those with missing values.');
  end if;
  select c.checkpoint, c.parent_checkpoint_id into v_checkpoint, v_parent_id
  from @extschema@.checkpoints c
  where c.thread_id = p_thread_id and c.checkpoint_ns = p_checkpoint_ns and c.checkpoint_id = p_checkpoint_id;
  if not found then
    perform @extschema@.reject_missing_checkpoint(p_thread_id, p_checkpoint_ns, p_checkpoint_id);
  end if;
  select c.checkpoint into v_parent
  from @extschema@.checkpoints c
  where c.thread_id = p_thread_id and c.checkpoint_ns = p_checkpoint_ns and c.checkpoint_id = v_parent_id;

  for channel, version in
    select m.channel, m.version from @extschema@.missing_values(p_thread_id, p_checkpoint_ns, p_checkpoint_id) m
    order by m.channel
  loop
    v_type := null;
    v_value := null;
    result := null;
    bytes := null;
    -- The parent's own value, if it has one.
    select v.type, v.blob into v_type, v_value
    from @extschema@.checkpoint_values(p_thread_id, p_checkpoint_ns, v_parent) v
    where v.channel = rebuild_blobs.channel and v.type is not null;
    if v_type is not null and v_type not in ('msgpack', 'null') then
      result := format('the parent''s value is %s, which cannot be merged', v_type);
    end if;
    -- LangGraph saves the writes that led to a checkpoint with its parent. Whoever saves them with the checkpoint is
    -- understood too, but where the parent has some, those of the checkpoint belong to the step after it.
    select case when exists (
      select
      from @extschema@.checkpoint_writes w
      where w.thread_id = p_thread_id
        and w.checkpoint_ns = p_checkpoint_ns
        and w.checkpoint_id = v_parent_id
        and w.channel = rebuild_blobs.channel
    ) then v_parent_id else p_checkpoint_id end into v_writes_of;
    for v_write in
      select w.type, w.blob
      from @extschema@.checkpoint_writes w
      where w.thread_id = p_thread_id
        and w.checkpoint_ns = p_checkpoint_ns
        and w.checkpoint_id = v_writes_of
        and w.channel = rebuild_blobs.channel
      order by w.task_path, w.task_id, w.idx
    loop
      exit when result is not null;
      if v_write.type is distinct from 'msgpack' and v_write.type is distinct from 'null' then
        result := format('a write is %s, which cannot be merged', coalesce(v_write.type, 'of no type'));
      elsif v_write.type = 'msgpack' and v_type = 'msgpack' then
        v_value := @extschema@.msgpack_merge(v_value, v_write.blob);
      else
        v_type := v_write.type;
        v_value := v_write.blob;
      end if;
    end loop;
    if result is null then
      insert into @extschema@.checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
      values (p_thread_id, p_checkpoint_ns, channel, version, v_type, v_value)
      on conflict (thread_id, checkpoint_ns, channel, version) do nothing;
      result := 'rebuilt';
      bytes := length(v_value);
    end if;
    return next;
  end loop;
end
$fn$;

comment on function @extschema@.rebuild_blobs(text, text, text) is
  'Recovers lost values of a checkpoint from its parent''s state and the writes; says what it could not rebuild.';
revoke all on function @extschema@.rebuild_blobs(text, text, text) from public;
