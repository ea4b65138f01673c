-- grain: one row per night of the last year
-- title: Nights
-- about: Sums over the organizations that were pulled completely that night; `organizations` says how many these are.
-- labels: night=Night; organizations=Organizations; drifted=Drifting; failing=Failing checks; critical=Critical; warning=Warnings
with nights as (select max(night) as newest from rollup_nights)
select
  entry.night as night,
  count(distinct entry.target) as organizations,
  coalesce(sum(case when entry.measure = 'workspaces' then entry.value end), 0) as workspaces,
  coalesce(sum(case when entry.measure = 'workspaces_drifted' then entry.value end), 0) as drifted,
  coalesce(sum(case when entry.measure = 'workspaces_checks_failed' then entry.value end), 0) as failing,
  coalesce(sum(case when entry.measure = 'findings_critical' then entry.value end), 0) as critical,
  coalesce(sum(case when entry.measure = 'findings_warning' then entry.value end), 0) as warning
from rollup_nights entry
cross join nights
where entry.night > nights.newest - interval '365' day
group by entry.night
order by night;
