-- grain: one row per project
-- title: By project
-- labels: project_name=Project; resources_drifted=Resources drifted; drifted_percent=Drifting of those assessed
-- subjects: project_name=project:project_external_id
-- links: drifted=drifting; not_assessed=not_assessed
-- hidden: project_external_id
select
  target,
  project_name,
  count(*) as workspaces,
  count(*) filter (drifted) as drifted,
  count(*) filter (not drifted) as clean,
  count(*) filter (drifted is null) as not_assessed,
  coalesce(sum(resources_drifted), 0) as resources_drifted,
  round(100.0 * count(*) filter (drifted) / nullif(count(drifted), 0), 1) as drifted_percent,
  project_external_id,
from workspaces_at($as_of)
group by target, project_external_id, project_name
order by drifted desc, resources_drifted desc, project_name, target, project_external_id;
