-- grain: one row
-- title: Cost
-- order: 10
-- rules: resource-jump, idle-resources
-- unknown: mostly_unknown
-- sources: workspaces
-- about: Resources under management, which the platform bills. A night on which a target was not pulled completely is a gap. The projection continues the last 30 nights as a line; the true number is within its error in 19 of 20 cases, if nothing else changes.
with
  comparable as (
    select bool_and(previous_as_of is not null) as yes
    from source_state_at($as_of)
    where source = 'workspaces' and as_of is not null
  ),
  changes as (
    select arg_max(resources, as_of) filter (as_of <= $as_of::timestamptz - interval 29 days) as resources_30_days_ago,
    from resource_nights($as_of)
  ),
  counted as (
    select
      count(*) as workspaces,
      -- null where no workspace reports its resources
      if(count(*) = 0, 0, sum(current_rum_count))::bigint as resources,
      count(*) filter (current_rum_count is null) as not_reported,
      (
        -- nobody knows how many came where the number of a workspace is known on one of the two nights only
        select
          case
            when bool_and(comparable.yes) and bool_or((now.current_rum_count is null) <> (before.current_rum_count is null) and now.target is not null) is not true
              then sum(before.current_rum_count)::bigint
          end
        from comparable
        left join workspaces_before($as_of) as before on true
        left join workspaces_at($as_of) as now using (target, external_id)
      ) as resources_before,
    from workspaces_at($as_of)
  ),
  priced as (select from_json($pricing::json, '{"perResourceMonth": "double", "currency": "varchar", "free": "bigint"}') as price)
select
  counted.*,
  2 * not_reported > workspaces as mostly_unknown,
  resources - resources_30_days_ago as change_30_days,
  points as projected_from_nights,
  round(middle)::bigint as projected_30_days,
  ceil(error)::bigint as projected_error,
  if(resources is null, null, round(greatest(resources - price.free, 0) * price.perResourceMonth, 2)) as cost_per_month,
  price.currency as currency,
  if(
    resources is null,
    'The resources under management are not known',
    format('{:,} {} under management', resources, if(resources = 1, 'resource', 'resources'))
  )
  || coalesce(format(', {}{:,} since the last night', if(resources < resources_before, '−', '+'), abs(resources - resources_before)), '')
  || coalesce(format(', {}{:,} in 30 days', if(resources < resources_30_days_ago, '−', '+'), abs(resources - resources_30_days_ago)), '')
  || case when not_reported > 0 then format('; not reported by {:,} of {:,} {}', not_reported, workspaces, if(workspaces = 1, 'workspace', 'workspaces')) else '' end as headline,
from counted
cross join changes
cross join priced
left join resource_projection($as_of) as projection on projection.day = 30;
