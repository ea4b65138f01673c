-- grain: one row per row of a log that belongs to a run after a time; {{loggedAt}}: when it was written
create or replace temp table lake_pending as
select
  'insert' as op,
  {{loggedAt}} as as_of,
  {{values}},
  row_number() over (partition by {{key}} order by {{all}}) as occurrence,
from {{stored}}
where run_id in (select run_id from runs where started_at > {{after}});
