-- rule: A workspace uses a module in an older version than the recommended one; or, without a policy for it, than the newest one in use.
-- severity: info
-- sources: modules
-- needs: name, source, version, workspaces, workspace_count
-- subject: workspace
-- many: uses of a module are outdated
-- repair: raise the module version in the configuration; ask the owner of the project
-- grain: as versions_in_use_behind
from versions_in_use_behind('module')
