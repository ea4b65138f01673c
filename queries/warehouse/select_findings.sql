-- grain: one row per finding, worst first: by the severity of its group, the group's spread, its age; rows of a group are adjacent
-- parameters: $now (the time at which an acceptance is checked), $state, $rule (null: every state but resolved, every rule),
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
      and coalesce(rule = $rule, true)
      and coalesce(state = $state, state <> 'resolved')
  ),
  grouped as (
    select
      *,
      count(*) over cause as group_size,
      max(rank) over cause as group_rank,
      min(opened_at) over cause as group_opened_at,
    from chosen
    window cause as (partition by rule, target, coalesce(group_key, finding_id))
  )
select
  finding_id,
  target,
  rule,
  severity,
  subject_type,
  subject_id,
  subject_name,
  title,
  detail,
  state,
  first_seen,
  last_seen,
  resolved_at,
  times_reopened,
  opened_at,
  state_since,
  unassessed_since,
  accepted_until,
  accepted_reason,
  accepted_owner,
  group_key,
  group_size,
from grouped
order by
  group_rank desc, group_size desc, group_opened_at, rule, target, group_key nulls last, rank desc, opened_at, title, finding_id;
