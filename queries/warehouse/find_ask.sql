-- Asks one rule. {{rows}}: its query, whose columns may be those of find_found.
insert into find_found by name
select $rule as rule, answer.*
from (
{{rows}}
) as answer;
