-- Ends the acceptances of findings that were left out, and that are gone now that their rule is assessed again.
update findings
set
  accepted_at = null,
  accepted_until = null,
  accepted_reason = null,
  accepted_owner = null,
  accepted_severity = null,
  accepted_weight = null
where
  state = 'resolved'
  and accepted_until is not null
  and (rule, target) in (select (rule, target) from assessments where assessed and parts is null)
  and (rule, target) not in (select (rule, target) from candidates where subject_id is null)
  and (rule, target, subject_id) not in (select (rule, target, subject_id) from candidates where subject_id is not null);
