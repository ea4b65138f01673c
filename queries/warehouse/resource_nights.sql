-- grain: one row per day of the last year on which every target was pulled completely, with the resources under management
-- {{scope}}: empty, or `temp ` for one connection; not_reported: workspaces whose number is not known, which the sum leaves out; it is null where all are
-- A target that is watched now counts from its first complete pull. A day with an incomplete pull has no row: it is a gap, and no old number.
-- defined: after the views, and where it is missing
create or replace {{scope}}macro resource_nights(at_time) as table
with
  days as (
    select
      target,
      date_trunc('day', timezone('UTC', as_of)) as day,
      max(as_of) filter (status = 'complete') as complete_at,
    from pulls
    where
      source = 'workspaces'
      and as_of <= at_time::timestamptz
      and target not in (from left_out_targets('workspaces', at_time))
    group by all
  ),
  periods as (
    select target, min(day) filter (complete_at is not null) as first_day, max(day) as last_day
    from days
    group by target
  ),
  whole as (
    select all_days.day, max(days.complete_at) as as_of
    from (select distinct day from days) as all_days
    join periods on all_days.day between periods.first_day and periods.last_day
    left join days on days.target = periods.target and days.day = all_days.day
    where all_days.day > timezone('UTC', at_time::timestamptz) - interval 366 days
    group by all_days.day
    having bool_and(days.complete_at is not null) and history_has(max(days.complete_at))
  ),
  watched as (from workspaces_history where target not in (from left_out_targets('workspaces', at_time))),
  changes as (
    select valid_from as changed_at, 1 as sign, current_rum_count from watched where valid_from <= at_time::timestamptz
    union all
    select valid_to, -1, current_rum_count from watched where valid_to <= at_time::timestamptz
  ),
  totals as (
    select
      changed_at,
      sum(sum(sign)) over (order by changed_at) as workspaces,
      sum(coalesce(sum(sign * current_rum_count), 0)) over (order by changed_at) as resources,
      sum(coalesce(sum(sign) filter (current_rum_count is null), 0)) over (order by changed_at) as not_reported,
    from changes
    group by changed_at
  )
select
  whole.as_of,
  totals.workspaces::bigint as workspaces,
  if(totals.not_reported = totals.workspaces and totals.workspaces > 0, null, totals.resources)::bigint as resources,
  totals.not_reported::bigint as not_reported,
from whole
asof join totals on whole.as_of >= totals.changed_at;
