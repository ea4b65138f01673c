-- A finding about what a workspace uses has an ID of its own and the name of the workspace, since the explorer tells no other: with the
-- workspace, or its name, it is deleted, and not resolved.
-- parameters: $as_of
insert into subject_candidates by name
with
  noted as (
    from findings
    where subject_type = 'workspace' and state <> 'resolved' and (detail ->> 'workspace_id') is null
  ),
  gone as (
    select target, workspace_name
    from workspaces_history
    where valid_from <= $as_of::timestamptz and workspace_name in (select subject_name from noted)
    group by target, workspace_name
    having not bool_or(valid_to is null or valid_to > $as_of::timestamptz)
  )
select distinct noted.subject_type, noted.target, noted.subject_id, false as is_present
from noted
join gone on gone.target = noted.target and gone.workspace_name = noted.subject_name
where
  not exists (
    from subject_candidates as known
    where known.subject_type = 'workspace' and known.target = noted.target and known.subject_id = noted.subject_id
  );
