-- grain: one row per row of the files that are put together, with whether a later row of the same identity has replaced it
-- {{replaces}}: whether the rows of the relation replace each other
-- Rows of a publish that readers do not see yet replace nothing and are not replaced, and neither does a row that cancels another.
create or replace temp table lake_compacted as
with
  seen as (
    select *, publish in (select publish from lake_runs_changes) as lake_is_seen
    from lake_changes
  ),
  newest as (
    select
      *,
      row_number() over (partition by {{identity}}, as_of, lake_is_seen order by publish desc) = 1
      and lake_is_seen and op <> 'void' as lake_counts
    from seen
  ),
  latest as (
    select *, max(as_of) filter (lake_counts) over (partition by {{identity}}) as lake_latest
    from newest
  )
select
  op,
  as_of,
  publish,
  {{fields}},
  {{replaces}} and lake_is_seen and coalesce(as_of < lake_latest, false) as lake_is_past
from latest;
