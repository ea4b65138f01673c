-- grain: one row per ID that a table holds for a target, within one parent
-- parameters: $target, $parent
-- {{table}}: its name; {{column}}: the column with the IDs; {{within}}: the column with the parent
select distinct {{column}}::varchar as id
from {{table}}
where target = $target and {{within}}::varchar = $parent and {{column}} is not null
order by id;
