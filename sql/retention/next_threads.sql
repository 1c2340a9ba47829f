-- The next threads above a thread id, in the order of their ids, at most so many: it skips from one to the next by index, and
-- so costs what it returns.
-- Locks: none. Errors: none.
create or replace function @extschema@.next_threads(p_after text, p_limit integer)
returns setof text
language sql
stable
parallel safe
security invoker
rows 100
set search_path = ''
as $fn$
  with recursive threads as (
    (
      select c.thread_id, 1 as n
      from @extschema@.checkpoints c
      where c.thread_id > p_after
      order by c.thread_id
      limit 1
    )
    union all
    select (
      select c.thread_id
      from @extschema@.checkpoints c
      where c.thread_id > t.thread_id
      order by c.thread_id
      limit 1
    ), t.n + 1
    from threads t
    where t.thread_id is not null and t.n < p_limit
  )
  select t.thread_id from threads t where t.thread_id is not null
$fn$;

comment on function @extschema@.next_threads(text, integer) is 'The next threads above a thread id, by skipping in the index.';
revoke all on function @extschema@.next_threads(text, integer) from public;
