-- grain: one row per day with a complete pull, over the last year
-- title: Open critical findings and warnings per night
-- labels: critical=Critical; warning=Warnings; info=Notes
-- Sums up changes: each state of a finding counts from its event until the next one. A day shows its last state: a run that continues an interrupted one evaluates
-- later than its pulls.
with
  days as (
    select max(as_of) as pulled_at
    from pulls
    where
      status = 'complete'
      and as_of between $as_of::timestamptz - interval 366 days and $as_of::timestamptz
    group by date_trunc('day', as_of)
  ),
  states as (
    select
      severity,
      state in ('new', 'open') as is_open,
      changed_at,
      lead(changed_at) over (partition by finding_id order by changed_at) as ended_at,
    from finding_events as events
    where
      changed_at <= $as_of::timestamptz
      and list_has_any(from_json($rules, '["VARCHAR"]'), [events.rule, 'all'])
  ),
  changes as (
    select changed_at, 1 as sign, severity from states where is_open
    union all
    select ended_at, -1, severity from states where is_open and ended_at is not null
    union all
    -- a rule that was assessed and found nothing is a known zero
    select first_assessed_at, 0, null
    from rule_evaluations as evaluations
    where list_has_any(from_json($rules, '["VARCHAR"]'), [evaluations.rule, 'all'])
  ),
  totals as (
    select
      changed_at,
      sum(coalesce(sum(sign) filter (severity = 'critical'), 0)) over (order by changed_at) as critical,
      sum(coalesce(sum(sign) filter (severity = 'warning'), 0)) over (order by changed_at) as warning,
      sum(coalesce(sum(sign) filter (severity = 'info'), 0)) over (order by changed_at) as info,
    from changes
    group by changed_at
  )
select
  days.pulled_at as as_of,
  totals.critical,
  totals.warning,
  totals.info,
from days
asof join totals on least(date_trunc('day', days.pulled_at) + interval 1 day - interval 1 microsecond, $as_of::timestamptz) >= totals.changed_at
order by as_of desc;
