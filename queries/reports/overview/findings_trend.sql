-- grain: one row per day with a complete pull, over the last year; null where most of the findings could not be assessed
-- title: Open critical findings and warnings per night
-- labels: critical=Critical; warning=Warnings; info=Info
-- Sums up changes: each state of a finding counts from its event until the next one. A day shows its last state: a run that continues an interrupted one evaluates
-- later than its pulls.
with
  states as (
    select
      target,
      rule,
      severity,
      state in ('new', 'open') as is_open,
      changed_at,
      lead(changed_at) over (partition by finding_id order by changed_at) as ended_at,
    from finding_events as events
    where
      changed_at <= $as_of::timestamptz
      and list_has_any(from_json($rules, '["VARCHAR"]'), [events.rule, 'all'])
  ),
  -- The periods in which a finding was open and its rule could not be assessed: a number of most of them would be an old one.
  kept as (
    select
      greatest(states.changed_at, unassessed.since) as kept_at,
      least(coalesce(states.ended_at, 'infinity'), coalesce(unassessed.ended_at, 'infinity')) as ended_at,
    from states
    join unassessed_rules as unassessed
      on unassessed.target = states.target and unassessed.rule = states.rule
    anti join partial_periods as partial
      on partial.target = unassessed.target and partial.rule = unassessed.rule and partial.since = unassessed.since
    where
      states.is_open
      and unassessed.since <= $as_of::timestamptz
      and greatest(states.changed_at, unassessed.since)
      < least(coalesce(states.ended_at, 'infinity'), coalesce(unassessed.ended_at, 'infinity'))
  ),
  changes as (
    select changed_at, 1 as sign, severity, 0 as kept from states where is_open
    union all
    select ended_at, -1, severity, 0 from states where is_open and ended_at is not null
    union all
    select kept_at, 0, null, 1 from kept
    union all
    select ended_at, 0, null, -1 from kept where ended_at <= $as_of::timestamptz
    union all
    -- a rule that was assessed and found nothing is a known zero
    select first_assessed_at, 0, null, 0
    from rule_evaluations as evaluations
    where list_has_any(from_json($rules, '["VARCHAR"]'), [evaluations.rule, 'all'])
  ),
  totals as (
    select
      changed_at,
      sum(coalesce(sum(sign) filter (severity = 'critical'), 0)) over (order by changed_at) as critical,
      sum(coalesce(sum(sign) filter (severity = 'warning'), 0)) over (order by changed_at) as warning,
      sum(coalesce(sum(sign) filter (severity = 'info'), 0)) over (order by changed_at) as info,
      sum(sum(kept)) over (order by changed_at) as kept,
    from changes
    group by changed_at
  ),
  judged as (select *, 2 * kept <= critical + warning + info as is_assessed from totals)
select
  days.pulled_at as as_of,
  if(is_assessed, totals.critical, null) as critical,
  if(is_assessed, totals.warning, null) as warning,
  if(is_assessed, totals.info, null) as info,
from pulled_nights(null, $as_of) as days
asof join judged as totals on least(date_trunc('day', days.pulled_at) + interval 1 day - interval 1 microsecond, $as_of::timestamptz) >= totals.changed_at
order by as_of desc;
