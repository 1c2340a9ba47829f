-- The branches of threads, one row a head, that is, a checkpoint that none continues from: where it forked off, how many
-- checkpoints it has of its own, and whether the thread goes on from it.
create or replace view @extschema@_analytics.branches
with (security_invoker = true)
as
select
  t.thread_id,
  t.checkpoint_ns,
  b.branch,
  b.head_checkpoint_id,
  b.forked_from,
  b.checkpoints,
  b.depth,
  b.source,
  b.is_latest,
  b.first_at,
  b.last_at
from (select distinct c.thread_id, c.checkpoint_ns from @extschema@.checkpoints c) t
cross join lateral (
  select
    n.branch,
    max(n.checkpoint_id) filter (where n.is_head) as head_checkpoint_id,
    (array_agg(n.parent_checkpoint_id order by n.depth))[1] as forked_from,
    count(*) as checkpoints,
    max(n.depth) as depth,
    (array_agg(n.source order by n.depth))[1] as source,
    bool_or(n.is_latest) as is_latest,
    min(n.created_at) as first_at,
    max(n.created_at) as last_at
  from @extschema@.thread_tree(t.thread_id, t.checkpoint_ns) n
  group by n.branch
  having bool_or(n.is_head)
) b;

comment on view @extschema@_analytics.branches is
  'One row a branch of a thread: its head, where it forked off, and whether the thread goes on from it. Filter by thread_id.';
revoke all on @extschema@_analytics.branches from public;
