-- grain: one row per workspace with failed checks, the longest failing first
-- title: Failing
-- about: Since: the pull that first saw it fail; a pull that told no count in between did not end it. Times before: earlier failures that were resolved.
-- empty: No workspace fails its checks.
-- labels: workspace_name=Workspace; project_name=Project; since=Since; checks_failed=Failed; checks_errored=Errored; checks_passed=Passed; current_run_status=Last run
-- hidden: external_id
with
  judged as (select target, external_id from workspaces_at($as_of) where checks_failed > 0),
  told as (
    select
      target,
      external_id,
      checks_failed > 0 as failing,
      valid_from,
      lag(checks_failed > 0) over (partition by target, external_id order by valid_from) as earlier,
    from workspaces_history
    semi join judged using (target, external_id)
    where checks_failed is not null and valid_from <= $as_of::timestamptz
  ),
  begun as (
    select target, external_id, max(valid_from) as since, count(*) - 1 as times_before
    from told
    where failing and earlier is distinct from true
    group by target, external_id
  )
select
  now.target,
  now.workspace_name,
  now.project_name,
  now.checks_failed,
  now.checks_errored,
  now.checks_passed,
  begun.since,
  date_diff('hour', begun.since, $as_of::timestamptz) // 24 as days,
  begun.times_before,
  now.current_run_status,
  case
    when now.current_run_status in ('errored', 'discarded')
      then 'last run ' || now.current_run_status || ': the assessment may be stale'
  end as note,
  now.external_id,
from workspaces_at($as_of) as now
left join begun on begun.target = now.target and begun.external_id = now.external_id
where now.checks_failed > 0
order by begun.since, now.checks_failed desc, now.workspace_name, now.target, now.external_id;
