-- Most findings are found again as they were: replaced every night, they would double the file.
update findings
set last_seen = transition.last_seen
from transition
where transition.is_same and findings.finding_id = transition.finding_id and findings.last_seen <> transition.last_seen;
