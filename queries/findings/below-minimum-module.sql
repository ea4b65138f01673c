-- rule: A workspace uses a version of a module that the policy denies, or that is below its minimum.
-- severity: warning
-- worst: critical
-- sources: modules
-- needs: name, source, version, workspaces, workspace_count
-- subject: workspace
-- many: uses are of a module version that the policy does not permit
-- repair: raise the module version in the configuration; ask the owner of the project
-- grain: as versions_in_use_refused
from versions_in_use_refused('module')
