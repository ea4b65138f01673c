-- order: 10
-- report: drift
-- label: workspaces drifting
-- one: drifting
-- many: drifting
-- trend: drifting
-- sources: workspaces
-- grain: one row; none where no workspace is known
select
  count(*) filter (where drifted) as value,
  if(bool_or(comparable), count(*) filter (where was_drifted), null) as before,
  if(bool_or(comparable), count(*) filter (where comparable and drifted and was_drifted is distinct from true), null) as added,
  if(bool_or(comparable), count(*) filter (where present and was_drifted and not drifted), null) as resolved,
from mail_workspaces
having count(*) > 0;
