-- grain: one row per rule and subject that an assessed rule cannot assess
-- cut: why the part that the subject belongs to, or may belong to, is not known; doubt: why the rule cannot assess it. One of the two may be null.
create or replace temp table doubtful_subjects as
with
  subjects as (
    select rule, target, subject_id, detail from findings
    union all
    select rule, target, subject_id, detail from candidates where subject_id is not null
  ),
  doubts as (
    select findings.rule, findings.target, findings.subject_id, one_line(scopes.title) as doubt, null as cut
    from findings
    join candidates as scopes
      on scopes.rule = findings.rule
      and scopes.target = findings.target
      and scopes.subject_id is null
      and json_contains(findings.detail, scopes.detail)
  ),
  cuts as (
    select subjects.rule, subjects.target, subjects.subject_id, null as doubt, parts.reason as cut
    from subjects
    join rule_parts as parts
      on parts.rule = subjects.rule
      and parts.target = subjects.target
      and (
        not coalesce(json_exists(subjects.detail, '$.' || parts.part), false)
        or (subjects.detail ->> ('$.' || parts.part)) is not distinct from parts.value
      )
  )
select rule, target, subject_id, min(cut) as cut, min(doubt) as doubt,
from (from doubts union all by name from cuts)
group by all;
