-- rule: A workspace uses a provider in an older version than the recommended one; or, without a policy for it, than the newest one in use.
-- severity: info
-- sources: providers
-- needs: name, source, version, workspaces, workspace_count
-- subject: workspace
-- many: uses of a provider are outdated
-- repair: raise the provider version in the configuration; ask the owner of the project
-- grain: as versions_in_use_behind
from versions_in_use_behind('provider')
