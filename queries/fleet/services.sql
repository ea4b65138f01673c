-- grain: one row per target without workspaces and agents, such as a secrets server or a scheduler
-- title: Other services
-- about: Findings as of the last complete pull. The worst are first.
-- empty: The lake has organizations only.
-- labels: target=Target; state=State; night=As of; critical=Critical; warning=Warnings; stale=Stale
with
  entries as (
    select
      target,
      measure,
      night,
      sum(value) as value,
      row_number() over (partition by target, measure order by night desc) as place
    from rollup_nights
    where target in (select target from source_state)
    group by target, measure, night
  ),
  counts as (
    select
      target,
      min(night) as oldest,
      max(night) as newest,
      max(case when measure in ('workspaces', 'agents') then 1 else 0 end) as is_organization,
      sum(case when measure = 'findings_critical' then value end) as critical,
      sum(case when measure = 'findings_warning' then value end) as warning,
      sum(case when measure = 'rules_unassessed' then value end) as rules_not_assessed
    from entries
    where place = 1
    group by target
  ),
  compared as (
    select *, max(newest) over () as fleet_newest
    from counts
  )
select
  compared.target as target,
  case
    when compared.critical > 0 then 'critical'
    when compared.warning > 0 then 'warning'
    when compared.critical is null or compared.rules_not_assessed > 0 or compared.oldest < compared.fleet_newest then 'unknown'
    else 'ok'
  end as state,
  compared.oldest as night,
  compared.critical as critical,
  compared.warning as warning,
  case when compared.oldest < compared.fleet_newest then 'stale' else '' end as stale
from compared
where compared.is_organization = 0
order by coalesce(compared.critical, 0) desc, coalesce(compared.warning, 0) desc, compared.target;
