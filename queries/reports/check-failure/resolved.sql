-- grain: one row per workspace that was resolved since the previous complete pull
-- title: Resolved
-- about: Failing when last reported before, no failed check now.
-- empty: No failure was resolved.
-- labels: workspace_name=Workspace; project_name=Project; failed_since=Failed since; lasted_days=Lasted (days); checks_that_failed=Checks that failed
-- subjects: workspace_name=workspace:external_id; project_name=project
-- hidden: external_id
with
  state as (select target, as_of from source_state_at($as_of) where source = 'workspaces')
select
  now.target,
  now.workspace_name,
  now.project_name,
  nullif(before.checks_failed, 0) as checks_that_failed,
  episodes.failing_since as failed_since,
  date_diff('hour', episodes.failing_since, state.as_of) // 24 as lasted_days,
  now.external_id,
from workspaces_at($as_of) as now
join workspace_changes($as_of, null) as changes using (target, external_id)
join state using (target)
left join workspaces_before($as_of) as before using (target, external_id)
left join workspace_episodes($as_of) as episodes using (target, external_id)
where changes.failing_change = 'resolved'
order by lasted_days desc, now.workspace_name, now.target, now.external_id;
