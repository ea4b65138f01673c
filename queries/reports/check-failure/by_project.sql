-- grain: one row per project
-- title: By project
-- labels: project_name=Project; failing_percent=Failing of those with checks
-- subjects: project_name=project:project_external_id
-- links: failing=failing; errored=errored; not_assessed=unknown; without_checks=without_checks
-- hidden: project_external_id
select
  target,
  project_name,
  count(*) as workspaces,
  count(*) filter (checks_failed > 0) as failing,
  count(*) filter (checks_errored > 0) as errored,
  count(*) filter (checks_unknown > 0) as not_assessed,
  count(*) filter (
    checks_failed = 0 and checks_errored = 0 and checks_unknown = 0 and checks_passed = 0
  ) as without_checks,
  coalesce(sum(checks_failed), 0) as checks_failed,
  round(
    100.0 * count(*) filter (checks_failed > 0)
    / nullif(count(*) filter (checks_failed + checks_errored + checks_unknown + checks_passed > 0), 0),
    1
  ) as failing_percent,
  project_external_id,
from workspaces_at($as_of)
group by target, project_external_id, project_name
order by failing desc, checks_failed desc, project_name, target, project_external_id;
