-- help: Rules that could not be assessed, by the highest severity that they can report.
-- grain: one row per target and severity
select target, severity, count(*) as value
from unassessed_rules
where ended_at is null
group by target, severity
order by target, severity;
