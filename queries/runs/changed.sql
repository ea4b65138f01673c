-- grain: one row per table, target and kind of change that the run saw
-- title: What changed
-- order: 3
-- empty: Nothing that was pulled has changed.
-- parameters: $started_at. {{changes}}: rows of `attributed_changes`
select
  "table",
  target,
  change,
  count(distinct key) as rows,
  array_to_string(list_sort(list(distinct coalesce(name, key)))[:10], ', ') as names,
from ({{changes}}) as changes
where changes.at = $started_at::timestamptz
group by all
order by rows desc, "table", target, change
limit 500;
