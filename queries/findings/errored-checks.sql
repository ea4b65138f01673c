-- rule: Checks of a workspace errored without completing.
-- severity: warning
-- sources: workspaces
-- needs: external_id, checks_failed, checks_errored, checks_passed, checks_unknown
-- subject: workspace
-- many: workspaces have checks that errored
-- repair: open the last assessment: the check itself is broken; ask the owner of the project
-- grain: as checks_found
from checks_found('errored')
