-- Evaluates one rule. {{rows}}: its query, which may return the columns of candidates.
insert into candidates by name
select $rule as rule, candidate.*
from (
{{rows}}
) as candidate;
