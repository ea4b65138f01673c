-- grain: one row per day with a complete pull, over the last year
-- title: Versions in use per day
-- sources: modules, providers, tf_versions
-- Sums up changes: each version of a row counts from its valid_from until its valid_to.
-- Reads the stored rows, because the histories would assemble every list of workspaces.
with
  days as (
    select max(as_of) as pulled_at
    from pulls
    where
      source in ('modules', 'providers', 'tf_versions')
      and status = 'complete'
      and as_of between $as_of::timestamptz - interval 366 days and $as_of::timestamptz
    group by date_trunc('day', as_of)
  ),
  stored as (
    select 'tool' as kind, valid_from, valid_to from tf_versions_rows
    union all
    select 'provider', valid_from, valid_to from providers_rows
    union all
    select 'module', valid_from, valid_to from modules_rows
  ),
  changes as (
    select kind, valid_from as changed_at, 1 as sign from stored
    union all
    select kind, valid_to, -1 from stored where valid_to is not null
  ),
  totals as (
    select
      changed_at,
      sum(coalesce(sum(sign) filter (kind = 'tool'), 0)) over (order by changed_at) as tool_versions,
      sum(coalesce(sum(sign) filter (kind = 'provider'), 0)) over (order by changed_at) as provider_versions,
      sum(coalesce(sum(sign) filter (kind = 'module'), 0)) over (order by changed_at) as module_versions,
    from changes
    group by changed_at
  )
select
  days.pulled_at as as_of,
  totals.tool_versions,
  totals.provider_versions,
  totals.module_versions,
from days
asof join totals on days.pulled_at >= totals.changed_at
order by as_of desc;
