-- grain: one row per repository
-- title: By repository
-- about: A workspace without a repository is counted under none. "In 30 days" is null where nothing is known of that time.
-- empty: No workspace is known.
-- labels: vcs_repo_identifier=Repository; change_30_days=In 30 days; share_percent=Share; not_reported=Without a number
with
  known as (
    select target, min(as_of) <= $as_of::timestamptz - interval 30 days as since_then
    from pulls
    where source = 'workspaces' and status = 'complete'
    group by target
  ),
  before as (
    select target, vcs_repo_identifier, sum(current_rum_count) as resources
    from workspaces_at($as_of::timestamptz - interval 30 days)
    group by all
  ),
  now as (
    select target, vcs_repo_identifier, count(*) as workspaces, sum(current_rum_count) as resources, count(*) filter (current_rum_count is null) as not_reported
    from workspaces_at($as_of)
    group by all
  )
select
  known.target,
  coalesce(now.vcs_repo_identifier, before.vcs_repo_identifier) as vcs_repo_identifier,
  coalesce(now.workspaces, 0) as workspaces,
  if(now.workspaces is null, 0, now.resources)::bigint as resources,
  case when known.since_then and (now.workspaces is null or now.resources is not null) then (coalesce(now.resources, 0) - coalesce(before.resources, 0))::bigint end as change_30_days,
  round(100.0 * now.resources / nullif(sum(now.resources) over (), 0), 1) as share_percent,
  coalesce(now.not_reported, 0) as not_reported,
from now
full join before
  on before.target = now.target and before.vcs_repo_identifier is not distinct from now.vcs_repo_identifier
join known on known.target = coalesce(now.target, before.target)
order by resources desc nulls last, vcs_repo_identifier, known.target;
