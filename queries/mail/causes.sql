-- grain: one row per cause and news, worst first, the first $most of each; findings of one cause stand together
-- parameters: $most
with
  causes as (
    select
      news,
      target,
      rule,
      coalesce(group_key, finding_id) as cause,
      any_value(group_key) as group_key,
      any_value(subject_type) as subject_type,
      count(*) as size,
      max(rank) as rank,
      arg_max(severity, rank) as severity,
      arg_max(title, row(rank, finding_id)) as title,
      min(opened_at) as opened_at,
      max(times_reopened) as times_reopened,
      count(*) filter (where unassessed_since is not null) as unassessed,
      list(coalesce(subject_name, subject_id) order by rank desc, subject_name, subject_id)[:3] as names,
    from mail_findings
    where news is not null
    group by all
  )
select *, count(*) over (partition by news) as causes
from causes
qualify row_number() over (partition by news order by rank desc, size desc, opened_at, target, rule, title, cause) <= $most
order by news, rank desc, size desc, opened_at, target, rule, title, cause;
