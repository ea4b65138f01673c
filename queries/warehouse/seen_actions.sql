-- grain: one row per action and table that it may have changed, with the pulls that can have seen it: from the first one after it to
-- the first complete one. {{actions}}: the union of table_actions.sql
select
  acted.*,
  (
    select min(pulls.as_of)
    from pulls
    where
      pulls.target = acted.target
      and pulls.source = acted.source
      and pulls.status in ('complete', 'partial')
      and coalesce(pulls.extracted_at, pulls.as_of) > acted.started_at
  ) as seen_from,
  coalesce(
    (
      select min(pulls.as_of)
      from pulls
      where
        pulls.target = acted.target
        and pulls.source = acted.source
        and pulls.status = 'complete'
        and coalesce(pulls.extracted_at, pulls.as_of) > acted.started_at
    ),
    'infinity'
  ) as seen_to,
from (
  {{actions}}
) as acted
