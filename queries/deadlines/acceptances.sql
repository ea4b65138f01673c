-- deadline: Acceptances of findings.
-- grain: one row per accepted finding whose acceptance ends
-- parameters: $as_of
with
  accepted as (
    select finding_id
    from finding_events
    where changed_at <= $as_of::timestamptz
    group by finding_id
    having arg_max(state, changed_at) = 'accepted'
  )
select
  target,
  'acceptance' as kind,
  finding_id as subject_id,
  coalesce(subject_name, subject_id) as subject_name,
  accepted_until as ends_at,
  format('repair it, or accept it again: {} ({}, accepted by {})', title, rule, coalesce(accepted_owner, 'nobody named')) as what_to_do,
from findings
semi join accepted using (finding_id)
where accepted_until is not null;
