-- grain: one row per rule whose findings changed with the last run
-- title: Findings that changed
-- about: New, reopened, returned or resolved with the last run.
-- empty: No finding changed.
-- labels: rule=Rule; found=New; reopened=Reopened; returned=No longer accepted; resolved=Resolved
with
  last_run as (
    select max(changed_at) as moment from finding_events where changed_at <= $as_of::timestamptz
  ),
  latest_pull as (select max(as_of) as moment from pulls where as_of <= $as_of::timestamptz)
select
  events.rule,
  count(*) filter (reason = 'found') as found,
  count(*) filter (reason = 'reopened') as reopened,
  count(*) filter (reason in ('acceptance ended', 'got worse')) as returned,
  count(*) filter (reason = 'gone') as resolved,
from finding_events as events, last_run, latest_pull
where
  events.changed_at = last_run.moment
  and last_run.moment >= latest_pull.moment
  and reason in ('found', 'reopened', 'acceptance ended', 'got worse', 'gone')
group by events.rule
order by found desc, resolved desc, events.rule;
