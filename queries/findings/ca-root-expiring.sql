-- rule: A CA root of the mesh expires within `certificateDays`, or has expired.
-- severity: info
-- worst: critical
-- sources: ca_roots
-- subject: CA root
-- grain: one row per such root; a warning where it is the active one, critical where that has expired; unknown where its expiry is not reported
-- parameters: $as_of, $certificate_days
select
  target,
  root_id as subject_id,
  name as subject_name,
  case
    when not_after is null then 'its expiry is not reported'
    else format(
      '{} CA root {} {} on {}',
      case when active then 'Active' else 'Inactive' end,
      coalesce(name, root_id),
      case when not_after <= $as_of::timestamptz then 'expired' else 'expires' end,
      strftime(not_after, '%Y-%m-%d %H:%M UTC')
    )
  end as title,
  json_object('root_id', root_id, 'active', active, 'not_after', iso_time(not_after)) as detail,
  case
    when not coalesce(active, true) then 'info'
    when not_after <= $as_of::timestamptz then 'critical'
    else 'warning'
  end as severity,
  not_after is null as unknown,
from ca_roots
where not_after is null or not_after <= $as_of::timestamptz + to_seconds($certificate_days * 86400)
