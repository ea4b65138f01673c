-- grain: one row per value of a column that has a few, the most frequent ones; none where one is a long text
-- {{name}}: the column as a literal; {{column}}
union all
select name, value, row_count
from (
  select {{name}} as name, {{column}}::varchar as value, count(*) as row_count, count(*) over () as value_count, max(max(length({{column}}::varchar))) over () as longest
  from filtered
  group by all
)
where value_count between 2 and 20 and longest <= 1000 and value_count * 2 <= (select count(*) from filtered)
qualify row_number() over (order by row_count desc, value) <= 10
