-- Removes what has had its time: expired items of the store, idle threads, and checkpoints that retention policies condemn,
-- with the safety of prune. It goes through all threads in batches and commits after each, so that locks are short and what
-- is done stays done; one that was stopped, or ran out of p_max_duration, goes on where it was the next time.
-- One sweep runs at a time: another returns at once, with a notice. A thread that someone prunes or copies is left for the
-- next time, and so, with a warning, is one that is damaged. Progress is in notices, and in the row "sweep" of settings.
-- Call it outside a transaction, from psql, pg_cron or a client.
--   p_batch_size    threads, and store items, a transaction
--   p_max_duration  when to stop beginning batches; null goes on to the end
-- Locks: one batch's rows at a time. Errors: LG002; 2D000 inside a transaction.
create or replace procedure @extschema@.sweep(p_batch_size integer default 100, p_max_duration interval default null)
language plpgsql
security invoker
as $fn$
declare
  v_started timestamptz := clock_timestamp();
  v_position text;
  v_last text;
  v_thread text;
  v_expired bigint;
  v_items bigint := 0;
  v_threads bigint := 0;
  v_removed record;
  v_checkpoints bigint := 0;
  v_rows bigint := 0;
  v_bytes bigint := 0;
  v_walked boolean := false;   -- whether all threads were looked at
  v_done boolean := false;
begin
  if p_batch_size is null or p_batch_size < 1 or p_max_duration < interval '0' then
    perform @extschema@.reject_argument('sweep', format('batch_size %L, max_duration %L.', p_batch_size, p_max_duration),
      'batch_size is at least 1; max_duration is null or not negative.');
  end if;

  loop
    -- Of the transaction, not of the session: a connection that goes back to a pool must not keep it.
    if not pg_try_advisory_xact_lock(hashtextextended('pgweft sweep', 7069)) then
      raise notice 'another sweep is running; this one leaves the work to it';
      return;
    end if;
    if v_position is null then
      select coalesce(s.value ->> 'position', '') into v_position from @extschema@.settings s where s.key = 'sweep';
      v_position := coalesce(v_position, '');
    end if;

    v_expired := @extschema@.store_sweep(p_batch_size);
    v_items := v_items + v_expired;
    v_last := null;
    for v_thread in select t from @extschema@.next_threads(v_position, p_batch_size) t where not v_walked loop
      v_last := v_thread;
      v_threads := v_threads + 1;
      if @extschema@.lock_thread(v_thread, false) then
        begin
          select * into v_removed from @extschema@.sweep_thread(v_thread);
          v_checkpoints := v_checkpoints + v_removed.checkpoints;
          v_rows := v_rows + v_removed.checkpoints + v_removed.checkpoint_blobs + v_removed.checkpoint_writes;
          v_bytes := v_bytes + v_removed.bytes;
        exception
          -- One thread whose JSON is not what it should be must not keep all others from being swept.
          when data_exception or sqlstate 'LG006' then
            raise warning 'sweep: thread % is damaged and was left alone: % (%)', v_thread, sqlerrm, sqlstate;
        end;
      end if;
    end loop;
    v_position := coalesce(v_last, '');
    v_walked := v_last is null;
    v_done := v_walked and v_expired < p_batch_size;

    insert into @extschema@.settings (key, value)
    values ('sweep', jsonb_build_object('position', v_position, 'started_at', v_started, 'updated_at', clock_timestamp(),
      'done', v_done, 'threads', v_threads, 'checkpoints', v_checkpoints, 'rows', v_rows, 'bytes', v_bytes,
      'store_items', v_items))
    on conflict (key) do update set value = excluded.value, updated_at = now();
    commit;
    raise notice 'sweep: % threads looked at, % checkpoints (% rows, % bytes) and % store items removed',
      v_threads, v_checkpoints, v_rows, v_bytes, v_items;
    exit when v_done or clock_timestamp() - v_started >= p_max_duration;
  end loop;
end
$fn$;

comment on procedure @extschema@.sweep(integer, interval) is
  'Removes expired store items, idle threads and what retention policies condemn; in batches, each committed.';
revoke all on procedure @extschema@.sweep(integer, interval) from public;
