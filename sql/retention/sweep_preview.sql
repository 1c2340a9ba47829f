-- What sweep would remove now, thread by thread; threads that lose nothing are left out. It removes nothing.
-- Locks: none. Errors: none.
create or replace function @extschema@.sweep_preview()
returns table (
  thread_id text,
  checkpoints bigint,
  checkpoint_blobs bigint,
  checkpoint_writes bigint,
  bytes bigint,
  kept bigint
)
language plpgsql
volatile
parallel unsafe
security invoker
rows 100
set search_path = ''
as $fn$
#variable_conflict use_column
declare
  v_position text := '';
  v_last text;
begin
  loop
    v_last := null;
    for v_last in select t from @extschema@.next_threads(v_position, 1000) t loop
      thread_id := v_last;
      select r.bytes, r.kept, r.checkpoints, r.checkpoint_blobs, r.checkpoint_writes
      into bytes, kept, checkpoints, checkpoint_blobs, checkpoint_writes
      from @extschema@.sweep_thread(v_last, true) r;
      if checkpoints + checkpoint_blobs + checkpoint_writes > 0 then
        return next;
      end if;
      v_position := v_last;
    end loop;
    exit when not found;
  end loop;
end
$fn$;

comment on function @extschema@.sweep_preview() is 'What sweep would remove from each thread now; removes nothing.';
revoke all on function @extschema@.sweep_preview() from public;
