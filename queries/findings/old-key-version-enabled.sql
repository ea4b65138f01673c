-- rule: A key has more than `keyVersionsKept` versions enabled.
-- severity: warning
-- sources: keys
-- subject: key
-- many: keys have more than `keyVersionsKept` versions enabled
-- repair: disable the old versions
-- grain: one row per such key; unknown where its newest or its lowest enabled version is not reported
-- parameters: $key_versions_kept
-- A key that has no more than `keyVersionsKept` versions at all has not too many enabled.
with
  counted as (
    select *, versions_enabled(latest_version, min_enabled_version) as versions_enabled
    from keys
  )
select
  target,
  name as subject_id,
  name as subject_name,
  case
    when latest_version is null then 'its newest version is not reported'
    when min_enabled_version is null then 'its lowest enabled version is not reported'
    else format('Key {} has {} versions enabled', name, versions_enabled)
  end as title,
  json_object(
    'key_name', name,
    'latest_version', latest_version,
    'min_enabled_version', min_enabled_version,
    'versions_enabled', versions_enabled,
    'wanted_min_enabled_version', (latest_version - $key_versions_kept + 1)::bigint
  ) as detail,
  versions_enabled as weight,
  versions_enabled is null as unknown,
from counted
where coalesce(versions_enabled, latest_version, $key_versions_kept + 1) > $key_versions_kept
