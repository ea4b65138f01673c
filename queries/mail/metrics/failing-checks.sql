-- order: 20
-- report: check-failure
-- label: workspaces failing checks
-- one: failing its checks
-- many: failing checks
-- trend: failing
-- sources: workspaces
-- grain: one row; none where no workspace is known
select
  count(*) filter (where checks_failed > 0) as value,
  if(bool_or(comparable), count(*) filter (where failed_before > 0), null) as before,
  if(
    bool_or(comparable),
    count(*) filter (where comparable and checks_failed > 0 and (failed_before > 0) is distinct from true),
    null
  ) as added,
  if(bool_or(comparable), count(*) filter (where failed_before > 0 and checks_failed = 0), null) as resolved,
from mail_workspaces
having count(*) > 0;
