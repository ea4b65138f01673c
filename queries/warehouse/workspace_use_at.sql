-- grain: one row per workspace that was there up to a time: its last apply that the history knows, and since when it drifts without a known end
-- {{scope}}: empty, or `temp ` for one connection
-- The current run may not be an apply. Drift that was not assessed in between has not ended.
-- defined: after the views, and where it is missing
create or replace {{scope}}macro workspace_use_at(at_time) as table
with
  versions as (from workspaces_history where valid_from <= at_time::timestamptz),
  applies as (
    select
      target,
      external_id,
      max(current_run_applied_at) as applied_at,
      max(valid_to) filter (not known_drift(drifted, resources_drifted)) as drifts_after,
    from versions
    group by all
  )
select
  versions.target,
  versions.external_id,
  any_value(applied_at) as applied_at,
  min(valid_from) filter (drifted and valid_from >= coalesce(drifts_after, valid_from)) as drifts_since,
from versions
join applies using (target, external_id)
group by all;
