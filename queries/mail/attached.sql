-- grain: one row per finding of the digest, worst first, for the attached CSV
-- parameters: $max_rows; $max_bytes of the texts, which a service may make as long as it likes
with
  worst as (
    select
      digest_state as state,
      severity,
      rule,
      target,
      subject_type,
      subject_name,
      subject_id,
      title,
      opened_at,
      resolved_at,
      times_reopened,
      group_key as cause,
      finding_id,
      case digest_state when 'new' then 1 when 'open' then 2 when 'resolved' then 3 else 4 end as state_rank,
      rank,
    from mail_findings
    where digest_state is not null
    order by state_rank, rank desc, rule, target, subject_name, finding_id
    limit $max_rows
  )
select * exclude (state_rank, rank)
from worst
window worst_first as (order by state_rank, rank desc, rule, target, subject_name, finding_id)
qualify sum(strlen(concat(subject_name, subject_id, title, cause))) over worst_first <= $max_bytes
order by state_rank, rank desc, rule, target, subject_name, finding_id;
