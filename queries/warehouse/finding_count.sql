-- grain: one row, with the number of findings of listed_findings.sql that are in one of $states
select count(*) as findings from listed_findings where list_contains($states::varchar[], state);
