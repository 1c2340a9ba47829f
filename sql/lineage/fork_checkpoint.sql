-- Rolls back by branching: a new checkpoint with the state of the given one, from which the conversation goes on. Nothing
-- is removed. Returns the new checkpoint's id, which sorts above every other of the namespace, so that it is the newest.
--   p_new_checkpoint_id  null makes one; a given one has to be new and to sort above the others
--   p_metadata           added to source 'fork', the next step and the target's parents, and stands above them
--   p_copy_blobs         false shares the values by version. True copies them under versions above all that the
--                        namespace has, and moves channel_versions and versions_seen along, so that the branches share
--                        nothing. Where versions are integers this happens anyway: a client that counts up from the
--                        target would meet the versions of the old branch, and lose its values to them.
-- The parent is the target. One case differs: where the target's own writes went to a delta channel, a child's state would
-- include them, so the branch becomes the target's sibling, under the same parent; that is how LangGraph copies, too.
-- Locks: the thread (lock_thread), the target's row against removal, the rows it writes. Errors: LG001 when the target does
-- not exist; LG002.
create or replace function @extschema@.fork_checkpoint(
  p_thread_id text,
  p_checkpoint_ns text,
  p_checkpoint_id text,
  p_new_checkpoint_id text default null,
  p_metadata jsonb default '{}',
  p_copy_blobs boolean default false
)
returns text
language plpgsql
volatile
parallel unsafe
security invoker
set search_path = ''
as $fn$
declare
  v_target @extschema@.checkpoints;
  v_newest text;
  v_new_id text;
  v_step integer;
  v_checkpoint jsonb;
  v_metadata jsonb;
  v_integers boolean;
  v_versions jsonb;
begin
  if p_thread_id is null or p_thread_id = '' or p_checkpoint_ns is null or p_checkpoint_id is null or p_checkpoint_id = ''
    or p_new_checkpoint_id = '' then
    perform @extschema@.reject_argument('checkpoint to fork',
      format('thread_id %L, checkpoint_ns %L, checkpoint_id %L, new_checkpoint_id %L.', p_thread_id, p_checkpoint_ns,
        p_checkpoint_id, p_new_checkpoint_id),
      'Name the checkpoint to go back to; new_checkpoint_id null makes one.');
  end if;
  if p_metadata is not null and jsonb_typeof(p_metadata) <> 'object' then
    perform @extschema@.reject_argument('metadata', 'It is not a JSON object.', 'Pass {} when there is none.');
  end if;

  -- Neither a prune nor another fork may come between reading the target and saving the branch. The lock on the row tells a
  -- transaction whose snapshot is older than such a prune that the target is gone.
  perform @extschema@.lock_thread(p_thread_id);
  select * into v_target
  from @extschema@.checkpoints c
  where c.thread_id = p_thread_id and c.checkpoint_ns = p_checkpoint_ns and c.checkpoint_id = p_checkpoint_id
  for key share;
  if not found then
    perform @extschema@.reject_missing_checkpoint(p_thread_id, p_checkpoint_ns, p_checkpoint_id);
  end if;

  v_step := case when jsonb_typeof(v_target.metadata -> 'step') = 'number'
    then (v_target.metadata ->> 'step')::numeric::integer + 1 end;
  select c.checkpoint_id into v_newest
  from @extschema@.checkpoints c
  where c.thread_id = p_thread_id and c.checkpoint_ns = p_checkpoint_ns
  order by c.checkpoint_id desc
  limit 1;
  v_new_id := coalesce(p_new_checkpoint_id, @extschema@.new_checkpoint_id(coalesce(v_step, -2), v_newest));
  if v_new_id collate "C" <= v_newest then
    perform @extschema@.reject_argument('new_checkpoint_id',
      format('%L does not sort above %L, the newest checkpoint of thread %L.', v_new_id, v_newest, p_thread_id),
      'A branch has to be the newest checkpoint, or the conversation would not go on from it; pass an id that sorts above.');
  end if;

  v_checkpoint := v_target.checkpoint || jsonb_build_object(
    'id', v_new_id,
    'ts', to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US') || '+00:00'
  );
  -- Counters of delta channels go along: the branch is as far from the last snapshot as its target.
  v_metadata := jsonb_strip_nulls(jsonb_build_object('step', v_step))
    || jsonb_build_object('source', 'fork', 'parents', coalesce(v_target.metadata -> 'parents', '{}'))
    || case when v_target.metadata ? 'counters_since_delta_snapshot'
      then jsonb_build_object('counters_since_delta_snapshot', v_target.metadata -> 'counters_since_delta_snapshot')
      else '{}' end
    || coalesce(p_metadata, '{}');

  v_integers := exists (
    select from jsonb_each(v_target.checkpoint -> 'channel_versions') v where jsonb_typeof(v.value) = 'number'
  );
  if p_copy_blobs or v_integers then
    v_versions := @extschema@.copy_blobs(p_thread_id, p_checkpoint_ns, v_target.checkpoint);
    v_checkpoint := v_checkpoint || jsonb_build_object(
      'channel_versions', coalesce(v_target.checkpoint -> 'channel_versions', '{}') || v_versions,
      'versions_seen', (
        select coalesce(jsonb_object_agg(n.key, (
          select coalesce(jsonb_object_agg(s.key,
            case when s.value = v_target.checkpoint -> 'channel_versions' -> s.key
              then coalesce(v_versions -> s.key, s.value)
              else s.value end), '{}')
          from jsonb_each(n.value) s
        )), '{}')
        from jsonb_each(coalesce(v_target.checkpoint -> 'versions_seen', '{}')) n
      )
    );
  end if;

  perform @extschema@.put_checkpoint(
    p_thread_id, p_checkpoint_ns, v_new_id,
    case when @extschema@.writes_delta_channel(p_thread_id, p_checkpoint_ns, p_checkpoint_id)
      then v_target.parent_checkpoint_id
      else p_checkpoint_id end,
    v_checkpoint, v_metadata
  );
  return v_new_id;
end
$fn$;

comment on function @extschema@.fork_checkpoint(text, text, text, text, jsonb, boolean) is
  'Branches from a checkpoint: a new newest one with the same state, nothing removed. Returns its id.';
revoke all on function @extschema@.fork_checkpoint(text, text, text, text, jsonb, boolean) from public;
