-- grain: one row per workspace with failed checks, the longest failing first
-- title: Failing
-- about: "Since" is the pull that first reported the failure. A run without a count does not reset "Since". "Times before" counts earlier failures that were resolved.
-- empty: No workspace fails its checks.
-- labels: workspace_name=Workspace; project_name=Project; since=Since; checks_failed=Failed; checks_errored=Errored; checks_passed=Passed; current_run_status=Last run
-- subjects: workspace_name=workspace:external_id; project_name=project
-- hidden: external_id
with
  selected as (select target, external_id from workspaces_at($as_of) where checks_failed > 0),
  assessed as (
    select
      target,
      external_id,
      checks_failed > 0 as failing,
      valid_from,
      lag(checks_failed > 0) over (partition by target, external_id order by valid_from) as previous,
    from workspaces_history
    semi join selected using (target, external_id)
    where checks_failed is not null and valid_from <= $as_of::timestamptz
  ),
  episodes as (
    select target, external_id, max(valid_from) as since, count(*) - 1 as times_before
    from assessed
    where failing and previous is distinct from true
    group by target, external_id
  )
select
  now.target,
  now.workspace_name,
  now.project_name,
  now.checks_failed,
  now.checks_errored,
  now.checks_passed,
  episodes.since,
  date_diff('hour', episodes.since, $as_of::timestamptz) // 24 as days,
  episodes.times_before,
  now.current_run_status,
  case
    when now.current_run_status in ('errored', 'discarded', 'canceled', 'force_canceled', 'policy_soft_failed')
      then 'last run ' || now.current_run_status || ': the assessment may be outdated'
  end as note,
  now.external_id,
from workspaces_at($as_of) as now
left join episodes on episodes.target = now.target and episodes.external_id = now.external_id
where now.checks_failed > 0
order by episodes.since, now.checks_failed desc, now.workspace_name, now.target, now.external_id;
