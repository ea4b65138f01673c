-- rule: Checks of a workspace completed and failed.
-- severity: warning
-- sources: workspaces
-- needs: external_id, checks_failed, checks_errored, checks_passed, checks_unknown
-- subject: workspace
-- many: workspaces fail their checks
-- repair: open the last assessment and repair what the check names; ask the owner of the project
-- grain: as checks_found
from checks_found('failed')
