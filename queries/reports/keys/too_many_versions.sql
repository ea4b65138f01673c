-- grain: one row per key with more than keyVersionsKept versions enabled
-- title: Too many versions enabled
-- sources: keys
-- about: A lowest enabled version of 0 means that all versions are enabled.
-- empty: No key is known to have more versions enabled than `keyVersionsKept`.
-- labels: name=Key; type=Type; versions_enabled=Enabled; latest_version=Latest version; min_enabled_version=Lowest enabled
-- subjects: name=key
select
  target,
  name,
  type,
  versions_enabled(latest_version, min_enabled_version) as versions_enabled,
  latest_version,
  min_enabled_version,
from keys_at($as_of)
where versions_enabled(latest_version, min_enabled_version) > $key_versions_kept::bigint
order by versions_enabled desc, name, target;
