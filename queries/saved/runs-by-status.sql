-- title: Workspaces by the status of their current run
-- description: A workspace without a run, or whose run is not reported, has none.
select
  target,
  coalesce(current_run_status, '(none)') as current_run_status,
  count(*) as workspaces,
  round(100.0 * count(*) / sum(count(*)) over (partition by target), 1) as share_percent,
  min(current_run_applied_at) as first_applied_at
from workspaces
group by target, current_run_status
order by target, workspaces desc, current_run_status;
