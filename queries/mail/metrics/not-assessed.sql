-- order: 15
-- report: drift
-- label: not assessed for drift
-- one: not assessed for drift
-- many: not assessed for drift
-- subject: 95
-- sources: workspaces
-- grain: one row; none where every workspace is assessed
-- parameters: $since
select
  count(*) filter (where present and drifted is null) as value,
  if(bool_or(comparable), count(*) filter (where was_present and was_drifted is null), null) as before,
  if($since is null, null, count(*) filter (where present and drifted is null and not comparable)) as first_assessed,
from mail_workspaces
having value > 0 or before > 0;
