-- deadline: Keys that are due for rotation.
-- grain: one row per key; ends_at: null where the age of its newest version is not reported
-- parameters: $as_of, $key_rotation_days
select
  keys.target,
  'key' as kind,
  keys.name as subject_id,
  keys.name as subject_name,
  arg_max_null(versions.creation_time, versions.version) + to_seconds($key_rotation_days * 86400) as ends_at,
  'tidemark playbook plan rotate-old-keys' as what_to_do,
from keys_at($as_of) as keys
left join key_versions_at($as_of) as versions
  on versions.target = keys.target
  and versions.key_name = keys.name
  and versions.version >= coalesce(keys.latest_version, 0)
group by keys.target, keys.name;
