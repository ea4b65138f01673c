-- rule: A key has more than `keyVersionsKept` versions enabled.
-- severity: warning
-- sources: keys
-- subject: key
-- many: keys have more than `keyVersionsKept` versions enabled
-- repair: disable the old versions
-- grain: one row per such key; unknown where its newest version is not reported
-- parameters: $key_versions_kept
-- A `min_enabled_version` of 0, the default, enables all versions, as 1 does (docs/services/secrets.md#keys).
with
  counted as (
    select *, latest_version - greatest(coalesce(min_enabled_version, 0), 1) + 1 as versions_enabled
    from keys
  )
select
  target,
  name as subject_id,
  name as subject_name,
  case
    when versions_enabled is null then 'its newest version is not reported'
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
where versions_enabled is null or versions_enabled > $key_versions_kept
