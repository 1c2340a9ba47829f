-- Values and writes of one thread that cannot be decoded: the deep part of fsck. Each is tried in a subtransaction.
-- Locks: none. Errors: none.
create or replace function @extschema@.fsck_values(p_thread_id text)
returns table (
  problem text,
  thread_id text,
  checkpoint_ns text,
  checkpoint_id text,
  channel text,
  detail text,
  remedy text
)
language plpgsql
volatile
parallel unsafe
security invoker
rows 1
set search_path = ''
as $fn$
#variable_conflict use_column
declare
  v_value record;
begin
  for v_value in
    select b.checkpoint_ns, null::text as checkpoint_id, b.channel, b.type, b.blob, format('Version %s', b.version) as place
    from @extschema@.checkpoint_blobs b
    where b.thread_id = p_thread_id
    union all
    select w.checkpoint_ns, w.checkpoint_id, w.channel, w.type, w.blob, format('Write %s of task %s', w.idx, w.task_id)
    from @extschema@.checkpoint_writes w
    where w.thread_id = p_thread_id
  loop
    begin
      if v_value.blob is null and v_value.type <> 'empty' then
        perform @extschema@.reject_truncated(0, 0);
      end if;
      perform @extschema@.value_to_jsonb(v_value.type, v_value.blob);
    exception
      when sqlstate 'LG006' or character_not_in_repertoire or invalid_text_representation or untranslatable_character then
        problem := 'damaged value';
        thread_id := p_thread_id;
        checkpoint_ns := v_value.checkpoint_ns;
        checkpoint_id := v_value.checkpoint_id;
        channel := v_value.channel;
        detail := format('%s, type %s: %s.', v_value.place, v_value.type, sqlerrm);
        remedy := 'Delete the row, then rebuild_blobs may recover the value; otherwise restore it from a backup.';
        return next;
    end;
  end loop;
end
$fn$;

comment on function @extschema@.fsck_values(text) is 'Values and writes of one thread that cannot be decoded.';
revoke all on function @extschema@.fsck_values(text) from public;
