-- grain: one row per run that was interrupted; reported_at: when a later run of a job delivered its reports and mail, which contain
-- what this one changed; null until then
-- {{scope}}: empty, or `temp ` for one connection
-- defined: before the views
create or replace {{scope}}view interrupted_runs as
select
  started_at,
  (
    select min(later.started_at)
    from runs as later
    where
      later.started_at > interrupted.started_at
      and later.status in ('complete', 'incomplete', 'failed')
      and later.job is distinct from 'pull'
  ) as reported_at,
from runs as interrupted
where status = 'interrupted';
