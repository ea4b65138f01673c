-- grain: one row of a table
-- {{table}}
select *
from {{table}}
