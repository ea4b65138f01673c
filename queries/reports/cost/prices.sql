-- grain: one row per project, where `pricing` of tidemark.yaml has a price; what is free is shared by number of resources
-- title: Cost per month by project
-- labels: project_name=Project; per_month=Per month; currency=Currency
-- subjects: project_name=project
with
  price as (
    select unnest(from_json($pricing::json, '{"perResourceMonth": "double", "currency": "varchar", "free": "bigint"}'))
    where $pricing <> 'null'
  ),
  projects as (
    select target, project_name, coalesce(sum(current_rum_count), 0)::bigint as resources, sum(sum(current_rum_count)) over () as total
    from workspaces_at($as_of)
    group by target, project_name
  )
select
  target,
  project_name,
  resources,
  round(resources * greatest(total - free, 0) / nullif(total, 0) * perResourceMonth, 2) as per_month,
  currency,
from projects, price
where resources > 0
order by per_month desc, project_name, target;
