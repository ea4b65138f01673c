-- grain: one row per night of the last year
-- title: Nights
-- about: Sums over the targets that were pulled completely that night, and the number of organizations among them. What none of them has is not known.
-- labels: night=Night; organizations=Organizations; drifted=Drifting; failing=Failing checks; critical=Critical; warning=Warnings
with
  nights as (
    select
      night,
      count(distinct case when measure in ('workspaces', 'agents') then target end) as organizations,
      sum(case when measure = 'workspaces' then value end) as workspaces,
      sum(case when measure = 'workspaces_drifted' then value end) as drifted,
      sum(case when measure = 'workspaces_checks_failed' then value end) as failing,
      sum(case when measure = 'findings_critical' then value end) as critical,
      sum(case when measure = 'findings_warning' then value end) as warning
    from rollup_nights
    group by night
  ),
  compared as (
    select *, max(night) over () as newest
    from nights
  )
select night, organizations, workspaces, drifted, failing, critical, warning
from compared
where night > newest - interval '365' day
order by night;
