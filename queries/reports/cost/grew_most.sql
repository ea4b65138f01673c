-- grain: one row per workspace that has more resources than 30 days ago, or than in the first pull, the one that grew most first
-- title: What grew most
-- about: Within 30 days, or since the first pull. "Night" is that of the largest step. A workspace that is new since then grew from 0.
-- counted: resources
-- empty: No workspace has grown.
-- labels: workspace_name=Workspace; project_name=Project; resources_before=Before; grew=Grew by; step=Largest step; step_at=Night
-- subjects: workspace_name=workspace:external_id; project_name=project
-- hidden: external_id
-- limit: 50
with
  versions as (
    select
      history.target,
      external_id,
      current_rum_count,
      valid_from,
      valid_to,
      first_as_of,
      -- one that was there without a number has not grown from 0
      coalesce(
        lag(current_rum_count ignore nulls) over earlier,
        if(valid_from > first_as_of and row_number() over earlier = 1, 0, current_rum_count)
      ) as count_before,
    from workspaces_history as history
    join first_pulls('workspaces') using (target)
    where valid_from <= $as_of::timestamptz
    window earlier as (partition by history.target, external_id order by valid_from)
    qualify current_rum_count is not null
  ),
  grown as (
    select
      target,
      external_id,
      arg_min(count_before, valid_from) filter (valid_from > $as_of::timestamptz - interval 30 days) as resources_before,
      max(current_rum_count - count_before) filter (valid_from > $as_of::timestamptz - interval 30 days) as step,
      arg_max(valid_from, current_rum_count - count_before) filter (valid_from > $as_of::timestamptz - interval 30 days) as step_at,
    from versions
    group by target, external_id
  )
select
  now.target,
  now.workspace_name,
  now.project_name,
  grown.resources_before,
  now.current_rum_count as resources,
  now.current_rum_count - grown.resources_before as grew,
  grown.step,
  grown.step_at,
  now.external_id,
from grown
join workspaces_at($as_of) as now using (target, external_id)
where now.current_rum_count > grown.resources_before
order by grew desc, now.workspace_name, now.target, now.external_id
limit 1000;
