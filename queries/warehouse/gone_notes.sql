-- A finding about what a workspace uses has an ID of its own and the name of the workspace: with the workspace it is deleted, and not resolved.
insert into subject_candidates by name
with
  gone as (
    select target, subject_name
    from subject_candidates
    where subject_type = 'workspace'
    group by target, subject_name
    having not bool_or(is_present)
  )
select distinct findings.subject_type, findings.target, findings.subject_id, false as is_present
from findings
join gone on gone.target = findings.target and gone.subject_name = left(findings.subject_name, 1000)
where
  findings.subject_type = 'workspace'
  and findings.state <> 'resolved'
  and (findings.detail ->> 'workspace_id') is null
  and not exists (
    from subject_candidates as known
    where known.subject_type = 'workspace' and known.target = findings.target and known.subject_id = findings.subject_id
  );
