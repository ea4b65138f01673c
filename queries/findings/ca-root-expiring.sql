-- rule: An active CA root of the mesh expires within three times `certificateDays`, or has expired.
-- severity: info
-- worst: critical
-- sources: ca_roots
-- subject: CA root
-- many: CA roots expire soon or have expired
-- repair: rotate the root in the mesh; ask who runs the mesh
-- grain: one row per such root; a warning within `certificateDays`, critical within 7 days; unknown where its expiry is not reported
-- parameters: $as_of, $certificate_days
-- An inactive root signs nothing, and no leaf certificate that it signed outlives it. A root that does not report whether it is active may be.
select
  target,
  root_id as subject_id,
  name as subject_name,
  case
    when not_after is null then 'its expiry is not reported'
    else format(
      '{} {} {} on {}',
      case when active then 'Active CA root' else 'CA root' end,
      coalesce(name, root_id),
      case when not_after <= $as_of::timestamptz then 'expired' else 'expires' end,
      strftime(not_after, '%Y-%m-%d %H:%M UTC')
    )
  end as title,
  json_object('root_id', root_id, 'active', active, 'not_after', iso_time(not_after)) as detail,
  coalesce(authority_severity(not_after, $as_of, $certificate_days), 'info') as severity,
  not_after is null as unknown,
from ca_roots
where
  active is not false
  and (not_after is null or authority_severity(not_after, $as_of, $certificate_days) is not null)
