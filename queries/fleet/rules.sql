-- grain: one row per rule and severity
-- title: Open findings by rule
-- empty: No finding is open.
-- labels: rule=Rule; severity=Severity; findings=Findings; targets=Targets
select rule, severity, count(*) as findings, count(distinct target) as targets
from findings
where state in ('new', 'open')
group by rule, severity
order by case severity when 'critical' then 1 when 'warning' then 2 else 3 end, findings desc, rule;
