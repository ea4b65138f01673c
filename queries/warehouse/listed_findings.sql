-- grain: one row per finding; `place`: worst first, by the severity of its group, the group's spread, its age; rows of a group are adjacent
-- parameters: $now (the time at which an acceptance is checked), $state, $rules (null: every state but resolved, every rule),
-- $severities and $targets: those to show
with
  ranks as (select * from (values ('info', 1), ('warning', 2), ('critical', 3)) as levels (severity, rank)),
  active as (
    select
      findings.* replace (if(state = 'accepted' and accepted_until <= $now::timestamptz, 'open', state) as state),
      ranks.rank,
    from findings
    join ranks using (severity)
  ),
  chosen as (
    select *
    from active
    where
      list_contains($targets::varchar[], target)
      and list_contains($severities::varchar[], severity)
      and coalesce(list_contains($rules::varchar[], rule), true)
      and coalesce(state = $state, state <> 'resolved')
  ),
  grouped as (
    select
      *,
      coalesce(group_key, finding_id) as cause,
      count(*) over same as group_size,
      max(rank) over same as group_rank,
      min(opened_at) over same as group_opened_at,
    from chosen
    window same as (partition by rule, target, coalesce(group_key, finding_id))
  )
select
  *,
  row_number() over (
    order by
      group_rank desc, group_size desc, group_opened_at, rule, target, group_key nulls last, rank desc, opened_at, title, finding_id
  ) as place,
from grouped
