-- grain: one row per target and project pattern that a digest covers; project: null for the whole target
-- parameters: $targets: JSON list of {name, kind}, those configured; $routes: JSON list of {targets, projects}, lists of patterns
-- Only platforms have projects, so a route with projects matches platform targets only.
create or replace temp table mail_routes as
with
  configured as (select unnest(from_json($targets, '[{"name": "varchar", "kind": "varchar"}]'), recursive := true)),
  routes as (
    select unnest(from_json($routes, '[{"targets": ["varchar"], "projects": ["varchar"]}]'), recursive := true)
  )
select distinct configured.name as target, unnest(coalesce(routes.projects, [null])) as project
from configured
join routes
  on (routes.targets is null or len(list_filter(routes.targets, lambda pattern: configured.name glob pattern)) > 0)
  and (routes.projects is null or configured.kind = 'platform');
