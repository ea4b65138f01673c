-- grain: one row per night of the last year
-- title: Nights
-- about: Sums over the organizations that were pulled completely that night; `organizations` says how many these are.
-- labels: night=Night; organizations=Organizations; drifted=Drifting; failing=Failing checks; critical=Critical; warning=Warnings
with nights as (select max(night) as newest from rollup_nights)
select
  rollup.night as night,
  count(distinct rollup.target) as organizations,
  coalesce(sum(case when rollup.measure = 'workspaces' then rollup.value end), 0) as workspaces,
  coalesce(sum(case when rollup.measure = 'workspaces_drifted' then rollup.value end), 0) as drifted,
  coalesce(sum(case when rollup.measure = 'workspaces_checks_failed' then rollup.value end), 0) as failing,
  coalesce(sum(case when rollup.measure = 'findings_critical' then rollup.value end), 0) as critical,
  coalesce(sum(case when rollup.measure = 'findings_warning' then rollup.value end), 0) as warning
from rollup_nights rollup
cross join nights
where rollup.night > nights.newest - interval '365' day
group by rollup.night
order by night;
