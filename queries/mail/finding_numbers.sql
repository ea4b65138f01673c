-- grain: one row: the numbers of the findings of a digest, of some rules and of a severity, each null for all; none where the rules were never assessed for
-- a whole target of the digest, or no rule for any
create or replace temp macro mail_finding_numbers(rules, severity_name, since_time) as table
select * replace (
  if(
    exists (from rule_evaluations where first_assessed_at <= since_time::timestamptz and coalesce(list_contains(rules, rule), true)),
    before,
    null
  ) as before
)
from (
  select
    count(*) filter (where is_counted and digest_state in ('new', 'open')) as value,
    count(*) filter (where was_counted and was_open) as before,
    count(*) filter (where is_counted and change = 'assessed for the first time') as first_assessed,
    count(*) filter (where is_counted and digest_state = 'new' and change <> 'returned') as added,
    count(*) filter (where is_counted and digest_state = 'new' and change = 'returned') as returned,
    count(*) filter (where was_counted and digest_state = 'resolved') as resolved,
    count(*) filter (where was_counted and digest_state = 'deleted') as deleted,
    count(*) filter (where was_counted and change = 'accepted') as accepted,
    count(*) filter (where is_counted and not was_counted and change in ('got worse', 'got milder'))
    - count(*) filter (where was_counted and not is_counted and change in ('got worse', 'got milder')) as by_severity,
    count(*) filter (where was_counted and was_open and change = 'no longer watched') as unwatched,
  from (
    select
      *,
      coalesce(severity = severity_name, true) as is_counted,
      coalesce(severity_before = severity_name, severity_name is null) as was_counted,
    from mail_findings
    where coalesce(list_contains(rules, rule), true)
  )
)
where exists (
  from rule_evaluations as assessed
  join mail_routes as routes using (target)
  where rules is null or (routes.project is null and list_contains(rules, assessed.rule))
);
