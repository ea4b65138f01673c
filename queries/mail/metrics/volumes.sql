-- order: 60
-- report: storage
-- label: volumes with problems
-- one: volume with problems
-- many: volumes with problems
-- sources: volumes, external_volumes
-- grain: one row; none where the rules were never assessed for a whole target of the digest
from mail_finding_numbers(['volume-unschedulable', 'missing-external-volume', 'lost-volume-claim', 'abnormal-external-volume'], null, $since);
