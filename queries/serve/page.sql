-- grain: one row of a table, on one page of it
-- {{columns}}; {{rows}}: the rows that the filters leave; {{order}}; {{limit}}; {{offset}}
select {{columns}}
from ({{rows}})
order by {{order}}
limit {{limit}}
offset {{offset}}
