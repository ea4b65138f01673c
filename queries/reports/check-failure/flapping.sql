-- grain: one row per workspace that began to fail three times or more within 30 days
-- title: Flapping
-- about: Started to fail at least three times within the last 30 days.
-- counted: failing
-- empty: No workspace flaps.
-- labels: workspace_name=Workspace; project_name=Project; last_began_at=Last start; checks_failed_now=Failed now
-- subjects: workspace_name=workspace:external_id; project_name=project
-- hidden: external_id
with
  assessed as (
    select
      target,
      external_id,
      assessed_failing,
      valid_from,
      lag(assessed_failing) over (partition by target, external_id order by valid_from) as previous,
    from workspace_assessments
    where assessed_failing is not null and valid_from <= $as_of::timestamptz
  ),
  episodes as (
    select target, external_id, count(*) as times_in_30_days, max(valid_from) as last_began_at
    from assessed
    where assessed_failing and previous is distinct from true and valid_from > $as_of::timestamptz - interval 30 days
    group by target, external_id
    having count(*) >= 3
  )
select
  now.target,
  now.workspace_name,
  now.project_name,
  episodes.times_in_30_days,
  episodes.last_began_at,
  if(known_failing(now.checks_failed, now.checks_unknown) is null, null, now.checks_failed) as checks_failed_now,
  now.external_id,
from episodes
join workspaces_at($as_of) as now on now.target = episodes.target and now.external_id = episodes.external_id
order by episodes.times_in_30_days desc, now.workspace_name, now.target, now.external_id;
