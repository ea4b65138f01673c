-- grain: one row per cause and digest_state, worst first, the first $max_rows of each; findings with the same cause form one row
-- parameters: $max_rows
with
  causes as (
    select
      digest_state,
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
    where digest_state is not null
    group by all
  )
select *, count(*) over (partition by digest_state) as causes
from causes
qualify row_number() over (partition by digest_state order by rank desc, size desc, opened_at, target, rule, title, cause) <= $max_rows
order by digest_state, rank desc, size desc, opened_at, target, rule, title, cause;
