-- grain: one row per workspace that drifted at the previous complete pull and is clean now
-- title: Resolved
-- about: Drifting at the previous complete pull, assessed and clean now.
-- empty: No drift was resolved.
-- labels: workspace_name=Workspace; project_name=Project; drifted_since=Drifted since; lasted_days=Lasted (days); resources_drifted=Resources that drifted
-- hidden: external_id
with
  state as (select target, as_of from source_state_at($as_of) where source = 'workspaces'),
  judged as (
    select now.target, now.external_id
    from workspaces_at($as_of) as now
    join workspaces_before($as_of) as before using (target, external_id)
    where before.drifted and not now.drifted
  ),
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
    select target, external_id, max(valid_from) as since
    from told
    where drifted and earlier is distinct from true
    group by target, external_id
  )
select
  now.target,
  now.workspace_name,
  now.project_name,
  before.resources_drifted,
  begun.since as drifted_since,
  date_diff('hour', begun.since, state.as_of) // 24 as lasted_days,
  now.external_id,
from workspaces_at($as_of) as now
join workspaces_before($as_of) as before
  on before.target = now.target and before.external_id = now.external_id
join state on state.target = now.target
left join begun on begun.target = now.target and begun.external_id = now.external_id
where before.drifted and not now.drifted
order by lasted_days desc, now.workspace_name, now.target, now.external_id;
