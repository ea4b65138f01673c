-- order: 20
-- report: check-failure
-- label: workspaces failing checks
-- one: failing its checks
-- many: failing checks
-- trend: failing
-- sources: workspaces
-- grain: one row; none where no workspace is known, or none was ever reported
select
  -- where none that is there was ever assessed, the number is not known
  if(coalesce(bool_or(is_failing is not null) filter (present), true), count(*) filter (where is_failing), null) as value,
  if(bool_or(comparable), count(*) filter (where was_failing), null) as before,
  if($since is null, null, count(*) filter (where failing_change = 'first')) as first_assessed,
  if(bool_or(comparable), count(*) filter (where failing_change = 'new'), null) as added,
  if(bool_or(comparable), count(*) filter (where failing_change = 'returned'), null) as returned,
  if(bool_or(comparable), count(*) filter (where failing_change = 'resolved'), null) as resolved,
  if(bool_or(comparable), count(*) filter (where failing_change = 'deleted'), null) as deleted,
from mail_workspaces
having count(*) filter (is_failing is not null or was_failing is not null) > 0;
