-- grain: one row per version of a project: its name, from the first workspace that reports it to the last
-- subject: project
-- title: Projects
-- table: workspaces
-- order: 2
select
  project_external_id as subject_id,
  project_name as subject_name,
  null::varchar as place,
  target,
  organization_name,
  project_external_id,
  project_name,
  min(valid_from) as valid_from,
  if(bool_or(valid_to is null), null, max(valid_to)) as valid_to,
from workspaces_history
group by target, organization_name, project_external_id, project_name
-- a name per time, should workspaces report several
qualify row_number() over (partition by target, project_external_id, min(valid_from) order by project_name) = 1
