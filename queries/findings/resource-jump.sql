-- rule: The resources of a workspace grew within a week by `resourceJumpPercent` percent and at least `resourceJumpCount` of them.
-- severity: warning
-- sources: workspaces
-- subject: workspace
-- many: workspaces grew within a week by `resourceJumpPercent` percent or more
-- repair: look at what the last runs added; ask the owner of the project
-- grain: one row per such workspace; unknown where the number of its resources is not reported
-- parameters: $as_of, $resource_jump_percent, $resource_jump_count
-- The comparison is with the lowest number of the week. What a workspace that was created within the week gets is no jump.
with
  week as (
    select target, external_id, min(current_rum_count) as lowest
    from workspaces_history
    where valid_to is null or valid_to > $as_of::timestamptz - interval 7 days
    group by all
  )
select
  target,
  external_id as subject_id,
  workspace_name as subject_name,
  case
    when current_rum_count is null then 'the number of its resources is not reported'
    else format(
      'Workspace {} grew from {} to {} resources within a week',
      coalesce(workspace_name, external_id),
      lowest,
      current_rum_count
    )
  end as title,
  json_object(
    'workspace_id', external_id,
    'project_id', project_external_id,
    'project_name', project_name,
    'resources', current_rum_count,
    'resources_before', lowest
  ) as detail,
  current_rum_count - lowest as weight,
  current_rum_count is null as unknown,
from workspaces
join week using (target, external_id)
where
  current_rum_count is null
  or (
    coalesce(workspace_created_at <= $as_of::timestamptz - interval 7 days, true)
    and current_rum_count - lowest >= $resource_jump_count
    and current_rum_count >= lowest * (1 + $resource_jump_percent / 100.0)
  )
