-- rule: The newest version of a key is older than `keyRotationDays`.
-- severity: warning
-- sources: keys
-- subject: key
-- many: keys have not been rotated for `keyRotationDays`
-- repair: rotate the keys
-- grain: one row per such key; unknown where the age of its newest version is not reported
-- parameters: $as_of, $key_rotation_days
with
  newest as (
    select
      keys.*,
      (
        select arg_max_null(creation_time, version)
        from key_versions
        where
          key_versions.target = keys.target
          and key_versions.key_name = keys.name
          and key_versions.version >= coalesce(keys.latest_version, 0)
      ) as rotated_at,
    from keys
  )
select
  target,
  name as subject_id,
  name as subject_name,
  case
    when rotated_at is null then 'the age of its newest version is not reported'
    else format('Key {} was last rotated on {}', name, strftime(rotated_at, '%Y-%m-%d'))
  end as title,
  json_object(
    'key_name', name,
    'type', type,
    'latest_version', latest_version,
    'rotated_at', iso_time(rotated_at),
    'deletion_allowed', deletion_allowed
  ) as detail,
  rotated_at is null as unknown,
from newest
where rotated_at is null or rotated_at < $as_of::timestamptz - to_seconds($key_rotation_days * 86400)
