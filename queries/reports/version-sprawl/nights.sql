-- grain: one row per day with a complete pull, over the last year
-- title: Versions, night by night
-- sources: modules, providers, tf_versions
-- limit: 100
-- The numbers come from the changes alone: each version of a row counts from its valid_from until its valid_to.
-- The stored rows are read: the histories would put every list of workspaces together.
with
  nights as (
    select max(as_of) as night
    from pulls
    where
      source in ('modules', 'providers', 'tf_versions')
      and status = 'complete'
      and as_of between $as_of::timestamptz - interval 366 days and $as_of::timestamptz
    group by date_trunc('day', as_of)
  ),
  rows_held as (
    select 'tool' as kind, valid_from, valid_to from tf_versions_rows
    union all
    select 'provider', valid_from, valid_to from providers_rows
    union all
    select 'module', valid_from, valid_to from modules_rows
  ),
  changes as (
    select kind, valid_from as moment, 1 as sign from rows_held
    union all
    select kind, valid_to, -1 from rows_held where valid_to is not null
  ),
  standing as (
    select
      moment,
      sum(coalesce(sum(sign) filter (kind = 'tool'), 0)) over (order by moment) as tool_versions,
      sum(coalesce(sum(sign) filter (kind = 'provider'), 0)) over (order by moment) as provider_versions,
      sum(coalesce(sum(sign) filter (kind = 'module'), 0)) over (order by moment) as module_versions,
    from changes
    group by moment
  )
select
  nights.night,
  standing.tool_versions,
  standing.provider_versions,
  standing.module_versions,
from nights
asof join standing on nights.night >= standing.moment
order by nights.night desc;
