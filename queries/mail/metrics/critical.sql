-- order: 5
-- subject: 5
-- report: overview
-- label: critical findings
-- sources: all
-- one: critical
-- many: critical
-- grain: one row
-- parameters: $since
from mail_finding_numbers(null, 'critical', $since);
