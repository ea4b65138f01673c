-- grain: one row per key with more than keyVersionsKept versions enabled
-- title: Too many versions enabled
-- sources: keys
-- about: A lowest enabled version of 0 means that all versions are enabled.
-- empty: No key has more versions enabled than `keyVersionsKept`.
-- labels: name=Key; type=Type; versions_enabled=Enabled; latest_version=Latest version; min_enabled_version=Lowest enabled
-- subjects: name=key
select
  target,
  name,
  type,
  latest_version - greatest(coalesce(min_enabled_version, 0), 1) + 1 as versions_enabled,
  latest_version,
  min_enabled_version,
from keys_at($as_of)
where latest_version - greatest(coalesce(min_enabled_version, 0), 1) + 1 > $key_versions_kept::bigint
order by versions_enabled desc, name, target;
