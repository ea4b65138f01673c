-- grain: one row per critical finding that is open at a time, what changed since the previous run first
select
  finding_id,
  findings.target,
  rule,
  title,
  subject_type,
  subject_id,
  subject_name,
  coalesce(opened_at, first_seen) as since,
  states.change,
  detail,
from findings
join finding_states_at($as_of, (select previous_as_of from previous_run_at($as_of))) as states using (finding_id)
where states.is_open and states.severity = 'critical'
order by states.change is null, since desc, title, finding_id
