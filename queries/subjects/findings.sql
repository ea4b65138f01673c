-- grain: one row per finding, with the subject that its page shows and its state at a time
-- parameters: $as_of
-- A finding of a module or provider of a workspace names the workspace, not its ID. What a page shows of a finding is read for its page.
create or replace temp table subject_findings as
with
  names as (
    select subject_type, target, subject_name, min(subject_id) as subject_id
    from subject_candidates
    group by subject_type, target, subject_name
    having count(*) = 1
  )
select
  findings.finding_id,
  findings.target,
  findings.subject_type,
  coalesce(candidates.subject_id, names.subject_id, findings.subject_id) as subject_id,
  findings.rule,
  states.state,
  states.severity,
  states.state_since,
  states.opened_at,
from findings
join finding_states_at($as_of, null) as states using (finding_id)
left join subject_candidates as candidates
  on
    candidates.subject_type = findings.subject_type
    and candidates.target = findings.target
    and candidates.subject_id = findings.subject_id
left join names
  on
    names.subject_type = findings.subject_type
    and names.target = findings.target
    and names.subject_name = findings.subject_name
