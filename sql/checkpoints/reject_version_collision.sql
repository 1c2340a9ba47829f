-- Compares channel values with the stored ones of the same version, and raises LG003 where the bytes differ. Called after
-- an insert that found some of them stored already: put again with the same bytes is a retry and passes.
-- Locks: none. Errors: LG003.
create or replace function @extschema@.reject_version_collision(
  p_thread_id text,
  p_checkpoint_ns text,
  p_channels text[],
  p_versions text[],
  p_types text[],
  p_blobs bytea[]
)
returns void
language plpgsql
volatile
parallel unsafe
security invoker
set search_path = ''
as $fn$
declare
  v_channel text;
  v_version text;
begin
  select n.channel, n.version into v_channel, v_version
  from unnest(p_channels, p_versions, p_types, p_blobs) with ordinality as n (channel, version, type, blob, position)
  cross join lateral (
    select b.type, b.blob
    from @extschema@.checkpoint_blobs b
    where b.thread_id = p_thread_id
      and b.checkpoint_ns = p_checkpoint_ns
      and b.channel = n.channel
      and b.version = n.version
    limit 1
  ) stored
  where case
    when n.type like '%+%' then (stored.type, length(stored.blob)) is distinct from (n.type, length(n.blob))
    else (stored.type, stored.blob) is distinct from (n.type, n.blob)
  end
  order by n.position
  limit 1;

  if found then
    raise exception using
      errcode = 'LG003',
      message = format('channel %L already has another value under version %L', v_channel, v_version),
      detail = format('Thread %L, namespace %L. A version is immutable, and checkpoints share it.', p_thread_id,
        p_checkpoint_ns),
      hint = 'Another writer, or another branch of a client with integer versions, used this version. Read the thread again '
        'and put with next_channel_version(), or branch with fork_checkpoint(..., copy_blobs => true).';
  end if;
end
$fn$;

comment on function @extschema@.reject_version_collision(text, text, text[], text[], text[], bytea[]) is
  'Raises LG003 where a channel version is stored with other bytes than these.';
revoke all on function @extschema@.reject_version_collision(text, text, text[], text[], text[], bytea[]) from public;
