-- Ends the findings of rules that are gone: nobody watches for them any more.
-- parameters: $as_of
insert into transition by name
select
  * replace (
    json_merge_patch(coalesce(detail, '{}'), '{"unassessed": null}') as detail,
    'resolved' as state,
    $as_of::timestamptz as resolved_at,
    $as_of::timestamptz as state_since,
    null as unassessed_since,
    null as accepted_at,
    null as accepted_until,
    null as accepted_reason,
    null as accepted_owner,
    null as accepted_severity,
    null as accepted_weight
  ),
  'left out' as change,
  false as is_same,
from findings
anti join evaluated_rules using (rule)
where state <> 'resolved' and finding_id not in (select finding_id from transition);
