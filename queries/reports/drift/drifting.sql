-- grain: one row per workspace that drifts
-- title: Drifting
-- about: Since: the pull that first saw this drift; one that could not be assessed in between did not end it. Times before: earlier drifts that were resolved.
-- empty: No workspace drifts.
-- labels: workspace_name=Workspace; project_name=Project; since=Since; current_run_status=Last run
-- hidden: external_id
with
  judged as (select target, external_id from workspaces_at($as_of) where drifted),
  told as (
    select
      target,
      external_id,
      drifted,
      valid_from,
      lag(drifted) over (partition by target, external_id order by valid_from) as earlier,
    from workspaces_history
    semi join judged using (target, external_id)
    where drifted is not null and valid_from <= $as_of::timestamptz
  ),
  begun as (
    select target, external_id, max(valid_from) as since, count(*) - 1 as times_before
    from told
    where drifted and earlier is distinct from true
    group by target, external_id
  )
select
  now.target,
  now.workspace_name,
  now.project_name,
  now.resources_drifted,
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
where now.drifted
order by begun.since, now.resources_drifted desc nulls last, now.workspace_name, now.target, now.external_id;
