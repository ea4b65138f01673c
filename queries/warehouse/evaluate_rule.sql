-- Evaluates one rule. {{rows}}: its query, which may return the columns of candidates. {{into}}: candidates, or a table like it
insert into {{into}} by name
select $rule as rule, candidate.*
from (
{{rows}}
) as candidate;
