-- grain: one row, with the number of findings of {{listed}}, the rows of listed_findings.sql, that are in one of $states
select count(*) as findings
from (
  {{listed}}
)
where list_contains($states::varchar[], state);
