-- grain: one row per project
-- title: By project
-- about: Who pays for what. "Change in 30 days" is empty where nothing is known of that time.
-- empty: No workspace is known.
-- labels: project_name=Project; change_30_days=Change in 30 days; share_percent=Share; not_reported=Without a number
-- subjects: project_name=project
select target, name as project_name, * exclude (target, name)
from resources_by('project', $as_of)
order by resources desc nulls last, project_name, target;
