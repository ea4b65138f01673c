-- grain: one row per repository
-- title: By repository
-- about: A workspace without a repository is counted under none. "Change in 30 days" is empty where nothing is known of that time.
-- empty: No workspace is known.
-- labels: vcs_repo_identifier=Repository; change_30_days=Change in 30 days; share_percent=Share; not_reported=Without a number
select target, name as vcs_repo_identifier, * exclude (target, name)
from resources_by('repository', $as_of)
order by resources desc nulls last, vcs_repo_identifier, target;
