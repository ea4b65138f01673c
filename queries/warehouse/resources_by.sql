-- grain: one row per target and project, or repository, that has workspaces now or had some 30 days ago
-- {{scope}}: empty, or `temp ` for one connection; owner: 'project' or 'repository'
-- A project keeps its ID when it gets another name.
-- change_30_days: null where nothing is known of that time; not_reported: workspaces without a number
-- defined: after the views, and where it is missing
create or replace {{scope}}macro resources_by(owner, at_time) as table
with
  known as (
    select now.target, before.complete_at is not null as is_comparable
    from source_state_at(at_time) as now
    left join source_state_at(at_time::timestamptz - interval 30 days) as before using (target, source)
    where now.source = 'workspaces' and now.complete_at is not null
  ),
  before as (
    select
      target,
      if(owner = 'project', coalesce(project_external_id, project_name), vcs_repo_identifier) as id,
      any_value(if(owner = 'project', project_name, vcs_repo_identifier)) as name,
      count(*) as workspaces,
      sum(current_rum_count) as resources,
    from workspaces_at(at_time::timestamptz - interval 30 days)
    group by target, id
  ),
  now as (
    select
      target,
      if(owner = 'project', coalesce(project_external_id, project_name), vcs_repo_identifier) as id,
      any_value(if(owner = 'project', project_name, vcs_repo_identifier)) as name,
      count(*) as workspaces,
      sum(current_rum_count) as resources,
      count(*) filter (current_rum_count is null) as not_reported,
    from workspaces_at(at_time)
    group by target, id
  )
select
  known.target,
  coalesce(now.name, before.name) as name,
  coalesce(now.workspaces, 0) as workspaces,
  if(now.workspaces is null, 0, now.resources)::bigint as resources,
  case
    when
      is_comparable
      and (now.workspaces is null or now.resources is not null)
      and (before.workspaces is null or before.resources is not null)
      then (coalesce(now.resources, 0) - coalesce(before.resources, 0))::bigint
  end as change_30_days,
  round(100.0 * now.resources / nullif(sum(now.resources) over (), 0), 1) as share_percent,
  coalesce(now.not_reported, 0) as not_reported,
from now
full join before
  on before.target = now.target and before.id is not distinct from now.id
join known on known.target = coalesce(now.target, before.target);
