-- grain: one row per cause of the findings of {{listed}}, the rows of listed_findings.sql; a finding without a cause has its own
-- states: as `open`, `accepted until 2027-03-31`, `new 2, open 38`; a `?` marks a state that could not be assessed again
with
  told as (
    select
      *,
      coalesce(if(state in ('new', 'open'), opened_at, state_since), opened_at) as since,
      concat(
        state,
        if(state = 'accepted', strftime(accepted_until, ' until %Y-%m-%d'), null),
        if(unassessed_since is null, null, '?')
      ) as shown,
    from (
      {{listed}}
    )
  ),
  lines as (
    select
      rule,
      target,
      cause,
      arg_min(severity, place) as severity,
      arg_min(finding_id, place) as finding_id,
      arg_min(title, place) as title,
      any_value(group_key) as group_key,
      arg_min(subject_type, place) as subject_type,
      arg_min(coalesce(subject_name, subject_id), place, 3) as names,
      strftime(min(since), '%Y-%m-%d') as since,
      count(*) as findings,
      count(*) filter (severity = 'critical') as critical,
      min(place) as place,
    from told
    group by rule, target, cause
  ),
  shown as (
    select rule, target, cause, shown, count(*) as findings, min(place) as place
    from told
    group by rule, target, cause, shown
  ),
  states as (
    select
      rule,
      target,
      cause,
      if(
        count(*) = 1,
        any_value(shown),
        array_to_string([format('{} {}', one.shown, one.findings) for one in list_sort(list({'place': place, 'shown': shown, 'findings': findings}))], ', ')
      ) as states,
    from shown
    group by rule, target, cause
  )
select lines.* exclude (cause, place), states
from lines
join states using (rule, target, cause)
order by place;
