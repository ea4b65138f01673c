-- grain: one row per limit that a plan exceeds: of its actions, and of a target in which it affects more rows of a table than it may
-- {{table}}: its name. A table without rows was never pulled, so no row of it may be affected.
-- parameters: $table, $actions, $max_actions, $affected (target and ID of each row, as a JSON array), $max_percent, $min_rows
with
  affected as (
    select target, count(distinct id) as affected
    from (
      select unnest(from_json($affected::json, '[{"target": "VARCHAR", "id": "VARCHAR"}]'), recursive := true)
    )
    group by target
  ),
  totals as (
    select target, count(*) as total
    from {{table}}
    group by target
  ),
  counted as (
    select affected.target, affected.affected, coalesce(totals.total, 0) as total
    from affected
    left join totals on totals.target = affected.target
  )
select null as target, format('{} actions are more than --max-actions {:.0f}', $actions::bigint, $max_actions::double) as problem
where $actions::double > $max_actions::double
union all
select
  target,
  format(
    '{} of {} rows of {} in {} are {}, more than --max-percent {}',
    affected,
    total,
    $table,
    target,
    if(total = 0, 'all', format('{:.1f} %', affected * 100 / total)),
    $max_percent::varchar
  ) as problem
from counted
where
  affected * 100 > total * $max_percent::double
  and (total = 0 or affected > $min_rows::double)
order by target nulls first;
