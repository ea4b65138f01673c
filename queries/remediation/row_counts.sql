-- grain: one row per target with rows in the table, with their number. {{table}}: its name
select target, count(*) as rows
from {{table}}
group by target
order by target;
