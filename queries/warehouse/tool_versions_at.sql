-- grain: one row per version of the tool in use at a time, with its sort key; those of the workspaces where no target lists its versions
-- {{scope}}: empty, or `temp ` for one connection
-- defined: after the views, and where it is missing
create or replace {{scope}}macro tool_versions_at(at_time) as table
with
  tools as (select version from stored_versions_at('tf_versions', at_time))
select version, semver_key(version) as key
from (
  select version from tools
  union
  select workspace_iac_version from workspaces_at(at_time) where not exists (from tools)
);
