-- grain: one row per finding, with the subject that its page shows and its state at a time
-- parameters: $as_of
-- The states are read here, as a warehouse of an earlier version has another `finding_states_at`.
-- A finding of a module or provider of a workspace names the workspace, not its ID. What a page shows of a finding is read for its page.
create or replace temp table subject_findings as
with
  states as (
    select
      finding_id,
      arg_max(state, changed_at) as state,
      arg_max(severity, changed_at) as severity,
      max(changed_at) filter (reason <> 'severity changed') as state_since,
      max(changed_at) filter (reason in ('baseline', 'found', 'reopened')) as opened_at,
    from finding_events
    where changed_at <= $as_of::timestamptz
    group by finding_id
  ),
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
join states using (finding_id)
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
