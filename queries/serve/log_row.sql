-- grain: the row of a log or a view
-- {{table}}; {{key}}: condition on the columns that identify it
select *
from {{table}}
where {{key}}
