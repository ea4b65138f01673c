-- grain: one row per volume that allocations claim at a time
-- {{scope}}: empty, or `temp ` for one connection
-- is_lost: whether only finished allocations claim it; null where they may have finished, and a status is not reported or not known
-- defined: after the views, and where it is missing
create or replace {{scope}}macro volume_claims(at_time) as table
select
  target,
  namespace,
  volume_id,
  count(distinct allocation_id) as allocations,
  bool_and(has_ended(client_status)) and if(bool_or(has_ended(client_status) is null), null, true) as is_lost,
  list(distinct client_status order by client_status) as statuses,
  list(distinct node_id order by node_id) filter (node_id is not null) as nodes,
  list(distinct job_id order by job_id) filter (job_id is not null) as jobs,
from volume_allocations_at(at_time)
group by target, namespace, volume_id;
