-- grain: one row per rule whose findings changed with the last run
-- title: Findings that changed
-- about: Findings that the last run opened, reopened or resolved. What an interrupted run changed counts as well.
-- empty: No finding changed.
-- labels: rule=Rule; found=New; reopened=Reopened; returned=No longer accepted; resolved=Resolved
with
  last_run as (
    select max(changed_at) as last_at from finding_events where changed_at <= $as_of::timestamptz
  ),
  latest_pull as (select max(as_of) as last_at from pulls where as_of <= $as_of::timestamptz)
select
  events.rule,
  count(*) filter (reason = 'found') as found,
  count(*) filter (reason = 'reopened') as reopened,
  count(*) filter (reason in ('acceptance ended', 'got worse')) as returned,
  count(*) filter (reason = 'gone') as resolved,
from finding_events as events
cross join last_run
cross join latest_pull
left join interrupted_runs as interrupted on interrupted.started_at = events.changed_at
where
  events.changed_at <= $as_of::timestamptz
  -- also what an interrupted run changed and no later one reported
  and (
    events.changed_at = last_run.last_at
    or (interrupted.started_at is not null and coalesce(interrupted.reported_at >= $as_of::timestamptz, true))
  )
  and last_run.last_at >= latest_pull.last_at
  and reason in ('found', 'reopened', 'acceptance ended', 'got worse', 'gone')
group by events.rule
order by found desc, resolved desc, events.rule;
