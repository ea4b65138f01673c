-- order: 90
-- report: overview
-- label: open findings
-- sources: all
-- grain: one row
-- parameters: $since
from mail_finding_numbers(null, null, $since);
