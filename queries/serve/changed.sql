-- grain: one row per table with changes after one time and up to another, most first
-- {{changes}}: rows of `changes`; {{after}}, {{until}}: constants, so that DuckDB reads only the versions of that time
select
  "table",
  count(*) filter (change = 'new') as appeared,
  count(*) filter (change = 'gone') as gone,
  count(*) filter (change = 'back') as returned,
  count(distinct (target, key)) filter (change not in ('new', 'gone', 'back')) as changed,
  min(c.at) as first_at,
from ({{changes}}) as c
where c.at > {{after}}::timestamptz and c.at <= {{until}}::timestamptz
group by "table"
order by appeared + gone + returned + changed desc, "table"
