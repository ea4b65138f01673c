-- grain: one row per workspace with failed checks, the longest failing first
-- title: Failing
-- about: "Since" is the pull that first reported the failure. A run without a count does not reset it. "Times before" counts earlier failures that were resolved.
-- empty: No workspace is known to fail its checks.
-- labels: workspace_name=Workspace; project_name=Project; since=Since; current_run_status=Last run; checks=Checks
-- subjects: workspace_name=workspace:external_id; project_name=project:project_external_id
-- hidden: external_id, project_external_id, checks_failed, checks_errored, checks_passed, days
select
  now.target,
  now.workspace_name,
  now.project_name,
  concat_ws(
    ', ',
    if(now.checks_failed > 0, now.checks_failed || ' failed', null),
    if(now.checks_errored > 0, now.checks_errored || ' errored', null),
    if(now.checks_passed > 0, now.checks_passed || ' passed', null),
    if(now.checks_failed is null, 'not reported now', null),
    if(now.checks_failed = 0 and now.checks_unknown > 0, now.checks_unknown || ' not assessed now', null)
  ) as checks,
  now.checks_failed,
  now.checks_errored,
  now.checks_passed,
  episodes.failing_since as since,
  date_diff('hour', since, $as_of::timestamptz) // 24 as days,
  episodes.failures_before as times_before,
  now.current_run_status,
  case
    when ended_unapplied(now.current_run_status)
      then 'last run ' || now.current_run_status || ': the assessment may be outdated'
  end as note,
  now.external_id,
  now.project_external_id,
from workspaces_at($as_of) as now
join workspace_changes($as_of, null) as changes using (target, external_id)
left join workspace_episodes($as_of) as episodes using (target, external_id)
where changes.is_failing
order by since, now.checks_failed desc nulls last, now.workspace_name, now.target, now.external_id;
