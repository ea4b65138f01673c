-- grain: one row per workspace that failed at the previous complete pull and has no failed check now
-- title: Resolved
-- about: Failing at the previous complete pull, no failed check now.
-- empty: No failure was resolved.
-- labels: workspace_name=Workspace; project_name=Project; failed_since=Failed since; lasted_days=Lasted (days); checks_that_failed=Checks that failed
-- subjects: workspace_name=workspace:external_id; project_name=project
-- hidden: external_id
with
  state as (select target, as_of from source_state_at($as_of) where source = 'workspaces'),
  selected as (
    select now.target, now.external_id
    from workspaces_at($as_of) as now
    join workspaces_before($as_of) as before using (target, external_id)
    where before.checks_failed > 0 and now.checks_failed = 0
  ),
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
    select target, external_id, max(valid_from) as since
    from assessed
    where failing and previous is distinct from true
    group by target, external_id
  )
select
  now.target,
  now.workspace_name,
  now.project_name,
  before.checks_failed as checks_that_failed,
  episodes.since as failed_since,
  date_diff('hour', episodes.since, state.as_of) // 24 as lasted_days,
  now.external_id,
from workspaces_at($as_of) as now
join workspaces_before($as_of) as before
  on before.target = now.target and before.external_id = now.external_id
join state on state.target = now.target
left join episodes on episodes.target = now.target and episodes.external_id = now.external_id
where before.checks_failed > 0 and now.checks_failed = 0
order by lasted_days desc, now.workspace_name, now.target, now.external_id;
