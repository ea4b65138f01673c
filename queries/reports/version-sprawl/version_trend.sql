-- grain: one row per day with a complete pull, over the last year, and tool version; beyond the six most used, `other`
-- title: Share of each version per night
-- labels: share_percent=Share of the workspaces
-- sources: workspaces
with
  most_used as (
    select workspace_iac_version as version
    from workspaces_at($as_of)
    where workspace_iac_version is not null
    group by workspace_iac_version
    order by count(*) desc, workspace_iac_version
    limit 6
  ),
  versions as (
    select coalesce(most_used.version, 'other') as version, history.valid_from, history.valid_to
    from workspaces_history as history
    left join most_used on most_used.version = history.workspace_iac_version
    where history.target not in (from left_out_targets('workspaces', $as_of))
  ),
  changes as (
    select version, valid_from as changed_at, 1 as sign from versions
    union all
    select version, valid_to, -1 from versions where valid_to is not null
  ),
  totals as (
    select version, changed_at, sum(sum(sign)) over (partition by version order by changed_at) as workspaces
    from changes
    group by version, changed_at
  ),
  places as (select days.pulled_at, shown.version from pulled_nights('workspaces', $as_of) as days, (select distinct version from totals) as shown)
select
  places.pulled_at as as_of,
  places.version,
  coalesce(totals.workspaces, 0) as workspaces,
  -- down, so that the shares of a night are no more than 100 together
  floor(1000.0 * coalesce(totals.workspaces, 0) / nullif(sum(totals.workspaces) over (partition by places.pulled_at), 0)) / 10 as share_percent,
from places
asof left join totals on totals.version = places.version and places.pulled_at >= totals.changed_at
order by as_of desc, semver_key(places.version) nulls last, places.version;
