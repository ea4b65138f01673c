-- grain: one row per version of a workspace, with what its last assessment said
-- {{scope}}: empty, or `temp ` for one connection
-- assessed_drift, assessed_failing: what this version tells
-- is_drifting, is_failing: the last assessment since the workspace appeared. A version without one stays what it was: unknown is never clean.
-- began: whether the workspace was absent before this version
create or replace {{scope}}view workspace_assessments as
with
  versions as (
    select
      *,
      known_failing(checks_failed, checks_unknown) as assessed_failing,
      known_drift(drifted, resources_drifted) as assessed_drift,
      valid_from is distinct from lag(valid_to) over (partition by target, external_id order by valid_from) as began,
    from workspaces_history
  ),
  lives as (
    select *, count(*) filter (began) over (partition by target, external_id order by valid_from) as life
    from versions
  )
select
  * exclude (life),
  last_value(assessed_drift ignore nulls) over known as is_drifting,
  last_value(assessed_failing ignore nulls) over known as is_failing,
from lives
window known as (partition by target, external_id, life order by valid_from rows unbounded preceding);
