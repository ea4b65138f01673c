-- rule: A service's leaf certificate is about to expire and was not renewed, or has expired.
-- severity: warning
-- worst: critical
-- sources: leaf_certificates
-- subject: leaf certificate
-- many: services have a certificate that expires soon or has expired
-- repair: restart the service, which renews its certificate; ask who runs it
-- grain: one row per such service; critical where it has expired; unknown where its expiry is not reported
-- parameters: $as_of, $certificate_days
-- A leaf is valid for 72 hours by default and is renewed before it expires (docs/services/mesh.md#leaf-certificates), so `certificateDays`
-- would always match. It applies to leaves that are valid for more than twice as long; for the others, the last tenth of their validity does.
select
  target,
  case when coalesce(namespace, 'default') = 'default' then service else format('{}/{}', namespace, service) end as subject_id,
  service as subject_name,
  case
    when valid_before is null then 'its expiry is not reported'
    else format(
      'Leaf certificate of {} {} on {}',
      service,
      case when valid_before <= $as_of::timestamptz then 'expired' else 'expires' end,
      strftime(valid_before, '%Y-%m-%d %H:%M UTC')
    )
  end as title,
  json_object(
    'service', service,
    'namespace', namespace,
    'service_uri', service_uri,
    'valid_after', iso_time(valid_after),
    'valid_before', iso_time(valid_before)
  ) as detail,
  case when valid_before <= $as_of::timestamptz then 'critical' else 'warning' end as severity,
  valid_before is null as unknown,
from leaf_certificates
where valid_before is null or valid_before <= $as_of::timestamptz + leaf_notice(valid_after, valid_before, $certificate_days)
