-- order: 10
-- report: drift
-- label: workspaces drifting
-- one: drifting
-- many: drifting
-- trend: drifting
-- sources: workspaces
-- grain: one row; none where no workspace is known, or none was ever assessed
select
  -- where none that is there was ever assessed, the number is not known
  if(coalesce(bool_or(is_drifting is not null) filter (present), true), count(*) filter (where is_drifting), null) as value,
  if(bool_or(comparable), count(*) filter (where was_drifting), null) as before,
  if($since is null, null, count(*) filter (where drift_change = 'first')) as first_assessed,
  if(bool_or(comparable), count(*) filter (where drift_change = 'new'), null) as added,
  if(bool_or(comparable), count(*) filter (where drift_change = 'returned'), null) as returned,
  if(bool_or(comparable), count(*) filter (where drift_change = 'resolved'), null) as resolved,
  if(bool_or(comparable), count(*) filter (where drift_change = 'deleted'), null) as deleted,
from mail_workspaces
having count(*) filter (is_drifting is not null or was_drifting is not null) > 0;
