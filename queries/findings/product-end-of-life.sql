-- rule: A server has a version that is no longer supported, or not for longer than `supportDays`.
-- severity: info
-- worst: critical
-- sources: servers
-- subject: server
-- many: servers have a version whose support has ended or ends soon
-- repair: upgrade the server; ask who runs it
-- grain: one row per such server; a warning where a third of `supportDays` or less is left, critical where support has ended; unknown where nothing is known of the support of its version
-- parameters: $as_of, $support_days
select
  target,
  target as subject_id,
  target as subject_name,
  case support
    when 'unknown' then why
    else format(
      'Server {} has {} {}, whose support {}{}',
      target,
      name,
      version,
      if(support = 'ended', 'ended', 'ends'),
      coalesce(' on ' || support_ends_at::varchar, '')
    )
  end as title,
  json_object(
    'product', name,
    'version', version,
    'support_ends_at', support_ends_at,
    'latest', latest,
    'facts_of', data_as_of
  ) as detail,
  case
    when support = 'ended' then 'critical'
    when support_ends_at <= $as_of::timestamptz + to_seconds($support_days * 86400 / 3) then 'warning'
    else 'info'
  end as severity,
  support = 'unknown' as unknown,
from version_support
where
  kind = 'product'
  and (
    support in ('unknown', 'ended')
    or support_ends_at <= $as_of::timestamptz + to_seconds($support_days * 86400)
  )
