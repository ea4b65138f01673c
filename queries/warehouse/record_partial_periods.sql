-- Records which periods of unassessed_rules are of some parts only.
insert into partial_periods by name
select periods.target, periods.rule, periods.since
from unassessed_rules as periods
join assessments using (target, rule)
anti join partial_periods as known on known.target = periods.target and known.rule = periods.rule and known.since = periods.since
where periods.ended_at is null and assessments.assessed and assessments.parts is not null;
