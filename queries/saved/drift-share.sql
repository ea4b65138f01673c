-- title: Drift as a share of resources, by project
-- description: Of the resources that were assessed. The share is unknown where no workspace of the project is assessed and reports its resources.
select
  target,
  project_name,
  count(*) as workspaces,
  count(*) filter (where resources_drifted is null or resources_undrifted is null) as not_reported,
  sum(resources_drifted) as resources_drifted,
  sum(resources_drifted + resources_undrifted) as resources_assessed,
  round(100.0 * sum(resources_drifted) filter (where resources_undrifted is not null) / nullif(sum(resources_drifted + resources_undrifted), 0), 1) as drifted_percent
from (
  -- the explorer answers 0 beside a workspace that is not assessed
  select * replace (if(known_drift(drifted, resources_drifted) is null, null, resources_drifted) as resources_drifted)
  from workspaces
)
group by target, project_name
order by drifted_percent desc nulls last, target, project_name;
