-- rule: A server has a version that the policy denies, or that is below its minimum.
-- severity: warning
-- worst: critical
-- sources: servers
-- subject: server
-- many: servers{of} have a version that the policy does not permit
-- repair: upgrade the server; ask who runs it
-- grain: one row per such server; unknown where there is a policy and the version cannot be read
with judged as (from versions_in_use where kind = 'product' and verdict in ('denied', 'below minimum', 'unknown'))
select
  servers.target,
  servers.target as subject_id,
  servers.target as subject_name,
  case verdict
    when 'unknown' then coalesce(note, 'its version cannot be compared with the policy')
    when 'denied' then format('Server {} has {} {}, which the policy denies: {}', servers.target, product, servers.version, reason)
    else format('Server {} has {} {}, below the minimum {}{}', servers.target, product, servers.version, versions, coalesce(': ' || reason, ''))
  end as title,
  json_object(
    'product', product,
    'version', servers.version,
    'verdict', verdict,
    'policy', versions,
    'reason', reason,
    'link', link,
    'until', ends_at
  ) as detail,
  severity,
  format('{} {}', product, servers.version) as group_key,
  verdict = 'unknown' as unknown,
from servers
join judged on judged.target = servers.target
