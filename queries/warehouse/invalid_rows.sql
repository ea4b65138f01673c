-- grain: one row per rule that returns an invalid row, with the reason; the rule is then not assessed
with
  rows as (select *, coalesce(unknown, false) as unsure from candidates),
  problems as (
    select
      rule,
      case
        when target is null then 'a row without target'
        when title is null then 'a row without title'
        when subject_id is null and not unsure then 'a row without subject_id'
        when subject_id is null and detail is null then 'an unknown row with neither subject_id nor detail'
        when severity not in ('info', 'warning', 'critical') then format('a row with the severity `{}`', severity)
      end as problem,
    from rows
  )
select rule, min(problem) as problem
from problems
where problem is not null
group by rule
order by rule;
