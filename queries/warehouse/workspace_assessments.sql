-- grain: one row per version of a workspace, with what its last assessment said
-- {{scope}}: empty, or `temp ` for one connection
-- assessed_drift, assessed_failing: what this version tells
-- is_drifting, is_failing: the last assessment since the workspace appeared. A version without one stays what it was: unknown is never clean.
-- began: whether the workspace was absent before this version
-- A dozen statements of the reports read it: each sort of a window takes a quarter of a second for 200,000 workspaces, so there is one. A -1
-- stands for "not known since it appeared".
-- defined: after the views, and where it is missing
create or replace {{scope}}view workspace_assessments as
with
  versions as (
    select
      version.*,
      known_failing(checks_failed, checks_unknown) as assessed_failing,
      known_drift(drifted, resources_drifted) as assessed_drift,
      earlier.target is null as began,
    from workspaces_history as version
    left join (select target, external_id, valid_to from workspaces_history where valid_to is not null) as earlier
      on earlier.target = version.target
      and earlier.external_id is not distinct from version.external_id
      and earlier.valid_to = version.valid_from
  )
select
  *,
  nullif(last_value(coalesce(assessed_drift::tinyint, if(began, -1, null)) ignore nulls) over known, -1)::boolean as is_drifting,
  nullif(last_value(coalesce(assessed_failing::tinyint, if(began, -1, null)) ignore nulls) over known, -1)::boolean as is_failing,
from versions
window known as (partition by target, external_id order by valid_from rows unbounded preceding);
