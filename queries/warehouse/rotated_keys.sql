-- grain: one row per key at a time, with its enabled versions and the time of the newest
-- {{scope}}: empty, or `temp ` for one connection
-- defined: after the views, and where it is missing
create or replace {{scope}}macro rotated_keys(at_time) as table
select
  keys.*,
  versions_enabled(keys.latest_version, keys.min_enabled_version) as versions_enabled,
  arg_max_null(versions.creation_time, versions.version) as rotated_at,
from keys_at(at_time) as keys
left join key_versions_at(at_time) as versions
  on versions.target = keys.target
  and versions.key_name = keys.name
  and versions.version >= coalesce(keys.latest_version, 0)
group by all;
